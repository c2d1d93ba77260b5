// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/square_copies.h"

#include <llvm/IR/Instructions.h>

#include "codegen/device/builtins.h"
#include "codegen/group_work.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// A row of turns is as long as one that a warp loads at once.
constexpr unsigned kTurns = 32;
// Elements of a turn and what keeps the turns in different banks of local memory: a multiple of the elements that a
// work-item loads at once.
constexpr unsigned kPitch = kSquareSide + kSquareRows;

// Loads elements of rows `stride` bytes apart and turns `step` bytes apart, all kTurns or the first `turns` of them:
//   void fill(ptr global corner, i64 stride, i64 step, i32 turns)
class FillEmitter {
 public:
  FillEmitter(llvm::Function& function, const Tile& tile)
      : function_(function),
        tile_(tile),
        b_(BasicBlock::Create(function.getContext(), "entry", &function)),
        element_(b_.getIntNTy(tile.operand->bytes * 8)) {}
  void emit();

 private:
  void copy(bool is_whole);
  Value* wide(Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); }

  llvm::Function& function_;
  const Tile& tile_;
  llvm::IRBuilder<> b_;
  llvm::Type* const element_;
  Value* turn_ = nullptr;  // of this work-item's first element
  Value* row_ = nullptr;
  std::uint32_t more_turns_ = 0;  // from there to its next one
  std::uint32_t more_rows_ = 0;
};

void FillEmitter::emit() {
  const auto narrow = [&](Builtin id, unsigned axis) {
    return b_.CreateTrunc(call_builtin(b_, id, axis), b_.getInt32Ty());
  };
  Value* const item = b_.CreateAdd(b_.CreateMul(narrow(Builtin::kLocalId, 1), b_.getInt32(kSquareGroup)),
                                   narrow(Builtin::kLocalId, 0));
  // Neighbours load what lies together in memory.
  const auto* const step = llvm::dyn_cast<llvm::ConstantInt>(tile_.operand->step);
  const bool by_turns = step != nullptr && step->getValue() == tile_.operand->bytes;
  const std::uint32_t together = by_turns ? kTurns : kSquareSide;
  Value* const near = b_.CreateURem(item, b_.getInt32(together));
  Value* const far = b_.CreateUDiv(item, b_.getInt32(together));
  turn_ = by_turns ? near : far;
  row_ = by_turns ? far : near;
  (by_turns ? more_rows_ : more_turns_) = kSquareItems / together;
  BasicBlock* const whole = BasicBlock::Create(b_.getContext(), "whole", &function_);
  BasicBlock* const part = BasicBlock::Create(b_.getContext(), "part", &function_);
  b_.CreateCondBr(b_.CreateICmpEQ(function_.getArg(3), b_.getInt32(kTurns)), whole, part);
  b_.SetInsertPoint(whole);
  copy(/*is_whole=*/true);
  b_.SetInsertPoint(part);
  copy(/*is_whole=*/false);
}

// All loads of a whole tile come before its stores, so that they wait for memory together.
void FillEmitter::copy(bool is_whole) {
  const llvm::Align alignment(tile_.operand->bytes);
  llvm::SmallVector<std::pair<Value*, Value*>> loaded;
  for (std::uint32_t n = 0; n < kTurns * kSquareSide / kSquareItems; ++n) {
    Value* const turn = b_.CreateAdd(turn_, b_.getInt32(n * more_turns_));
    Value* const row = b_.CreateAdd(row_, b_.getInt32(n * more_rows_));
    BasicBlock* next = nullptr;
    if (!is_whole) {
      BasicBlock* const move = BasicBlock::Create(b_.getContext(), "move", &function_);
      next = BasicBlock::Create(b_.getContext(), "next", &function_);
      b_.CreateCondBr(b_.CreateICmpULT(turn, function_.getArg(3)), move, next);
      b_.SetInsertPoint(move);
    }
    Value* const distance = b_.CreateAdd(b_.CreateMul(wide(row), function_.getArg(1)),
                                         b_.CreateMul(wide(turn), function_.getArg(2)));
    Value* const address = b_.CreateGEP(b_.getInt8Ty(), function_.getArg(0), distance);
    llvm::LoadInst* const load = b_.CreateAlignedLoad(element_, address, alignment);
    load->setMetadata(llvm::LLVMContext::MD_tbaa, tile_.operand->type);
    Value* const place = b_.CreateAdd(b_.CreateMul(turn, b_.getInt32(tile_.pitch)), row);
    loaded.emplace_back(load, b_.CreateInBoundsGEP(element_, tile_.memory, wide(place)));
    if (is_whole) continue;
    b_.CreateAlignedStore(load, loaded.back().second, alignment);
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
  }
  if (is_whole) {
    for (const auto& [value, place] : loaded) b_.CreateAlignedStore(value, place, alignment);
  }
  b_.CreateRetVoid();
}

}  // namespace

std::uint64_t SquareCopier::bytes(const TiledOperand& operand) const {
  return std::uint64_t{kTurns} * kPitch * operand.bytes;
}

Tile SquareCopier::tile_of(const TiledOperand& operand, llvm::GlobalVariable* memory) const {
  memory->setAlignment(llvm::Align(16));
  return {&operand, memory, kTurns, kPitch};
}

// In 64 bits, so that the constant distances between a work-item's iterations become parts of its instructions.
Value* SquareCopier::own_element(const Tile& tile, Value* turn) {
  Value* const row = places_[tile.operand->strides[0] != nullptr ? 0 : 1];
  Value* const begin = b_.CreateMul(b_.CreateZExt(turn, b_.getInt64Ty()), b_.getInt64(tile.pitch));
  return b_.CreateInBoundsGEP(b_.getIntNTy(tile.operand->bytes * 8), tile.memory, b_.CreateAdd(begin, row));
}

void SquareCopier::fill(const Tile& tile, const TilePart& part) {
  const TiledOperand& operand = *tile.operand;
  Value* const stride = operand.strides[0] != nullptr ? operand.strides[0] : operand.strides[1];
  Value* const corner = b_.CreateGEP(b_.getInt8Ty(), operand.origin, b_.CreateMul(part.begin, operand.step));
  const llvm::SmallVector<Value*, 4> arguments = {corner, stride, operand.step, part.columns};
  llvm::SmallVector<llvm::Type*, 4> types;
  for (const Value* const argument : arguments) types.push_back(argument->getType());
  llvm::Function* const function =
      llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                             llvm::GlobalValue::InternalLinkage, "fill", b_.GetInsertBlock()->getModule());
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::AlwaysInline);
  FillEmitter(*function, tile).emit();
  llvm::CallInst* const call = b_.CreateCall(function, arguments);
  call->addFnAttr(llvm::Attribute::get(b_.getContext(), spmd::kOnceForAllRows));
}

}  // namespace dhpvm::codegen
