// SPDX-License-Identifier: Apache-2.0
// Staging: transposes operands of inner loops into lane order.
//
// Lanes run across iterations. If an inner loop walks along each lane's own row, as in sums of rows, each turn would
// gather from, or scatter to, as many rows as there are lanes. Staging cuts such an inner loop into blocks. Before each
// block, its part of every row is loaded as whole vectors, transposed in registers, and kept in a buffer on the stack,
// in which the elements of one turn are a vector. The loop itself reads the buffer, so that the order of every sum is
// unchanged. Its stores go to a buffer too, which is transposed back to the rows after the block. If a written row
// overlaps one that is read ahead, a block is one turn. The same is done for rows of iterations (row_loop.h).
//
// If several rows are computed together (row_tiles.h), operands that all rows of the loop read in the inner loop are
// packed into a panel: memory that outlives the function, in which the same lanes of the next rows find them. Packing
// transposes rows, and makes columns, each turn of which may be on a page of its own, contiguous.
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/spmd/vectorize.h"

namespace llvm {
class Instruction;
class Module;
class Value;
}  // namespace llvm

namespace dhpvm::codegen::spmd {

struct StagingOptions {
  const SpmdOptions& spmd;
  // The argument with the index of the rows, if several are computed together: only shared operands are staged.
  std::optional<unsigned> row = std::nullopt;
  // kPanelMemory bytes, aligned to a cache line, the same for the same lanes of all rows; null: no panels.
  llvm::Value* panels = nullptr;
  // The turns of the inner loop are iterations of the parallel loop: none reads elements that another one writes.
  bool turns_are_iterations = false;
};

struct StagedOperands {
  unsigned blocks = 0;  // operands that are transposed in each row, block by block
  unsigned panels = 0;  // operands that are packed for all rows
};

// Changes the prepared function `scalar`, which only `vectorize` understands then, and only with spmd.width lanes.
StagedOperands stage_operands(llvm::Function& scalar, const StagingOptions& options);

// The calls that it inserts:
//   ptr kStagingBuffer(i64 number, i64 bytes)                   the buffer of an operand
//   void kFillFromRows.iN(ptr buffer, ptr row, i64 turns)       a block of N-bit elements of each lane's row
//   void kPackRows.iN(ptr panel, ptr row, i64 turns)            the same, unless the panel holds it
//   void kPackColumns.iN(ptr panel, ptr column, i64 step, i64 turns)
//                                                               of neighbouring columns, `step` bytes from turn to turn
//   T kStagedLoad.T(ptr buffer, i64 turn)                       each lane's element of one turn
//   void kStagedStore.T(ptr buffer, i64 turn, T value)
//   void kDrainToRows.iN(ptr buffer, ptr row, i64 turns)        from the buffer to each lane's row
//   i1 kInAllLanes(i1)                                          whether it is true in all active lanes
//   iN kLeastInLanes.iN(iN)                                     the least in all active lanes, of numbers without sign
constexpr const char* kStagingBuffer = "dhpvm.staging.buffer";
constexpr const char* kFillFromRows = "dhpvm.fill.from.rows";
constexpr const char* kPackRows = "dhpvm.pack.rows";
constexpr const char* kPackColumns = "dhpvm.pack.columns";
constexpr const char* kStagedLoad = "dhpvm.staged.load";
constexpr const char* kStagedStore = "dhpvm.staged.store";
constexpr const char* kDrainToRows = "dhpvm.drain.to.rows";
constexpr const char* kInAllLanes = "dhpvm.in.all.lanes";
constexpr const char* kLeastInLanes = "dhpvm.least.in.lanes";
bool calls(const llvm::Instruction& instruction, const char* name);

// The limit of a row's bytes in a block.
constexpr std::uint64_t kStagedRowBytes = 4096;

// Panels are consecutive, each with a header that begins with a word: the number of its turns. The rest of the header
// identifies the elements. The caller sets the word to 0 first, because the memory is uninitialised.
constexpr unsigned kMostPanels = 4;
constexpr std::uint64_t kPanelHeaderBytes = 1024;
// For each thread that runs a chunk: the size of an L2 cache.
constexpr std::uint64_t kPanelMemory = (std::uint64_t{1} << 20) + kMostPanels * kPanelHeaderBytes;
constexpr std::uint64_t bytes_of_panel(unsigned panels) {
  return ((kPanelMemory - kMostPanels * kPanelHeaderBytes) / panels) & ~std::uint64_t{4095};
}
constexpr std::uint64_t offset_of_panel(unsigned number, unsigned panels) {
  return number * (kPanelHeaderBytes + bytes_of_panel(panels));
}

// An attribute of calls in vectorised code that are the same for all rows of a tile, and are executed once.
constexpr const char* kOnceForAllRows = "once-for-all-rows";

enum class RowCopy : std::uint8_t { kFill, kDrain };
struct RowCopyForm {
  RowCopy direction = RowCopy::kFill;
  unsigned width = 0;        // lanes
  unsigned vector_bits = 0;  // of the target
  unsigned element_bits = 0;
};
// Adds to the module, once, void (ptr buffer, <width x ptr> rows, i64 turns), which fills or drains a buffer.
llvm::Function* copy_rows(llvm::Module& module, const RowCopyForm& form);
// The same for panels (pack.cpp), unless they hold the requested elements already. Columns: void (ptr panel, ptr of the
// first column, i64 step, i64 turns, i64 with a bit for each lane that has a column).
llvm::Function* pack_rows(llvm::Module& module, const RowCopyForm& form);
llvm::Function* pack_columns(llvm::Module& module, const RowCopyForm& form);

}  // namespace dhpvm::codegen::spmd
