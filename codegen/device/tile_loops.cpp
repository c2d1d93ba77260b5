// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/tile_loops.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "codegen/device/tile_copies.h"
#include "codegen/device/tile_plan.h"
#include "codegen/device/tile_writer.h"
#include "codegen/group_work.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// The sizes of the largest and smallest groups. Groups are small, because a whole group waits at every tile. Not tuned.
constexpr std::uint32_t kLargestGroup = 128;
constexpr std::uint32_t kSmallestGroup = 32;
// The maximal length of a tile relative to the shortest one (turns_of_tile): longer ones wait less often.
constexpr unsigned kMostPieces = 4;
// Bytes: less than half of a CUDA group's limit, so that two groups fit, unless the smallest group needs more.
constexpr std::uint64_t kUsualMemory = 20 << 10;
// The same with double buffering: a group overlaps copies and computation, and fewer groups have to.
constexpr std::uint64_t kDoubleBufferedMemory = 36 << 10;

std::uint64_t memory_for(const TilePlan& plan, RowTiles tiles) {
  return memory_of(plan, [&](const TiledOperand& operand) { return bytes_of_rows(operand, tiles); });
}

// If each row has several work-items, a group has few rows, and their tiles are long. Otherwise tiles are short, and
// the number of rows depends on the memory. No rows: the tiles are too large for any group.
RowTiles tiles_for(const TilePlan& plan, std::uint32_t items) {
  RowTiles tiles = items > 1 ? RowTiles{kSmallestGroup, kMostPieces, /*is_double_buffered=*/true}
                             : RowTiles{kLargestGroup, /*pieces=*/1};
  while (tiles.pieces > 1 && memory_for(plan, tiles) > kDoubleBufferedMemory) tiles.pieces /= 2;
  while (tiles.rows > kSmallestGroup && memory_for(plan, tiles) > kUsualMemory) tiles.rows /= 2;
  if (memory_for(plan, tiles) > kMostTileMemory) tiles.rows = 0;
  return tiles;
}

// Makes a function that calls the body, or loops over a run, with the arguments that tiles need, and tiles its loops.
class BodyTiler {
 public:
  BodyTiler(const KernelBody& body, unsigned dimensions, bool has_runs);
  // Null if the plan is empty or its tiles are too large for any group; the function has been deleted then.
  TiledBody make();

 private:
  void call_body();

  const KernelBody& body_;
  GroupIterations iterations_;
  llvm::Function* function_ = nullptr;
};

BodyTiler::BodyTiler(const KernelBody& body, unsigned dimensions, bool has_runs) : body_(body) {
  iterations_.dimensions = dimensions;
  iterations_.has_runs = has_runs;
  llvm::LLVMContext& context = body.function->getContext();
  llvm::SmallVector<llvm::Type*> types(body.function->getFunctionType()->params());
  const auto before = static_cast<unsigned>(types.size());
  types.append((std::size_t{2} * dimensions) + (has_runs ? 1 : 0), llvm::Type::getInt64Ty(context));
  function_ =
      llvm::Function::Create(llvm::FunctionType::get(body.function->getReturnType(), types, false),
                             llvm::GlobalValue::InternalLinkage, "tiled.body", body.function->getParent());
  function_->setDoesNotThrow();
  function_->addParamAttrs(kArrays,
                           llvm::AttrBuilder(context, body.function->getAttributes().getParamAttrs(kArrays)));
  for (unsigned d = 0; d < dimensions; ++d) {
    iterations_.first[d] = function_->getArg(before + 2 * d);
    iterations_.count[d] = function_->getArg(before + 2 * d + 1);
  }
  call_body();
}

void BodyTiler::call_body() {
  llvm::IRBuilder<> b(BasicBlock::Create(function_->getContext(), "entry", function_));
  llvm::SmallVector<Value*> arguments;
  for (unsigned n = 0; n < body_.function->arg_size(); ++n) arguments.push_back(function_->getArg(n));
  BasicBlock* const entry = b.GetInsertBlock();
  BasicBlock* inside = entry;
  llvm::PHINode* turn = nullptr;
  if (iterations_.has_runs) {
    inside = BasicBlock::Create(b.getContext(), "run", function_);
    b.CreateBr(inside);
    b.SetInsertPoint(inside);
    turn = b.CreatePHI(b.getInt64Ty(), 2, "turn");
    turn->addIncoming(b.getInt64(0), entry);
    Value*& index = arguments[kIndices + iterations_.dimensions - 2];
    index = b.CreateAdd(index, turn);
  }
  llvm::CallInst* const call = b.CreateCall(body_.function, arguments);
  if (turn != nullptr) {
    Value* const next = b.CreateAdd(turn, b.getInt64(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
    turn->addIncoming(next, inside);
    BasicBlock* const after = BasicBlock::Create(b.getContext(), "after", function_);
    b.CreateCondBr(b.CreateICmpULT(next, function_->getArg(static_cast<unsigned>(function_->arg_size() - 1))),
                   inside, after);
    b.SetInsertPoint(after);
  }
  b.CreateRet(turn == nullptr ? static_cast<Value*>(call) : llvm::PoisonValue::get(call->getType()));
  llvm::InlineFunctionInfo info;
  llvm::InlineFunction(*call, info);
}

TiledBody BodyTiler::make() {
  llvm::SmallVector<llvm::Argument*, 3> indices;
  for (unsigned d = 0; d < iterations_.dimensions; ++d) indices.push_back(function_->getArg(kIndices + d));
  const TilePlan plan = plan_tiles(*function_, *function_->getArg(kArrays), indices, TileShape::kRows);
  const std::uint32_t items = iterations_.dimensions == 1 ? kItemsForRow : 1;
  const RowTiles tiles = plan.loops.empty() ? RowTiles{} : tiles_for(plan, items);
  if (tiles.rows == 0) {
    function_->eraseFromParent();
    return {};
  }
  llvm::IRBuilder<> b(plan.begin);
  RowCopier copier(b, iterations_, tiles);
  write_tiles(*function_, plan, copier, b);
  function_->addFnAttr(llvm::Attribute::AlwaysInline);
  return {function_, tiles.rows * items, iterations_.has_runs ? kRunOfRows : 1, items};
}

bool has_loops(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  return !llvm::LoopInfo(dominators).empty();
}

}  // namespace

TiledBody tile_body(const KernelBody& body, unsigned dimensions) {
  if (has_loops(*body.function)) return BodyTiler(body, dimensions, /*has_runs=*/false).make();
  if (dimensions == 1) return {};
  return BodyTiler(body, dimensions, /*has_runs=*/true).make();
}

}  // namespace dhpvm::codegen
