// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/square_copies.h"

#include <llvm/IR/Instructions.h>

#include <algorithm>

#include "codegen/device/builtins.h"
#include "codegen/group_work.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// Enough computation while the next tile is loaded, and few enough loads in flight for the registers.
constexpr unsigned kTurns = 16;
constexpr unsigned kShare = kTurns * kSquareSide / kSquareItems;  // elements of a tile that a work-item moves
constexpr unsigned kWidestLoad = 16;                              // bytes
// Elements per turn, with padding that keeps turns in different banks of local memory: a multiple of the elements that
// a work-item loads at once.
constexpr unsigned kPitch = kSquareSide + kSquareRows;

bool is_shared_by_columns(const TiledOperand& operand) { return operand.strides[0] == nullptr; }

Value* stride_of(const TiledOperand& operand) {
  return operand.strides[is_shared_by_columns(operand) ? 1 : 0];
}

// A work-item's columns are kSquareGroup apart, so that neighbouring work-items access neighbouring elements. In local
// memory, as many of them are adjacent as it can load at once, followed by those of the next work-item: longer runs
// would share banks.
unsigned columns_together(unsigned element_bytes) {
  return std::min(kSquareColumns, kWidestLoad / element_bytes);
}

// The position of a column in its turn, and the column at a position. Both are below kSquareSide.
Value* place_of_column(llvm::IRBuilder<>& b, Value* column, unsigned element_bytes) {
  const unsigned together = columns_together(element_bytes);
  const auto number = [&](unsigned value) { return llvm::ConstantInt::get(column->getType(), value); };
  Value* const item = b.CreateURem(column, number(kSquareGroup));
  Value* const nth = b.CreateUDiv(column, number(kSquareGroup));
  Value* const run =
      b.CreateAdd(b.CreateMul(b.CreateUDiv(nth, number(together)), number(kSquareGroup)), item);
  return b.CreateAdd(b.CreateMul(run, number(together)), b.CreateURem(nth, number(together)));
}

Value* column_at_place(llvm::IRBuilder<>& b, Value* place, unsigned element_bytes) {
  const unsigned together = columns_together(element_bytes);
  const auto number = [&](unsigned value) { return llvm::ConstantInt::get(place->getType(), value); };
  Value* const run = b.CreateUDiv(place, number(together));
  Value* const nth = b.CreateAdd(b.CreateMul(b.CreateUDiv(run, number(kSquareGroup)), number(together)),
                                 b.CreateURem(place, number(together)));
  return b.CreateAdd(b.CreateMul(nth, number(kSquareGroup)), b.CreateURem(run, number(kSquareGroup)));
}

// Which elements of a tile are contiguous in memory.
enum class Order : std::uint8_t { kTurns, kRows, kNone };

Order order_of(const TiledOperand& operand) {
  const auto is_next = [&](const Value* distance) {
    const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(distance);
    return constant != nullptr && constant->getValue() == operand.bytes;
  };
  if (is_next(operand.step)) return Order::kTurns;
  return is_next(stride_of(operand)) ? Order::kRows : Order::kNone;
}

// Whether a work-item's share of a whole tile is a single load, if memory is aligned.
bool can_be_at_once(const TiledOperand& operand) {
  return kShare * operand.bytes <= kWidestLoad && order_of(operand) != Order::kNone;
}

// A work-item's share of a tile. A "row" is a column in tiles that the iterations of a column share. Neighbouring
// work-items load neighbouring elements, one of each share at a time, or neighbouring shares.
struct Share {
  Share(const TiledOperand& shared, Fetching how);

  struct Begin {
    Value* turn = nullptr;
    Value* row = nullptr;
  };
  // The first element, as 32-bit numbers.
  Begin begin(llvm::IRBuilder<>& b) const;

  const TiledOperand& operand;
  bool at_once = false;
  bool by_turns = false;  // turns of a row are contiguous
  // The step from an element to the next one. In the row number it causes no carry.
  unsigned more_turns = 0;
  unsigned more_rows = 0;

 private:
  unsigned elements() const { return at_once ? kShare : 1; }
  // The number of work-items that load contiguous elements.
  unsigned items() const { return (by_turns ? kTurns : kSquareSide) / elements(); }
};

Share::Share(const TiledOperand& shared, Fetching how)
    : operand(shared),
      at_once(how == Fetching::kAtOnce && can_be_at_once(shared)),
      by_turns(order_of(shared) == Order::kTurns) {
  if (at_once) {
    (by_turns ? more_turns : more_rows) = 1;
  } else {
    (by_turns ? more_rows : more_turns) = kSquareItems / items();
  }
}

Share::Begin Share::begin(llvm::IRBuilder<>& b) const {
  const auto id = [&](unsigned axis) {
    return b.CreateTrunc(call_builtin(b, Builtin::kLocalId, axis), b.getInt32Ty());
  };
  // Values computed from it occupy no registers outside the code that moves tiles.
  llvm::CallInst* const number =
      call_opaque(b, b.CreateAdd(b.CreateMul(id(1), b.getInt32(kSquareGroup)), id(0)));
  number->addFnAttr(llvm::Attribute::get(b.getContext(), spmd::kOnceForAllRows));
  Value* const item = b.CreateURem(number, b.getInt32(kSquareItems));  // tells the optimiser the range
  Value* const near = b.CreateMul(b.CreateURem(item, b.getInt32(items())), b.getInt32(elements()));
  Value* const far = b.CreateUDiv(item, b.getInt32(items()));
  if (!by_turns) return {far, near};
  // Rows are not contiguous in memory, so neighbours may as well take neighbouring positions in the tile.
  if (at_once && is_shared_by_columns(operand)) return {near, column_at_place(b, far, operand.bytes)};
  return {near, far};
}

// The offset in bytes from turn 0 of row 0 to a turn of the share's first row.
Value* distance(llvm::IRBuilder<>& b, const Share::Begin& begin, Value* turn, Value* stride, Value* step) {
  const auto wide = [&](Value* value) { return b.CreateZExt(value, b.getInt64Ty()); };
  return b.CreateAdd(b.CreateMul(wide(begin.row), stride), b.CreateMul(wide(turn), step));
}

llvm::LoadInst* load(llvm::IRBuilder<>& b, const TiledOperand& operand, llvm::Type* type, Value* address,
                     unsigned alignment) {
  llvm::LoadInst* const loaded = b.CreateAlignedLoad(type, address, llvm::Align(alignment));
  loaded->setMetadata(llvm::LLVMContext::MD_tbaa, operand.type);
  return loaded;
}

// The position of the share's first element in the tile.
Value* first_place(llvm::IRBuilder<>& b, const Tile& tile, const Share::Begin& begin) {
  Value* const row =
      is_shared_by_columns(*tile.operand) ? place_of_column(b, begin.row, tile.operand->bytes) : begin.row;
  Value* const place = b.CreateAdd(b.CreateMul(begin.turn, b.getInt32(tile.pitch)), row);
  return b.CreateInBoundsGEP(b.getIntNTy(tile.operand->bytes * 8), tile.memory,
                             b.CreateZExt(place, b.getInt64Ty()));
}

void store(llvm::IRBuilder<>& b, const Tile& tile, const Share& share, Value* first,
           llvm::ArrayRef<Value*> elements) {
  const unsigned bytes = tile.operand->bytes;
  for (unsigned n = 0; n < kShare; ++n) {
    Value* row = b.getInt64(n * share.more_rows);
    if (is_shared_by_columns(*tile.operand)) row = place_of_column(b, row, bytes);
    Value* const farther = b.CreateAdd(b.getInt64(std::uint64_t{n} * share.more_turns * tile.pitch), row);
    b.CreateAlignedStore(elements[n], b.CreateInBoundsGEP(b.getIntNTy(bytes * 8), first, farther),
                         llvm::Align(bytes));
  }
}

// Stores a share of a whole tile in it:
//   void put(ptr local first, element.. kShare times)
void emit_put(llvm::Function& function, const Tile& tile, const Share& share) {
  llvm::IRBuilder<> b(BasicBlock::Create(function.getContext(), "entry", &function));
  llvm::SmallVector<Value*> elements;
  for (unsigned n = 0; n < kShare; ++n) elements.push_back(function.getArg(1 + n));
  store(b, tile, share, function.getArg(0), elements);
  b.CreateRetVoid();
}

// Loads and stores a share of a tile that begins at `corner`, with rows `stride` bytes and turns `step` bytes apart. A
// tile with only `turns` turns repeats some of them in place of the missing ones.
//   void fill(ptr global corner, i64 stride, i64 step, i32 turns)
void emit_fill(llvm::Function& function, const Tile& tile) {
  llvm::IRBuilder<> b(BasicBlock::Create(function.getContext(), "entry", &function));
  const TiledOperand& operand = *tile.operand;
  const Share share(operand, Fetching::kOneByOne);
  const Share::Begin begin = share.begin(b);
  Value* const stride = function.getArg(1);
  Value* const step = function.getArg(2);
  Value* const last = b.CreateSub(function.getArg(3), b.getInt32(1));
  Value* const turn = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, begin.turn, last);
  Value* const left = b.CreateSub(last, turn);
  Value* address = b.CreateGEP(b.getInt8Ty(), function.getArg(0), distance(b, begin, turn, stride, step));
  llvm::SmallVector<Value*> elements;
  for (unsigned n = 0; n < kShare; ++n) {
    if (n != 0) {
      Value* more = b.CreateMul(stride, b.getInt64(share.more_rows));
      if (share.more_turns != 0) {
        Value* const is_there = b.CreateICmpUGE(left, b.getInt32(n * share.more_turns));
        more = b.CreateSelect(is_there, b.CreateMul(step, b.getInt64(share.more_turns)), b.getInt64(0));
      }
      address = b.CreateGEP(b.getInt8Ty(), address, more);
    }
    elements.push_back(load(b, operand, b.getIntNTy(operand.bytes * 8), address, operand.bytes));
  }
  store(b, tile, share, first_place(b, tile, begin), elements);
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

// In 64 bits, so that the constant offsets between a work-item's iterations become immediates of its instructions.
Value* SquareCopier::own_element(const Tile& tile, Value* turn, Value* /*room*/) {
  const TiledOperand& operand = *tile.operand;
  Value* const row =
      is_shared_by_columns(operand) ? place_of_column(b_, places_[1], operand.bytes) : places_[0];
  Value* const begin = b_.CreateMul(b_.CreateZExt(turn, b_.getInt64Ty()), b_.getInt64(tile.pitch));
  return b_.CreateInBoundsGEP(b_.getIntNTy(operand.bytes * 8), tile.memory, b_.CreateAdd(begin, row));
}

unsigned SquareCopier::fetched_ahead() const { return kShare; }

llvm::Function* SquareCopier::declare(const char* name, llvm::ArrayRef<Value*> arguments) {
  llvm::SmallVector<llvm::Type*> types;
  for (const Value* const argument : arguments) types.push_back(argument->getType());
  llvm::Function* const function =
      llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                             llvm::GlobalValue::InternalLinkage, name, b_.GetInsertBlock()->getModule());
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::AlwaysInline);
  b_.CreateCall(function, arguments)->addFnAttr(llvm::Attribute::get(b_.getContext(), spmd::kOnceForAllRows));
  return function;
}

// Possible if every row, or every turn, starts at a multiple of a share's size.
Value* SquareCopier::can_fetch_at_once(llvm::ArrayRef<Tile> tiles) {
  Value* can = nullptr;
  for (const Tile& tile : tiles) {
    const TiledOperand& operand = *tile.operand;
    if (!can_be_at_once(operand)) continue;
    Value* const apart = order_of(operand) == Order::kTurns ? stride_of(operand) : operand.step;
    Value* const bits = b_.CreateOr(b_.CreatePtrToInt(operand.origin, b_.getInt64Ty()), apart);
    Value* const rest = b_.CreateURem(bits, b_.getInt64(std::uint64_t{kShare} * operand.bytes));
    Value* const is_aligned = b_.CreateICmpEQ(rest, b_.getInt64(0));
    can = can == nullptr ? is_aligned : b_.CreateAnd(can, is_aligned);
  }
  return can;
}

ShareBegin SquareCopier::begin_of_share(const Tile& tile, Fetching how) {
  const TiledOperand& operand = *tile.operand;
  const Share share(operand, how);
  const Share::Begin begin = share.begin(b_);
  return {b_.CreateGEP(b_.getInt8Ty(), operand.origin,
                       distance(b_, begin, begin.turn, stride_of(operand), operand.step)),
          first_place(b_, tile, begin)};
}

llvm::SmallVector<Value*> SquareCopier::fetch(const Tile& tile, Fetching how, Value* begin) {
  const TiledOperand& operand = *tile.operand;
  llvm::Type* const type = b_.getIntNTy(operand.bytes * 8);
  const Share share(operand, how);
  llvm::SmallVector<Value*> elements;
  if (share.at_once) {
    Value* const all =
        load(b_, operand, llvm::FixedVectorType::get(type, kShare), begin, kShare * operand.bytes);
    for (unsigned n = 0; n < kShare; ++n) elements.push_back(b_.CreateExtractElement(all, n));
    return elements;
  }
  Value* const more = share.more_rows != 0 ? b_.CreateMul(stride_of(operand), b_.getInt64(share.more_rows))
                                           : b_.CreateMul(operand.step, b_.getInt64(share.more_turns));
  for (unsigned n = 0; n < kShare; ++n) {
    elements.push_back(load(b_, operand, type, begin, operand.bytes));
    begin = b_.CreateGEP(b_.getInt8Ty(), begin, more);
  }
  return elements;
}

void SquareCopier::put(const Tile& tile, Fetching how, Value* to, llvm::ArrayRef<Value*> elements) {
  llvm::SmallVector<Value*> arguments = {to};
  arguments.append(elements.begin(), elements.end());
  emit_put(*declare("put", arguments), tile, Share(*tile.operand, how));
}

void SquareCopier::fill(const Tile& tile, const TilePart& part) {
  const TiledOperand& operand = *tile.operand;
  Value* const corner = b_.CreateGEP(b_.getInt8Ty(), operand.origin, b_.CreateMul(part.begin, operand.step));
  emit_fill(*declare("fill", {corner, stride_of(operand), operand.step, part.columns}), tile);
}

}  // namespace dhpvm::codegen
