// SPDX-License-Identifier: Apache-2.0
// The effects of a kernel on the arrays it captures, found by reading its bytecode once: every access with its
// index as an expression in the iteration indices, the captured scalars and the sizes of arrays. With the
// numbers of one execution (range.h) the expressions give ranges: which accesses cannot fail, and which
// elements a chunk of iterations needs.
//
// Nothing here is trusted from the file; and code that is not understood is called unknown, never guessed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bytecode/module.h"
#include "offload/loops/symbolic.h"

namespace dhpvm::offload {

enum class AccessKind : std::uint8_t {
  kRead,
  kWrite,
  kAtomic,
  kIndex,      // index2, index3: the check of each index against its dimension
  kLength,     // array.length, array.dim: fails for null only
  kLocalRead,  // of a local array
  kLocalWrite,
};

// An instruction that may fail, as reached through one chain of calls.
struct Access {
  AccessKind kind = AccessKind::kRead;
  // That it cannot fail follows from numbers that are known before the loop: `cannot_fail` of range.h will
  // tell. Other accesses depend on data, or are too hard.
  bool provable = false;
  std::uint32_t chain = 0;     // into Footprint::chains
  std::uint32_t function = 0;  // in which it stands
  std::uint32_t pc = 0;        // word offset in Module::code
  // The captured array; for kLocalRead and kLocalWrite the local one; kNothing when it may be any of several.
  std::uint32_t array = kNothing;
  std::uint32_t local_size = 0;  // elements of the local array
  std::uint32_t field = 0;       // of an element that is a structure: where in it, in bytes
  std::uint32_t indices = 1;     // how many: 2 and 3 for index2 and index3, 0 for kLength
  std::array<PolynomialId, 3> index = {kNothing, kNothing, kNothing};
  FactId facts = kNothing;  // known where the instruction stands
  // The index is the result of this access, an index2 or index3 on the same array: where that has been
  // checked, and the whole array may be accessed, this one cannot fail either.
  std::uint32_t checked_by = kNothing;
  bool old_value_used = false;  // kAtomic
  bool always = false;          // done at least once by every iteration that comes to its end

  // Whether `cannot_fail` of range.h may be asked.
  bool may_be_proven() const { return provable || checked_by != kNothing; }
};

// The way to a function: from where in which chain it is called. Chain 0 is the kernel's own function.
struct CallChain {
  std::uint32_t caller = kNothing;   // chain
  std::uint32_t call_pc = kNothing;  // word offset of the call in Module::code
};

// The role of an array when the outermost dimension is cut into chunks.
enum class ArrayClass : std::uint8_t {
  kUnused,
  kBroadcast,  // read only, at positions that do not depend on the chunk
  kSliced,     // each chunk has a range of elements that moves with it, known beforehand
  kReduced,  // only updated, by one commutative atomic operation: chunks may work on copies and combine them
  kScattered,  // anywhere
};

struct ArrayUse {
  ArrayClass kind = ArrayClass::kUnused;
  bool is_read = false;
  bool is_written = false;
  bool is_updated = false;  // atomically
  std::size_t fields = 1;   // of an element
  // Why it is of this class, with source lines: "read at positions that depend on data (line 12)".
  std::string reason;
};

struct Footprint {
  // False when the kernel was not understood as a whole: then no access is provable, and every array
  // scattered.
  bool complete = false;
  std::string incomplete_reason;
  bool has_inner_loops = false;  // so that an iteration may take any time; if it is complete
  unsigned dimensions = 1;
  std::uint32_t scalars = 0;      // captured
  std::vector<ArrayUse> arrays;   // one per captured array
  std::vector<Access> accesses;   // in the order of the code, callees in place of their calls; see find()
  std::vector<CallChain> chains;  // [0] is the kernel's function
  Symbols symbols;
  AtomId outer_index = kNothing;       // the index of the outermost dimension
  std::vector<AtomId> relevant_atoms;  // those on which accesses depend, ascending

  // The access at `pc` in `chain`, or kNothing: code that cannot be reached has none. An index into
  // `accesses`.
  std::uint32_t find(std::uint32_t chain, std::uint32_t pc) const;
  // The chain of the call at `call_pc` in `chain`, or kNothing.
  std::uint32_t callee(std::uint32_t chain, std::uint32_t call_pc) const;
};

// `module` is verified. Takes time in proportion to the code of the kernel with its callees put in place, up
// to a limit beyond which the footprint is incomplete.
Footprint analyse(const bytecode::Module& module, const bytecode::KernelRecord& kernel);

// Where an access stands, for people: "line 12", or the function where lines were stripped.
std::string place(const bytecode::Module& module, const Access& access);

}  // namespace dhpvm::offload
