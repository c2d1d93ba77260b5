// SPDX-License-Identifier: Apache-2.0
// Operands of inner loops, transposed into the order of the lanes.
//
// Lanes run across iterations. Where an inner loop goes along a row of each lane's own, as in the sums of rows, each
// turn would gather from, or scatter to, as many rows as there are lanes. Such an inner loop is cut into blocks here.
// Before each block, its part of every row is loaded as whole vectors, transposed in registers, and kept in a buffer on
// the stack, in which the elements of one turn are a vector. The loop itself reads the buffer, so that every sum stays
// in its order. Its stores go to a buffer too, which is transposed back to the rows behind the block. Where a row
// that is written overlaps one that is read ahead, a block is one turn.
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/spmd/vectorize.h"

namespace llvm {
class Instruction;
class Module;
}  // namespace llvm

namespace dhpvm::codegen::spmd {

// Changes the prepared function `scalar`, which only `vectorize` understands then, and only with options.width lanes.
// Returns how many operands are staged; 0 where nothing is changed. Where the function's rows are done together
// (row_tiles.h), `row` is the argument with their index, and only what they share is staged.
unsigned stage_operands(llvm::Function& scalar, const SpmdOptions& options, std::optional<unsigned> row);

// The calls that it puts in:
//   ptr kStagingBuffer(i64 number, i64 bytes)                   the buffer of an operand
//   void kFillFromRows.iN(ptr buffer, ptr row, i64 turns)       a block of N-bit elements of each lane's row
//   T kStagedLoad.T(ptr buffer, i64 turn)                       each lane's element of one turn
//   void kStagedStore.T(ptr buffer, i64 turn, T value)
//   void kDrainToRows.iN(ptr buffer, ptr row, i64 turns)        from the buffer to each lane's row
//   i1 kInAllLanes(i1)                                          whether it is true in all active lanes
constexpr const char* kStagingBuffer = "dhpvm.staging.buffer";
constexpr const char* kFillFromRows = "dhpvm.fill.from.rows";
constexpr const char* kStagedLoad = "dhpvm.staged.load";
constexpr const char* kStagedStore = "dhpvm.staged.store";
constexpr const char* kDrainToRows = "dhpvm.drain.to.rows";
constexpr const char* kInAllLanes = "dhpvm.in.all.lanes";
bool calls(const llvm::Instruction& instruction, const char* name);

// The most bytes of a row in a block.
constexpr std::uint64_t kStagedRowBytes = 4096;

// An attribute of calls in vectorised code that are the same for all rows of a tile, and are done once.
constexpr const char* kOnceForAllRows = "once-for-all-rows";

enum class RowCopy : std::uint8_t { kFill, kDrain };
struct RowCopyForm {
  RowCopy direction = RowCopy::kFill;
  unsigned width = 0;        // lanes
  unsigned vector_bits = 0;  // of the target
  unsigned element_bits = 0;
};
// Adds, once, void (ptr buffer, <width x ptr> rows, i64 turns), which fills or drains a buffer, to the module.
llvm::Function* copy_rows(llvm::Module& module, const RowCopyForm& form);

}  // namespace dhpvm::codegen::spmd
