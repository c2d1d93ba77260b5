// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/tile_copies.h"

#include <llvm/IR/Instructions.h>

#include <algorithm>

#include "codegen/device/builtins.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// A bank of local memory gives a word at a time. Rows are a word longer than what they hold, so that elements of one
// column lie in different banks.
constexpr unsigned kBankBytes = 4;

// Work-items that a GPU runs together: groups for tiles are made of whole runs of them.
constexpr unsigned kTogether = 32;

unsigned pitch_of(unsigned element_bytes) {
  return turns_of_tile(element_bytes) + std::max(1U, kBankBytes / element_bytes);
}

}  // namespace

std::uint64_t bytes_of_rows(const TiledOperand& operand, std::uint32_t rows) {
  return std::uint64_t{rows} * pitch_of(operand.bytes) * operand.bytes;
}

Tile RowCopier::tile_of(const TiledOperand& operand, llvm::GlobalVariable* memory) const {
  return {&operand, memory, turns_of_tile(operand.bytes), pitch_of(operand.bytes)};
}

RowCopier::RowCopier(llvm::IRBuilder<>& builder, const GroupIterations& iterations, std::uint32_t group)
    : b_(builder), iterations_(iterations), group_(group) {
  const auto narrow = [&](Value* value) { return b_.CreateTrunc(value, b_.getInt32Ty()); };
  exists_ = b_.getTrue();
  item_ = b_.getInt32(0);
  items_ = b_.getInt32(1);
  for (unsigned axis = iterations.dimensions; axis-- > 0;) {
    Value* const id = call_builtin(b_, Builtin::kLocalId, axis);
    sizes_[axis] = narrow(call_builtin(b_, Builtin::kLocalSize, axis));
    exists_ = b_.CreateAnd(exists_, b_.CreateICmpULT(id, iterations.count[iterations.dimensions - 1 - axis]));
    item_ = b_.CreateAdd(b_.CreateMul(item_, sizes_[axis]), narrow(id));
    items_ = b_.CreateMul(items_, sizes_[axis]);
    across_ = narrow(id);
  }
}

bool RowCopier::has_row_for_column(const TiledOperand& operand) const {
  for (unsigned d = 0; d + 1 < iterations_.dimensions; ++d) {
    const bool is_same = iterations_.has_runs && d + 2 == iterations_.dimensions;
    if (!is_same && operand.strides[d] != nullptr) return false;
  }
  return true;
}

Value* RowCopier::own_element(const Tile& tile, Value* turn) {
  Value* const row = has_row_for_column(*tile.operand) ? across_ : item_;
  Value* const place = b_.CreateAdd(b_.CreateMul(row, b_.getInt32(tile.pitch)), turn);
  return b_.CreateInBoundsGEP(b_.getIntNTy(tile.operand->bytes * 8), tile.memory,
                              b_.CreateZExt(place, b_.getInt64Ty()));
}

// Runs of kTogether work-items have a row each at a time. The elements of a column differ in their row alone, so that
// all that a work-item does in the inner loop is to step from row to row.
void RowCopier::copy(const Tile& tile, const TilePart& part, bool fills) {
  Value* const together = b_.getInt32(kTogether);
  Value* const lane = b_.CreateURem(item_, together);
  Value* const run = b_.CreateUDiv(item_, together);
  Value* const runs = b_.CreateUDiv(items_, together);
  const unsigned last = iterations_.dimensions - 1;
  Value* const rows =
      has_row_for_column(*tile.operand) ? b_.CreateTrunc(iterations_.count[last], b_.getInt32Ty()) : items_;
  llvm::Function* const function = b_.GetInsertBlock()->getParent();
  const auto block = [&](const char* name) { return BasicBlock::Create(b_.getContext(), name, function); };
  for (unsigned first = 0; first < tile.turns; first += kTogether) {
    Value* const column = b_.CreateAdd(lane, b_.getInt32(first));
    BasicBlock* const before = b_.GetInsertBlock();
    BasicBlock* const header = block("rows");
    BasicBlock* const after = block("copied");
    Value* const has_row = b_.CreateICmpULT(run, rows);
    b_.CreateCondBr(b_.CreateAnd(has_row, b_.CreateICmpULT(column, part.columns)), header, after);
    b_.SetInsertPoint(header);
    llvm::PHINode* const row = b_.CreatePHI(b_.getInt32Ty(), 2, "row");
    row->addIncoming(run, before);
    copy_element(tile, part, row, column, fills);
    Value* const next = b_.CreateAdd(row, runs, "", /*HasNUW=*/true, /*HasNSW=*/true);
    row->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpULT(next, rows), header, after);
    b_.SetInsertPoint(after);
  }
}

// The begin of a row's first turn; clears `exists` if no iteration has it.
Value* RowCopier::begin_of_row(const Tile& tile, Value* row, Value*& exists) {
  const bool by_column = has_row_for_column(*tile.operand);
  Value* address = tile.operand->origin;
  Value* rest = row;
  for (unsigned axis = 0; axis < iterations_.dimensions; ++axis) {
    const unsigned d = iterations_.dimensions - 1 - axis;
    Value* index = iterations_.first[d];
    const bool is_same = iterations_.has_runs && axis == 1;
    if (!is_same && (axis == 0 || !by_column)) {
      const bool is_last = by_column || axis + 1 == iterations_.dimensions;
      Value* const place = b_.CreateZExt(is_last ? rest : b_.CreateURem(rest, sizes_[axis]), b_.getInt64Ty());
      if (!is_last) rest = b_.CreateUDiv(rest, sizes_[axis]);
      if (!by_column) exists = b_.CreateAnd(exists, b_.CreateICmpULT(place, iterations_.count[d]));
      index = b_.CreateAdd(index, place);
    }
    if (tile.operand->strides[d] != nullptr)
      address = b_.CreateGEP(b_.getInt8Ty(), address, b_.CreateMul(index, tile.operand->strides[d]));
  }
  return address;
}

void RowCopier::copy_element(const Tile& tile, const TilePart& part, Value* row, Value* column, bool fills) {
  const TiledOperand& operand = *tile.operand;
  const auto wide = [&](Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); };
  Value* exists = b_.getTrue();
  Value* address = begin_of_row(tile, row, exists);
  Value* const turn = b_.CreateAdd(part.begin, wide(column));
  address = b_.CreateGEP(b_.getInt8Ty(), address, b_.CreateMul(turn, b_.getInt64(operand.bytes)));
  llvm::Type* const type = b_.getIntNTy(operand.bytes * 8);
  Value* const place = b_.CreateInBoundsGEP(
      type, tile.memory, wide(b_.CreateAdd(b_.CreateMul(row, b_.getInt32(tile.pitch)), column)));
  llvm::Function* const function = b_.GetInsertBlock()->getParent();
  BasicBlock* const move = BasicBlock::Create(b_.getContext(), "move", function);
  BasicBlock* const next = BasicBlock::Create(b_.getContext(), "next", function);
  b_.CreateCondBr(exists, move, next);
  b_.SetInsertPoint(move);
  const llvm::Align alignment(operand.bytes);
  llvm::Instruction* global = nullptr;
  if (fills) {
    llvm::LoadInst* const loaded = b_.CreateAlignedLoad(type, address, alignment);
    b_.CreateAlignedStore(loaded, place, alignment);
    global = loaded;
  } else {
    global = b_.CreateAlignedStore(b_.CreateAlignedLoad(type, place, alignment), address, alignment);
  }
  global->setMetadata(llvm::LLVMContext::MD_tbaa, operand.type);
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
}

}  // namespace dhpvm::codegen
