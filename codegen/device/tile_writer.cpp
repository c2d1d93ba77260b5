// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/tile_writer.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>
#include <map>
#include <utility>

#include "codegen/device/builtins.h"
#include "codegen/group_work.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

// The number of turns of a square that are unrolled: counting costs little then. With wide fetches it is the whole
// tile, unless the code size (the body times iterations of a work-item times turns) would exceed a GPU's instruction
// cache. Otherwise the addresses of the fetched elements take registers, and without a branch an assembler would sink
// the loads behind the turns for lack of registers.
constexpr unsigned kUnrolledTurns = 4;
constexpr std::size_t kMostUnrolled = 4096;  // instructions
// The same in rows, whose work-items wait for local memory once for all unrolled turns.
constexpr unsigned kUnrolledTurnsOfRow = 8;

// Asks the optimiser to unroll the loop of this back edge.
void unroll(llvm::BranchInst& back, unsigned turns) {
  llvm::LLVMContext& context = back.getContext();
  llvm::Metadata* const count[] = {
      llvm::MDString::get(context, "llvm.loop.unroll.count"),
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), turns))};
  llvm::MDNode* const loop = llvm::MDNode::getDistinct(context, {nullptr, llvm::MDNode::get(context, count)});
  loop->replaceOperandWith(0, loop);
  back.setMetadata(llvm::LLVMContext::MD_loop, loop);
}

unsigned unrolled_turns(const TiledLoop& loop, Fetching how, unsigned turns_of_tile) {
  if (how == Fetching::kOneByOne) return kUnrolledTurns;
  const std::size_t of_turn = loop.instructions * kSquareRows * kSquareColumns;
  unsigned turns = turns_of_tile;
  while (turns > kUnrolledTurns && turns * of_turn > kMostUnrolled) turns /= 2;
  return turns;
}

bool is_any_stored(const std::vector<Tile>& tiles) {
  return llvm::any_of(tiles, [](const Tile& tile) { return tile.operand->is_stored; });
}

// A loop's turns, without the code around them.
struct Turns {
  BasicBlock* header = nullptr;
  BasicBlock* latch = nullptr;
};

// Variables of a loop with prefetched tiles.
struct Progress {
  Value* left = nullptr;  // number of whole tiles not yet in local memory
  Value* column = nullptr;
  Value* columns = nullptr;
};

// The number of an operand in its loop, and its size: consecutive loops share the same memory.
using Place = std::pair<std::size_t, unsigned>;

// Applies a plan to a function.
class TileWriter {
 public:
  TileWriter(llvm::Function& function, const TilePlan& plan, TileCopier& copier, llvm::IRBuilder<>& builder)
      : function_(function), plan_(plan), copier_(copier), b_(builder) {}
  void write();

 private:
  void spill_registers();
  void take_registers_back();
  void write_loop(const TiledLoop& loop, BasicBlock* header, BasicBlock* next);
  void write_ahead_loop(const TiledLoop& loop, BasicBlock* header);
  void write_double_buffered_loop(const TiledLoop& loop, BasicBlock* header, BasicBlock* next);
  BasicBlock* write_whole_tiles(const std::vector<Tile>& tiles, Fetching how, const Turns& loop,
                                const Progress& progress, unsigned unrolled, BasicBlock* rest);
  llvm::BranchInst* count_turns(const Turns& loop, Value* column, Value* columns, BasicBlock* behind);
  Turns copy_of(const TiledLoop& loop);
  void fill_all(const std::vector<Tile>& tiles, const TilePart& part);
  void drain_all(const std::vector<Tile>& tiles, const TilePart& part);
  void replace_accesses(const Tile& tile, Value* column, Value* room);
  void where(Value* condition, llvm::function_ref<void()> inside);
  void barrier();
  std::vector<Tile> tiles_of(const TiledLoop& loop);
  Value* variable(llvm::Type* type, const char* name);
  BasicBlock* block(const char* name) { return BasicBlock::Create(b_.getContext(), name, &function_); }

  llvm::Function& function_;
  const TilePlan& plan_;
  TileCopier& copier_;
  llvm::IRBuilder<>& b_;
  std::map<Place, llvm::GlobalVariable*> memory_;
};

// Blocks get additional predecessors, so that definitions no longer dominate their uses: values pass through memory
// until then.
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
                           copier_.bytes(operand) / operand.bytes, "tile");
    }
    tiles.push_back(copier_.tile_of(operand, memory));
  }
  return tiles;
}

void TileWriter::write() {
  spill_registers();
  BasicBlock& entry = function_.getEntryBlock();
  Instruction* const leaving = entry.getTerminator();
  BasicBlock* const work = leaving->getSuccessor(0);
  std::vector<BasicBlock*> headers;
  for (std::size_t n = 0; n < plan_.loops.size(); ++n) headers.push_back(block("tiles"));
  headers.push_back(block("absent"));
  for (std::size_t n = 0; n < plan_.loops.size(); ++n) {
    b_.SetInsertPoint(leaving);
    if (copier_.fetched_ahead() != 0) {
      write_ahead_loop(plan_.loops[n], headers[n]);
    } else if (copier_.moves_tiles() != nullptr) {
      write_double_buffered_loop(plan_.loops[n], headers[n], headers[n + 1]);
    } else {
      write_loop(plan_.loops[n], headers[n], headers[n + 1]);
    }
  }
  b_.SetInsertPoint(leaving);
  b_.CreateCondBr(copier_.exists(), work, headers.front());
  leaving->eraseFromParent();
  b_.SetInsertPoint(headers.back());
  b_.CreateRet(llvm::PoisonValue::get(function_.getReturnType()));
  take_registers_back();
}

// Work-items without an iteration enter the tiles at `header` and leave for `next`; the others enter and leave as in
// the original loop. All work-items of a group execute the same number of tiles.
void TileWriter::write_loop(const TiledLoop& loop, BasicBlock* header, BasicBlock* next) {
  const std::vector<Tile> tiles = tiles_of(loop);
  // With elements of several sizes, the shortest tile decides.
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
  // Other work-items may still read the previous tile.
  barrier();
  fill_all(tiles, part);
  barrier();
  b_.CreateCondBr(copier_.exists(), loop.header, drain);

  for (const Tile& tile : tiles) replace_accesses(tile, column, nullptr);
  count_turns({loop.header, loop.latch}, column, columns, drain);

  b_.SetInsertPoint(drain);
  if (is_any_stored(tiles)) {
    barrier();
    drain_all(tiles, part);
    // Each work-item may access elements of its row that others have stored.
    barrier();
  }
  b_.CreateStore(b_.CreateAdd(from, b_.getInt64(turns)), begin);
  b_.CreateBr(header);
  b_.SetInsertPoint(done);
  b_.CreateCondBr(copier_.exists(), loop.after, next);
}

// The end of each turn of a tile.
llvm::BranchInst* TileWriter::count_turns(const Turns& loop, Value* column, Value* columns,
                                          BasicBlock* behind) {
  Instruction* const back = loop.latch->getTerminator();
  b_.SetInsertPoint(back);
  Value* const now =
      b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), column), b_.getInt32(1), "", /*HasNUW=*/true);
  b_.CreateStore(now, column);
  Value* const goes_on = b_.CreateICmpULT(now, b_.CreateLoad(b_.getInt32Ty(), columns));
  llvm::BranchInst* const branch = b_.CreateCondBr(goes_on, loop.header, behind);
  back->eraseFromParent();
  return branch;
}

// Values pass through memory already, so only branches connect the blocks.
Turns TileWriter::copy_of(const TiledLoop& loop) {
  llvm::ValueToValueMapTy copies;
  llvm::SmallVector<BasicBlock*, 4> made;
  for (BasicBlock* const original : loop.blocks) {
    made.push_back(llvm::CloneBasicBlock(original, copies, ".copy", &function_));
    copies[original] = made.back();
  }
  llvm::remapInstructionsInBlocks(made, copies);
  return {llvm::cast<BasicBlock>(copies[loop.header]), llvm::cast<BasicBlock>(copies[loop.latch])};
}

// Prefetches the elements of a whole tile during the turns of the previous one. At the returned block there are some,
// and at `rest` none left. The last tile is fetched twice: an assembler would sink conditional loads to the stores
// after the turns, which have the same condition.
BasicBlock* TileWriter::write_whole_tiles(const std::vector<Tile>& tiles, Fetching how, const Turns& loop,
                                          const Progress& progress, unsigned unrolled, BasicBlock* rest) {
  llvm::Type* const i64 = b_.getInt64Ty();
  BasicBlock* const first = block("first");
  BasicBlock* const put = block("put");
  BasicBlock* const behind = block("behind");
  std::vector<Value*> addresses;
  std::vector<Value*> places;
  std::vector<llvm::SmallVector<Value*, 4>> fetched(tiles.size());
  const auto fetch = [&](std::size_t n, Value* begin) {
    const llvm::SmallVector<Value*> elements = copier_.fetch(tiles[n], how, begin);
    for (std::size_t k = 0; k < elements.size(); ++k) b_.CreateStore(elements[k], fetched[n][k]);
    b_.CreateStore(begin, addresses[n]);
  };

  b_.SetInsertPoint(first);
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    addresses.push_back(variable(b_.getPtrTy(kGlobalSpace), "address"));
    for (unsigned k = 0; k < copier_.fetched_ahead(); ++k)
      fetched[n].push_back(variable(b_.getIntNTy(tiles[n].operand->bytes * 8), "fetched"));
    const ShareBegin begin = copier_.begin_of_share(tiles[n], how);
    places.push_back(begin.to);
    fetch(n, begin.from);
  }
  b_.CreateBr(put);

  b_.SetInsertPoint(put);
  // Other work-items may still read the previous tile.
  barrier();
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    llvm::SmallVector<Value*> elements;
    for (Value* const element : fetched[n])
      elements.push_back(b_.CreateLoad(b_.getIntNTy(tiles[n].operand->bytes * 8), element));
    copier_.put(tiles[n], how, places[n], elements);
  }
  barrier();
  Value* const left = b_.CreateSub(b_.CreateLoad(i64, progress.left), b_.getInt64(1));
  b_.CreateStore(left, progress.left);
  Value* const is_last = b_.CreateICmpEQ(left, b_.getInt64(0));
  for (std::size_t n = 0; n < tiles.size(); ++n) {
    Value* const farther = b_.CreateMul(tiles[n].operand->step, b_.getInt64(tiles[n].turns));
    fetch(n, b_.CreateGEP(b_.getInt8Ty(), b_.CreateLoad(b_.getPtrTy(kGlobalSpace), addresses[n]),
                          b_.CreateSelect(is_last, b_.getInt64(0), farther)));
  }
  b_.CreateStore(b_.getInt32(0), progress.column);
  b_.CreateStore(b_.getInt32(tiles.front().turns), progress.columns);
  b_.CreateBr(loop.header);
  unroll(*count_turns(loop, progress.column, progress.columns, behind), unrolled);
  b_.SetInsertPoint(behind);
  b_.CreateCondBr(b_.CreateICmpNE(b_.CreateLoad(i64, progress.left), b_.getInt64(0)), put, rest);
  return first;
}

// Prefetches whole tiles, with a separate loop for each way of fetching. A copy of the loop runs the remaining turns.
void TileWriter::write_ahead_loop(const TiledLoop& loop, BasicBlock* header) {
  const std::vector<Tile> tiles = tiles_of(loop);
  llvm::Type* const i32 = b_.getInt32Ty();
  const Progress progress = {variable(b_.getInt64Ty(), "left"), variable(i32, "column"),
                             variable(i32, "columns")};
  BasicBlock* const whole = block("whole");
  BasicBlock* const rest = block("rest");
  BasicBlock* const fill = block("fill");
  loop.before->getTerminator()->replaceSuccessorWith(loop.header, header);
  for (const Tile& tile : tiles) replace_accesses(tile, progress.column, nullptr);
  const Turns turns_of_rest = copy_of(loop);
  const auto write_whole = [&](Fetching how, const Turns& turns) {
    return write_whole_tiles(tiles, how, turns, progress, unrolled_turns(loop, how, tiles.front().turns),
                             rest);
  };

  b_.SetInsertPoint(header);
  Value* const of_tile = b_.getInt64(tiles.front().turns);
  Value* const count = b_.CreateUDiv(loop.turns, of_tile);
  b_.CreateStore(count, progress.left);
  b_.CreateCondBr(b_.CreateICmpNE(count, b_.getInt64(0)), whole, rest);
  b_.SetInsertPoint(whole);
  Value* const at_once = copier_.can_fetch_at_once(tiles);
  BasicBlock* const wide = at_once != nullptr ? write_whole(Fetching::kAtOnce, copy_of(loop)) : nullptr;
  BasicBlock* const narrow = write_whole(Fetching::kOneByOne, {loop.header, loop.latch});
  b_.SetInsertPoint(whole);
  wide != nullptr ? b_.CreateCondBr(at_once, wide, narrow) : b_.CreateBr(narrow);

  b_.SetInsertPoint(rest);
  Value* const left = b_.CreateURem(loop.turns, of_tile);
  b_.CreateCondBr(b_.CreateICmpNE(left, b_.getInt64(0)), fill, loop.after);
  b_.SetInsertPoint(fill);
  const TilePart part = {b_.CreateSub(loop.turns, left), b_.CreateTrunc(left, i32)};
  barrier();
  fill_all(tiles, part);
  barrier();
  b_.CreateStore(b_.getInt32(0), progress.column);
  b_.CreateStore(part.columns, progress.columns);
  b_.CreateBr(turns_of_rest.header);
  unroll(*count_turns(turns_of_rest, progress.column, progress.columns, loop.after), 1);
}

// While some work-items compute the turns of a tile, others store the results of the previous tile to memory and then
// load the operands of the next tile into the same buffer. A work-item moves the same places both ways, so that no
// barrier is needed between.
void TileWriter::write_double_buffered_loop(const TiledLoop& loop, BasicBlock* header, BasicBlock* next) {
  const std::vector<Tile> tiles = tiles_of(loop);
  // With elements of several sizes, the shortest tile decides.
  unsigned turns = tiles.front().turns;
  for (const Tile& tile : tiles) turns = std::min(turns, tile.turns);
  const bool is_stored = is_any_stored(tiles);
  llvm::Type* const i64 = b_.getInt64Ty();
  llvm::Type* const i32 = b_.getInt32Ty();
  Value* const begin = variable(i64, "begin");
  Value* const room = variable(i32, "room");
  Value* const columns = variable(i32, "columns");
  Value* const column = variable(i32, "column");
  const auto part_from = [&](Value* from, Value* in) {
    Value* const left =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.CreateSub(loop.turns, from), b_.getInt64(turns));
    return TilePart{from, b_.CreateTrunc(left, i32), in};
  };
  BasicBlock* const first = block("first");
  BasicBlock* const turn = block("turn");
  BasicBlock* const move = block("move");
  BasicBlock* const last = block("last");
  BasicBlock* const done = block("done");
  loop.before->getTerminator()->replaceSuccessorWith(loop.header, header);

  b_.SetInsertPoint(header);
  b_.CreateCondBr(b_.CreateICmpNE(loop.turns, b_.getInt64(0)), first, done);
  b_.SetInsertPoint(first);
  // Other work-items may still read tiles of the previous loop.
  barrier();
  where(copier_.moves_tiles(), [&] { fill_all(tiles, part_from(b_.getInt64(0), b_.getInt32(0))); });
  barrier();
  b_.CreateStore(b_.getInt64(0), begin);
  b_.CreateStore(b_.getInt32(0), room);
  b_.CreateBr(turn);

  b_.SetInsertPoint(turn);
  Value* const from = b_.CreateLoad(i64, begin);
  Value* const here = b_.CreateLoad(i32, room);
  const TilePart part = part_from(from, here);
  b_.CreateStore(part.columns, columns);
  b_.CreateStore(b_.getInt32(0), column);
  b_.CreateCondBr(copier_.exists(), loop.header, move);
  for (const Tile& tile : tiles) replace_accesses(tile, column, room);
  unroll(*count_turns({loop.header, loop.latch}, column, columns, move), kUnrolledTurnsOfRow);

  b_.SetInsertPoint(move);
  Value* const there = b_.CreateXor(here, b_.getInt32(1));
  Value* const behind = b_.CreateAdd(from, b_.getInt64(turns));
  Value* const goes_on = b_.CreateICmpULT(behind, loop.turns);
  where(copier_.moves_tiles(), [&] {
    if (is_stored) {
      where(b_.CreateICmpNE(from, b_.getInt64(0)),
            [&] { drain_all(tiles, {b_.CreateSub(from, b_.getInt64(turns)), b_.getInt32(turns), there}); });
    }
    where(goes_on, [&] { fill_all(tiles, part_from(behind, there)); });
  });
  barrier();
  b_.CreateStore(behind, begin);
  b_.CreateStore(there, room);
  b_.CreateCondBr(goes_on, turn, last);

  b_.SetInsertPoint(last);
  if (is_stored) {
    where(copier_.moves_tiles(), [&] { drain_all(tiles, part); });
    // Each work-item may access elements of its row that others have stored.
    barrier();
  }
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  b_.CreateCondBr(copier_.exists(), loop.after, next);
}

void TileWriter::fill_all(const std::vector<Tile>& tiles, const TilePart& part) {
  for (const Tile& tile : tiles) {
    if (tile.operand->is_loaded) copier_.fill(tile, part);
  }
}

void TileWriter::drain_all(const std::vector<Tile>& tiles, const TilePart& part) {
  for (const Tile& tile : tiles) {
    if (tile.operand->is_stored) copier_.drain(tile, part);
  }
}

void TileWriter::where(Value* condition, llvm::function_ref<void()> inside) {
  BasicBlock* const then = block("then");
  BasicBlock* const after = block("after");
  b_.CreateCondBr(condition, then, after);
  b_.SetInsertPoint(then);
  inside();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

// One barrier for all iterations of a work-item.
void TileWriter::barrier() {
  auto* const call = llvm::cast<llvm::CallInst>(call_builtin(b_, Builtin::kBarrier));
  call->addFnAttr(llvm::Attribute::get(b_.getContext(), spmd::kOnceForAllRows));
}

// `column` and `room` are variables.
void TileWriter::replace_accesses(const Tile& tile, Value* column, Value* room) {
  llvm::Type* const i32 = b_.getInt32Ty();
  for (Instruction* const access : tile.operand->accesses) {
    b_.SetInsertPoint(access);
    Value* const place = copier_.own_element(tile, b_.CreateLoad(i32, column),
                                             room == nullptr ? nullptr : b_.CreateLoad(i32, room));
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

}  // namespace

std::uint64_t memory_of(const TilePlan& plan, llvm::function_ref<std::uint64_t(const TiledOperand&)> bytes) {
  std::map<Place, std::uint64_t> tiles;
  for (const TiledLoop& loop : plan.loops) {
    for (std::size_t n = 0; n < loop.operands.size(); ++n) {
      const TiledOperand& operand = loop.operands[n];
      tiles[{n, operand.bytes}] = bytes(operand);
    }
  }
  std::uint64_t sum = 0;
  for (const auto& [place, size] : tiles) sum += size;
  return sum;
}

void write_tiles(llvm::Function& function, const TilePlan& plan, TileCopier& copier,
                 llvm::IRBuilder<>& builder) {
  TileWriter(function, plan, copier, builder).write();
}

}  // namespace dhpvm::codegen
