// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/tile_loops.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>
#include <map>
#include <utility>

#include "codegen/device/builtins.h"
#include "codegen/device/tile_copies.h"
#include "codegen/device/tile_plan.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

// Work-items of the largest and smallest groups. Groups are small, because all of a group wait for each other at every
// tile. The numbers are bounds, and not tuned.
constexpr std::uint32_t kLargestGroup = 128;
constexpr std::uint32_t kSmallestGroup = 32;
// Bytes, of the 48 KiB that a group of CUDA may have: less than half, so that two groups fit, unless the smallest group
// needs more.
constexpr std::uint64_t kUsualMemory = 20 << 10;
constexpr std::uint64_t kMostMemory = 40 << 10;

// The number of an operand in its loop, and its bytes: loops use the same memory one after the other.
using Place = std::pair<std::size_t, unsigned>;

std::uint64_t memory_of(const TilePlan& plan, std::uint32_t rows) {
  std::map<Place, std::uint64_t> tiles;
  for (const TiledLoop& loop : plan.loops) {
    for (std::size_t n = 0; n < loop.operands.size(); ++n) {
      const TiledOperand& operand = loop.operands[n];
      tiles[{n, operand.bytes}] = bytes_of_tile(operand, rows);
    }
  }
  std::uint64_t bytes = 0;
  for (const auto& [place, size] : tiles) bytes += size;
  return bytes;
}

// 0: the tiles are too large for every group.
std::uint32_t group_for(const TilePlan& plan) {
  std::uint32_t group = kLargestGroup;
  while (group > kSmallestGroup && memory_of(plan, group) > kUsualMemory) group /= 2;
  return memory_of(plan, group) <= kMostMemory ? group : 0;
}

// Carries out a plan for a function in it.
class TileWriter {
 public:
  TileWriter(llvm::Function& function, const TilePlan& plan, std::uint32_t group)
      : function_(function), plan_(plan), b_(function.getContext()), group_(group) {}
  void write(const GroupIterations& iterations);

 private:
  void spill_registers();
  void take_registers_back();
  void write_loop(const TiledLoop& loop, TileCopier& copier, BasicBlock* header, BasicBlock* next);
  void replace_accesses(const Tile& tile, TileCopier& copier, Value* column);
  std::vector<Tile> tiles_of(const TiledLoop& loop);
  Value* variable(llvm::Type* type, const char* name);
  BasicBlock* block(const char* name) { return BasicBlock::Create(b_.getContext(), name, &function_); }

  llvm::Function& function_;
  const TilePlan& plan_;
  llvm::IRBuilder<> b_;
  const std::uint32_t group_;
  std::map<Place, llvm::GlobalVariable*> memory_;
};

// Blocks get new ways in, so that definitions no longer dominate their uses: values go through memory until then.
void TileWriter::spill_registers() {
  BasicBlock& entry = function_.getEntryBlock();
  std::vector<Instruction*> escaping;
  std::vector<llvm::PHINode*> phis;
  for (BasicBlock& block : function_) {
    if (&block == &entry) continue;
    for (Instruction& instruction : block) {
      const bool escapes = llvm::any_of(instruction.users(), [&](const llvm::User* user) {
        const auto* const other = llvm::cast<Instruction>(user);
        return other->getParent() != &block || llvm::isa<llvm::PHINode>(other);
      });
      if (escapes) escaping.push_back(&instruction);
      if (auto* const phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) phis.push_back(phi);
    }
  }
  for (Instruction* const instruction : escaping) llvm::DemoteRegToStack(*instruction, false, entry.begin());
  for (llvm::PHINode* const phi : phis) llvm::DemotePHIToStack(phi, entry.begin());
}

void TileWriter::take_registers_back() {
  std::vector<llvm::AllocaInst*> variables;
  for (Instruction& instruction : function_.getEntryBlock()) {
    auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (variable != nullptr && llvm::isAllocaPromotable(variable)) variables.push_back(variable);
  }
  llvm::DominatorTree dominators(function_);
  llvm::PromoteMemToReg(variables, dominators);
}

Value* TileWriter::variable(llvm::Type* type, const char* name) {
  BasicBlock& entry = function_.getEntryBlock();
  return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type, nullptr, name);
}

std::vector<Tile> TileWriter::tiles_of(const TiledLoop& loop) {
  std::vector<Tile> tiles;
  for (std::size_t n = 0; n < loop.operands.size(); ++n) {
    const TiledOperand& operand = loop.operands[n];
    llvm::GlobalVariable*& memory = memory_[{n, operand.bytes}];
    if (memory == nullptr) {
      memory = local_array(*function_.getParent(), b_.getIntNTy(operand.bytes * 8),
                           bytes_of_tile(operand, group_) / operand.bytes, "tile");
    }
    tiles.push_back(tile_of(operand, memory));
  }
  return tiles;
}

void TileWriter::write(const GroupIterations& iterations) {
  spill_registers();
  BasicBlock& entry = function_.getEntryBlock();
  Instruction* const leaving = entry.getTerminator();
  BasicBlock* const work = leaving->getSuccessor(0);
  b_.SetInsertPoint(leaving);
  TileCopier copier(b_, iterations);
  std::vector<BasicBlock*> headers;
  for (std::size_t n = 0; n < plan_.loops.size(); ++n) headers.push_back(block("tiles"));
  headers.push_back(block("absent"));
  for (std::size_t n = 0; n < plan_.loops.size(); ++n) {
    b_.SetInsertPoint(leaving);
    write_loop(plan_.loops[n], copier, headers[n], headers[n + 1]);
  }
  b_.SetInsertPoint(leaving);
  b_.CreateCondBr(copier.exists(), work, headers.front());
  leaving->eraseFromParent();
  b_.SetInsertPoint(headers.back());
  b_.CreateRet(llvm::PoisonValue::get(function_.getReturnType()));
  take_registers_back();
}

// Work-items without an iteration come to the tiles at `header` and leave for `next`; the others come and leave as the
// loop says. All of the group go through the same number of tiles.
void TileWriter::write_loop(const TiledLoop& loop, TileCopier& copier, BasicBlock* header, BasicBlock* next) {
  const std::vector<Tile> tiles = tiles_of(loop);
  // Elements of several sizes: the shortest tile decides.
  unsigned turns = tiles.front().turns;
  for (const Tile& tile : tiles) turns = std::min(turns, tile.turns);
  llvm::Type* const i64 = b_.getInt64Ty();
  llvm::Type* const i32 = b_.getInt32Ty();
  Value* const begin = variable(i64, "begin");
  Value* const columns = variable(i32, "columns");
  Value* const column = variable(i32, "column");
  b_.CreateStore(b_.getInt64(0), begin);
  BasicBlock* const fill = block("fill");
  BasicBlock* const drain = block("drain");
  BasicBlock* const done = block("done");
  loop.before->getTerminator()->replaceSuccessorWith(loop.header, header);

  b_.SetInsertPoint(header);
  Value* const from = b_.CreateLoad(i64, begin);
  b_.CreateCondBr(b_.CreateICmpULT(from, loop.turns), fill, done);

  b_.SetInsertPoint(fill);
  Value* const left =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateSub(loop.turns, from), b_.getInt64(turns));
  const TilePart part = {from, b_.CreateTrunc(left, i32)};
  b_.CreateStore(part.columns, columns);
  b_.CreateStore(b_.getInt32(0), column);
  // Other work-items may still read the tile before this one.
  call_builtin(b_, Builtin::kBarrier);
  for (const Tile& tile : tiles) {
    if (tile.operand->is_loaded) copier.fill(tile, part);
  }
  call_builtin(b_, Builtin::kBarrier);
  b_.CreateCondBr(copier.exists(), loop.header, drain);

  for (const Tile& tile : tiles) replace_accesses(tile, copier, column);
  Instruction* const back = loop.latch->getTerminator();
  b_.SetInsertPoint(back);
  Value* const now = b_.CreateAdd(b_.CreateLoad(i32, column), b_.getInt32(1));
  b_.CreateStore(now, column);
  b_.CreateCondBr(b_.CreateICmpULT(now, b_.CreateLoad(i32, columns)), loop.header, drain);
  back->eraseFromParent();

  b_.SetInsertPoint(drain);
  if (llvm::any_of(tiles, [](const Tile& tile) { return tile.operand->is_stored; })) {
    call_builtin(b_, Builtin::kBarrier);
    for (const Tile& tile : tiles) {
      if (tile.operand->is_stored) copier.drain(tile, part);
    }
    // Each work-item may access elements of its row that others have written.
    call_builtin(b_, Builtin::kBarrier);
  }
  b_.CreateStore(b_.CreateAdd(from, b_.getInt64(turns)), begin);
  b_.CreateBr(header);
  b_.SetInsertPoint(done);
  b_.CreateCondBr(copier.exists(), loop.after, next);
}

void TileWriter::replace_accesses(const Tile& tile, TileCopier& copier, Value* column) {
  for (Instruction* const access : tile.operand->accesses) {
    b_.SetInsertPoint(access);
    Value* const place = copier.own_element(tile, b_.CreateLoad(b_.getInt32Ty(), column));
    llvm::Type* const bits = b_.getIntNTy(tile.operand->bytes * 8);
    const llvm::Align alignment(tile.operand->bytes);
    if (auto* const store = llvm::dyn_cast<llvm::StoreInst>(access)) {
      b_.CreateAlignedStore(b_.CreateBitCast(store->getValueOperand(), bits), place, alignment);
    } else {
      access->replaceAllUsesWith(
          b_.CreateBitCast(b_.CreateAlignedLoad(bits, place, alignment), access->getType()));
    }
    access->eraseFromParent();
  }
}

// Makes a function that calls the body, or does a run of it, with the arguments that tiles need, and tiles its loops.
class BodyTiler {
 public:
  BodyTiler(const KernelBody& body, unsigned dimensions, bool has_runs);
  // Null if the plan for it is empty; the function is gone then.
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
  const TilePlan plan = plan_tiles(*function_, *function_->getArg(kArrays), indices);
  const std::uint32_t group = plan.loops.empty() ? 0 : group_for(plan);
  if (group == 0) {
    function_->eraseFromParent();
    return {};
  }
  TileWriter(*function_, plan, group).write(iterations_);
  function_->addFnAttr(llvm::Attribute::AlwaysInline);
  return {function_, group, iterations_.has_runs ? kRunOfRows : 1};
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
