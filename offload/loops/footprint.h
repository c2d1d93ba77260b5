// SPDX-License-Identifier: Apache-2.0
// The effects of a kernel on the arrays it captures, found by reading its bytecode once: every access with its
// index as an expression in the iteration indices, the captured scalars and the sizes of arrays. With the
// numbers of one execution (range.h) the expressions give ranges: which accesses cannot fail, and which
// elements a chunk of iterations needs.
//
// The analysis trusts nothing in the file. Code that it does not understand is called unknown, never guessed.
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
  // Whether numbers that are known before the loop decide if the access can fail (Ranges::cannot_fail). Other accesses
  // depend on data, or are too complicated.
  bool provable = false;
  std::uint32_t chain = 0;     // into Footprint::chains
  std::uint32_t function = 0;  // in which it stands
  std::uint32_t pc = 0;        // word offset in Module::code
  // The captured array, or for kLocalRead and kLocalWrite the local one; kNothing if it may be one of several.
  std::uint32_t array = kNothing;
  std::uint32_t local_size = 0;  // elements of the local array
  std::uint32_t field = 0;       // the offset in bytes, if elements are structures
  std::uint32_t indices = 1;     // the number of indices: 2 and 3 for index2 and index3, 0 for kLength
  std::array<PolynomialId, 3> index = {kNothing, kNothing, kNothing};
  FactId facts = kNothing;  // known where the instruction stands
  // The access, an index2 or index3 on the same array, whose result is the index of this one. If that access has been
  // checked, and the whole array may be accessed, this one cannot fail.
  std::uint32_t checked_by = kNothing;
  bool old_value_used = false;  // kAtomic
  bool always = false;          // every iteration that ends normally does it at least once

  // Whether `cannot_fail` of range.h may be asked.
  bool may_be_proven() const { return provable || checked_by != kNothing; }
};

// One chain of calls: the chain and the call that lead to a function. Chain 0 is the kernel's own function.
struct CallChain {
  std::uint32_t caller = kNothing;   // chain
  std::uint32_t call_pc = kNothing;  // word offset of the call in Module::code
};

// The role of an array when the outermost dimension is cut into chunks.
enum class ArrayClass : std::uint8_t {
  kUnused,
  kBroadcast,  // read only, at positions that do not depend on the chunk
  kSliced,     // each chunk accesses a range of elements that is known beforehand and moves with the chunk
  kReduced,  // only updated, by one commutative atomic operation: chunks may update copies, which are combined
  kScattered,  // accessed at any position
};

struct ArrayUse {
  ArrayClass kind = ArrayClass::kUnused;
  bool is_read = false;
  bool is_written = false;
  bool is_updated = false;  // atomically
  std::size_t fields = 1;   // of each element
  // Why it is of this class, with source lines: "read at positions that depend on data (line 12)".
  std::string reason;
};

struct Footprint {
  // False if some of the kernel was not understood: then no access is provable, and every array is kScattered.
  bool complete = false;
  std::string incomplete_reason;
  bool has_inner_loops = false;  // an iteration may take any time. Valid if `complete`
  unsigned dimensions = 1;
  std::uint32_t scalars = 0;      // captured
  std::vector<ArrayUse> arrays;   // one per captured array
  std::vector<Access> accesses;   // in the order of the code, callees in place of their calls; see find()
  std::vector<CallChain> chains;  // [0] is the kernel's function
  Symbols symbols;
  AtomId outer_index = kNothing;       // the index of the outermost dimension
  std::vector<AtomId> relevant_atoms;  // the atoms on which accesses depend, ascending

  // The access at `pc` in `chain`, as an index into `accesses`; kNothing if that code cannot be reached.
  std::uint32_t find(std::uint32_t chain, std::uint32_t pc) const;
  // The chain of the call at `call_pc` in `chain`, or kNothing.
  std::uint32_t callee(std::uint32_t chain, std::uint32_t call_pc) const;
};

// `module` must be verified. Takes time in proportion to the code of the kernel with all callees inlined, up to a
// limit beyond which the footprint is incomplete.
Footprint analyse(const bytecode::Module& module, const bytecode::KernelRecord& kernel);

// The place of an access in the source, for messages: "line 12", or the function if lines were stripped.
std::string place(const bytecode::Module& module, const Access& access);

}  // namespace dhpvm::offload
