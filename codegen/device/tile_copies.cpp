// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/tile_copies.h"

#include <llvm/IR/Instructions.h>

#include <algorithm>

#include "codegen/device/builtins.h"
#include "codegen/group_work.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// A bank of local memory delivers one word at a time. Rows are padded by a word, so that elements of a column lie in
// different banks.
constexpr unsigned kBankBytes = 4;

// If each row has its own work-item: the number of rows that a work-item loads before it stores the first. Other groups
// hide the rest of the latency.
constexpr unsigned kRowsAtOnce = 8;
// The same with double buffering, by seven runs of work-items for 32 rows, or proportionally fewer.
constexpr unsigned kRowsDoubleBuffered = 5;
constexpr unsigned kMovingRuns = 7;

unsigned pitch_of(unsigned element_bytes, RowTiles tiles) {
  return turns_of_tile(element_bytes) * tiles.pieces + std::max(1U, kBankBytes / element_bytes);
}

// With double buffering, there is space for missing rows, which are stored as well.
unsigned most_rows(RowTiles tiles) {
  return tiles.is_double_buffered ? std::max(tiles.rows, kRowsDoubleBuffered * kMovingRuns) : tiles.rows;
}

}  // namespace

std::uint64_t bytes_of_rows(const TiledOperand& operand, RowTiles tiles) {
  const std::uint64_t plane =
      std::uint64_t{most_rows(tiles)} * pitch_of(operand.bytes, tiles) * operand.bytes;
  return plane * (tiles.is_double_buffered ? 2 : 1);
}

Tile RowCopier::tile_of(const TiledOperand& operand, llvm::GlobalVariable* memory) const {
  const unsigned pitch = pitch_of(operand.bytes, tiles_);
  return {&operand, memory, turns_of_tile(operand.bytes) * tiles_.pieces, pitch, most_rows(tiles_) * pitch};
}

RowCopier::RowCopier(llvm::IRBuilder<>& builder, const GroupIterations& iterations, RowTiles tiles)
    : b_(builder), iterations_(iterations), tiles_(tiles) {
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
  Value* const together = b_.getInt32(kWarp);
  run_ = b_.CreateUDiv(item_, together);
  runs_ = b_.CreateUDiv(items_, together);
  if (!tiles.is_double_buffered) return;
  // The first run has the rows. The smallest group has no other one.
  Value* const has_more = b_.CreateICmpUGT(runs_, b_.getInt32(1));
  moves_ = b_.CreateOr(b_.CreateICmpNE(run_, b_.getInt32(0)), b_.CreateNot(has_more));
  Value* const walking = b_.CreateZExt(has_more, b_.getInt32Ty());
  run_ = b_.CreateSub(run_, walking);
  runs_ = b_.CreateSub(runs_, walking);
}

bool RowCopier::has_row_for_column(const TiledOperand& operand) const {
  for (unsigned d = 0; d + 1 < iterations_.dimensions; ++d) {
    const bool is_same = iterations_.has_runs && d + 2 == iterations_.dimensions;
    if (!is_same && operand.strides[d] != nullptr) return false;
  }
  return true;
}

Value* RowCopier::own_element(const Tile& tile, Value* turn, Value* room) {
  Value* const row = has_row_for_column(*tile.operand) ? across_ : item_;
  return element_at(tile, b_.CreateAdd(b_.CreateMul(row, b_.getInt32(tile.pitch)), turn), room);
}

Value* RowCopier::element_at(const Tile& tile, Value* place, Value* room) {
  if (room != nullptr) place = b_.CreateAdd(place, b_.CreateMul(room, b_.getInt32(tile.plane)));
  return b_.CreateInBoundsGEP(b_.getIntNTy(tile.operand->bytes * 8), tile.memory,
                              b_.CreateZExt(place, b_.getInt64Ty()));
}

// Each run of kWarp work-items moves one row at a time, and as many neighbouring elements of it.
void RowCopier::copy(const Tile& tile, const TilePart& part, bool fills) {
  Value* const together = b_.getInt32(kWarp);
  Value* const lane = b_.CreateURem(item_, together);
  const unsigned last = iterations_.dimensions - 1;
  Value* const rows =
      has_row_for_column(*tile.operand) ? b_.CreateTrunc(iterations_.count[last], b_.getInt32Ty()) : items_;
  const unsigned rows_at_once = !fills ? 1 : tiles_.is_double_buffered ? kRowsDoubleBuffered : kRowsAtOnce;
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const header = block("rows");
  BasicBlock* const after = block("copied");
  b_.CreateCondBr(b_.CreateICmpULT(run_, rows), header, after);
  b_.SetInsertPoint(header);
  llvm::PHINode* const row = b_.CreatePHI(b_.getInt32Ty(), 2, "row");
  row->addIncoming(run_, before);
  const auto step = [&](unsigned n) {
    return b_.CreateAdd(row, b_.CreateMul(runs_, b_.getInt32(n)), "", /*HasNUW=*/true, /*HasNSW=*/true);
  };
  std::vector<Element> elements;
  for (unsigned n = 0; n < rows_at_once; ++n) {
    Value* const mine = n == 0 ? row : step(n);
    Value* const is_row = n == 0 ? b_.getTrue() : b_.CreateICmpULT(mine, rows);
    for (unsigned ahead = 0; ahead < tile.turns; ahead += kWarp) {
      Value* const column = b_.CreateAdd(lane, b_.getInt32(ahead), "", /*HasNUW=*/true, /*HasNSW=*/true);
      Value* const exists = b_.CreateAnd(is_row, b_.CreateICmpULT(column, part.columns));
      elements.push_back({mine, ahead, column, exists, is_row});
    }
  }
  fills ? load(tile, part, rows, elements) : store(tile, part, elements);
  Value* const next = step(rows_at_once);
  row->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpULT(next, rows), header, after);
  b_.SetInsertPoint(after);
}

// The address of a row's first turn; clears `exists` if no iteration has that row.
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

Value* RowCopier::address_of(const Tile& tile, const TilePart& part, Value* row, Value* column,
                             Value*& exists) {
  Value* const begin = begin_of_row(tile, row, exists);
  Value* const turn = b_.CreateAdd(part.begin, b_.CreateZExt(column, b_.getInt64Ty()));
  return b_.CreateGEP(b_.getInt8Ty(), begin, b_.CreateMul(turn, b_.getInt64(tile.operand->bytes)));
}

Value* RowCopier::place_of(const Tile& tile, const TilePart& part, Value* row, Value* column) {
  return element_at(tile, b_.CreateAdd(b_.CreateMul(row, b_.getInt32(tile.pitch)), column), part.room);
}

// Addresses of the elements, with valid addresses in place of missing elements. With double buffering, where rows
// differ in one index only, those are in the last row, or at its start for missing rows: many loads are in flight then,
// and a select of the whole address for each would take as many registers.
llvm::SmallVector<Value*> RowCopier::sure_addresses(const Tile& tile, const TilePart& part, Value* rows,
                                                    llvm::ArrayRef<Element> elements) {
  llvm::SmallVector<Value*> addresses;
  Value* exists = b_.getTrue();
  if (!tiles_.is_double_buffered) {
    Value* const sure = address_of(tile, part, b_.getInt32(0), b_.getInt32(0), exists);
    for (const Element& element : elements) {
      exists = element.exists;
      Value* const address = address_of(tile, part, element.row, element.column, exists);
      addresses.push_back(b_.CreateSelect(exists, address, sure));
    }
    return addresses;
  }
  Value* const last_row = b_.CreateSub(rows, b_.getInt32(1));
  Value* const last_column = b_.CreateSub(part.columns, b_.getInt32(1));
  Value* begin = nullptr;
  for (const Element& element : elements) {
    if (element.ahead == 0) {
      Value* const row = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, element.row, last_row);
      begin = address_of(tile, part, row, b_.getInt32(0), exists);
    }
    Value* const column = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, element.column, last_column);
    Value* const sure = b_.CreateSelect(element.row_exists, column, b_.getInt32(0));
    Value* const farther =
        b_.CreateMul(b_.CreateZExt(sure, b_.getInt64Ty()), b_.getInt64(tile.operand->bytes));
    addresses.push_back(b_.CreateGEP(b_.getInt8Ty(), begin, farther));
  }
  return addresses;
}

// All loads precede the first store, which waits for its element, so that their latencies overlap.
void RowCopier::load(const Tile& tile, const TilePart& part, Value* rows, llvm::ArrayRef<Element> elements) {
  const TiledOperand& operand = *tile.operand;
  llvm::Type* const type = b_.getIntNTy(operand.bytes * 8);
  const llvm::Align alignment(operand.bytes);
  llvm::SmallVector<Value*> loaded;
  for (Value* const address : sure_addresses(tile, part, rows, elements)) {
    llvm::LoadInst* const value = b_.CreateAlignedLoad(type, address, alignment);
    value->setMetadata(llvm::LLVMContext::MD_tbaa, operand.type);
    loaded.push_back(value);
  }
  // The positions of missing iterations are never read.
  Value* place = nullptr;
  for (std::size_t n = 0; n < elements.size(); ++n) {
    const Element& element = elements[n];
    if (element.ahead == 0) place = place_of(tile, part, element.row, element.column);
    const auto put = [&] {
      b_.CreateAlignedStore(loaded[n], b_.CreateInBoundsGEP(type, place, b_.getInt64(element.ahead)),
                            alignment);
    };
    // Under a condition, an assembler would move each load to its store, and their latencies would not overlap.
    tiles_.is_double_buffered ? put() : where(element.exists, put);
  }
}

void RowCopier::store(const Tile& tile, const TilePart& part, llvm::ArrayRef<Element> elements) {
  const TiledOperand& operand = *tile.operand;
  const llvm::Align alignment(operand.bytes);
  for (const Element& element : elements) {
    Value* exists = element.exists;
    Value* const address = address_of(tile, part, element.row, element.column, exists);
    where(exists, [&] {
      Value* const place = place_of(tile, part, element.row, element.column);
      Value* const value = b_.CreateAlignedLoad(b_.getIntNTy(operand.bytes * 8), place, alignment);
      b_.CreateAlignedStore(value, address, alignment)->setMetadata(llvm::LLVMContext::MD_tbaa, operand.type);
    });
  }
}

void RowCopier::where(Value* condition, llvm::function_ref<void()> inside) {
  BasicBlock* const then = block("then");
  BasicBlock* const next = block("next");
  b_.CreateCondBr(condition, then, next);
  b_.SetInsertPoint(then);
  inside();
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
}

BasicBlock* RowCopier::block(const char* name) {
  return BasicBlock::Create(b_.getContext(), name, b_.GetInsertBlock()->getParent());
}

}  // namespace dhpvm::codegen
