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

// Enough to compute with while the next ones come, few enough to be on the way in registers.
constexpr unsigned kTurns = 16;
constexpr unsigned kShare = kTurns * kSquareSide / kSquareItems;  // elements of a tile that a work-item moves
// Elements of a turn and what keeps the turns in different banks of local memory: a multiple of the elements that a
// work-item loads at once.
constexpr unsigned kPitch = kSquareSide + kSquareRows;

// A work-item's share of a tile. Neighbours move what lies together in memory.
struct Share {
  Share(llvm::IRBuilder<>& b, const TiledOperand& operand);

  bool is_by_turns = false;  // the turns of a row lie together
  Value* turn = nullptr;     // of the first element
  Value* row = nullptr;
  unsigned more_turns = 0;  // from an element to the next one
  unsigned more_rows = 0;
};

Share::Share(llvm::IRBuilder<>& b, const TiledOperand& operand) {
  const auto narrow = [&](unsigned axis) {
    return b.CreateTrunc(call_builtin(b, Builtin::kLocalId, axis), b.getInt32Ty());
  };
  Value* const item = b.CreateAdd(b.CreateMul(narrow(1), b.getInt32(kSquareGroup)), narrow(0));
  const auto* const step = llvm::dyn_cast<llvm::ConstantInt>(operand.step);
  is_by_turns = step != nullptr && step->getValue() == operand.bytes;
  const unsigned together = is_by_turns ? kTurns : kSquareSide;
  Value* const near = b.CreateURem(item, b.getInt32(together));
  Value* const far = b.CreateUDiv(item, b.getInt32(together));
  turn = is_by_turns ? near : far;
  row = is_by_turns ? far : near;
  (is_by_turns ? more_rows : more_turns) = kSquareItems / together;
}

// Loads this work-item's share of rows `stride` bytes apart and turns `step` bytes apart. Of `turns` turns, some come
// again in the place of those that a whole tile has behind them.
//   [kShare x element] fetch(ptr global corner, i64 stride, i64 step, i32 turns)
void emit_fetch(llvm::Function& function, const TiledOperand& operand) {
  llvm::IRBuilder<> b(BasicBlock::Create(function.getContext(), "entry", &function));
  const Share share(b, operand);
  const auto wide = [&](Value* value) { return b.CreateZExt(value, b.getInt64Ty()); };
  Value* const turns = function.getArg(3);
  Value* const turn =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, share.turn, b.CreateSub(turns, b.getInt32(1)));
  Value* const more = share.is_by_turns ? b.CreateMul(function.getArg(1), b.getInt64(share.more_rows))
                                        : b.CreateMul(function.getArg(2), b.getInt64(share.more_turns));
  Value* const left = b.CreateSub(turns, turn);
  Value* address = b.CreateGEP(b.getInt8Ty(), function.getArg(0),
                               b.CreateAdd(b.CreateMul(wide(share.row), function.getArg(1)),
                                           b.CreateMul(wide(turn), function.getArg(2))));
  Value* result = llvm::PoisonValue::get(function.getReturnType());
  for (unsigned n = 0; n < kShare; ++n) {
    if (n != 0) {
      Value* const is_there =
          share.is_by_turns ? b.getTrue() : b.CreateICmpUGT(left, b.getInt32(n * share.more_turns));
      address = b.CreateGEP(b.getInt8Ty(), address, b.CreateSelect(is_there, more, b.getInt64(0)));
    }
    llvm::LoadInst* const load =
        b.CreateAlignedLoad(b.getIntNTy(operand.bytes * 8), address, llvm::Align(operand.bytes));
    load->setMetadata(llvm::LLVMContext::MD_tbaa, operand.type);
    result = b.CreateInsertValue(result, load, n);
  }
  b.CreateRet(result);
}

// Stores a share in the tile:
//   void put(element.. kShare times)
void emit_put(llvm::Function& function, const Tile& tile) {
  llvm::IRBuilder<> b(BasicBlock::Create(function.getContext(), "entry", &function));
  const Share share(b, *tile.operand);
  llvm::Type* const element = b.getIntNTy(tile.operand->bytes * 8);
  Value* const place = b.CreateAdd(b.CreateMul(share.turn, b.getInt32(tile.pitch)), share.row);
  Value* const first = b.CreateInBoundsGEP(element, tile.memory, b.CreateZExt(place, b.getInt64Ty()));
  for (unsigned n = 0; n < kShare; ++n) {
    const std::uint64_t farther = std::uint64_t{n} * (share.more_turns * tile.pitch + share.more_rows);
    b.CreateAlignedStore(function.getArg(n), b.CreateInBoundsGEP(element, first, b.getInt64(farther)),
                         llvm::Align(tile.operand->bytes));
  }
  b.CreateRetVoid();
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
Value* SquareCopier::own_element(const Tile& tile, Value* turn, Value* /*room*/) {
  Value* const row = places_[tile.operand->strides[0] != nullptr ? 0 : 1];
  Value* const begin = b_.CreateMul(b_.CreateZExt(turn, b_.getInt64Ty()), b_.getInt64(tile.pitch));
  return b_.CreateInBoundsGEP(b_.getIntNTy(tile.operand->bytes * 8), tile.memory, b_.CreateAdd(begin, row));
}

unsigned SquareCopier::fetched_ahead() const { return kShare; }

llvm::Function* SquareCopier::declare(const char* name, llvm::Type* result,
                                      llvm::ArrayRef<Value*> arguments) {
  llvm::SmallVector<llvm::Type*> types;
  for (const Value* const argument : arguments) types.push_back(argument->getType());
  llvm::Function* const function =
      llvm::Function::Create(llvm::FunctionType::get(result, types, false),
                             llvm::GlobalValue::InternalLinkage, name, b_.GetInsertBlock()->getModule());
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::AlwaysInline);
  return function;
}

llvm::CallInst* SquareCopier::call(llvm::Function& function, llvm::ArrayRef<Value*> arguments) {
  llvm::CallInst* const call = b_.CreateCall(&function, arguments);
  call->addFnAttr(llvm::Attribute::get(b_.getContext(), spmd::kOnceForAllRows));
  return call;
}

llvm::SmallVector<Value*> SquareCopier::fetch(const Tile& tile, const TilePart& part) {
  const TiledOperand& operand = *tile.operand;
  Value* const stride = operand.strides[0] != nullptr ? operand.strides[0] : operand.strides[1];
  Value* const corner = b_.CreateGEP(b_.getInt8Ty(), operand.origin, b_.CreateMul(part.begin, operand.step));
  Value* const arguments[] = {corner, stride, operand.step, part.columns};
  llvm::Function* const loads =
      declare("fetch", llvm::ArrayType::get(b_.getIntNTy(operand.bytes * 8), kShare), arguments);
  emit_fetch(*loads, operand);
  Value* const loaded = call(*loads, arguments);
  llvm::SmallVector<Value*> elements;
  for (unsigned n = 0; n < kShare; ++n) elements.push_back(b_.CreateExtractValue(loaded, n));
  return elements;
}

void SquareCopier::put(const Tile& tile, llvm::ArrayRef<Value*> elements) {
  llvm::Function* const stores = declare("put", b_.getVoidTy(), elements);
  emit_put(*stores, tile);
  call(*stores, elements);
}

}  // namespace dhpvm::codegen
