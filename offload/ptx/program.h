// SPDX-License-Identifier: Apache-2.0
// PTX as it is executed: decoded once into a flat list of operations on numbered registers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"
#include "offload/ptx/memory.h"
#include "offload/ptx/types.h"

namespace dhpvm::ptx {

class Warp;
struct Op;

// One register of all threads of a warp, as bits; narrow types are extended by zeros.
struct alignas(64) Lanes {
  std::array<std::uint64_t, kWarpSize> v;
};
using LaneMask = std::uint32_t;
inline constexpr LaneMask kAllLanes = 0xffffffff;

// Carries out an operation for the lanes of the mask.
using Execute = void (*)(Warp& warp, const Op& op, LaneMask mask);

// The effect of an operation on the control flow of the threads.
enum class Flow : std::uint8_t {
  kPlain,
  kBranch,
  kBranchIndex,
  kCall,
  kReturn,
  kExit,
  kBarrier,
  kConverge,
  kTrap
};

// X(name): the meaning of a modifier, other than types and spaces.
#define DHPVM_PTX_FLAGS(X) \
  X(kFtz)                  \
  X(kSat)                  \
  X(kApprox)               \
  X(kFull)                 \
  X(kHi)                   \
  X(kWide)                 \
  X(kCarryOut)             \
  X(kNan)                  \
  X(kWrap)                 \
  X(kStrong)               \
  X(kNegated)              \
  X(kFrame)                \
  X(kTo)                   \
  X(kRelu)                 \
  X(kShiftAmount)          \
  X(kShortAddress)
enum class FlagBit : std::uint8_t {
#define X(name) name,
  DHPVM_PTX_FLAGS(X)
#undef X
};
constexpr std::uint32_t bit_of(FlagBit flag) { return 1U << static_cast<unsigned>(flag); }

// Slots of constant predicates and of absent operands.
inline constexpr std::int32_t kFalse = -1;
inline constexpr std::int32_t kTrue = -2;
inline constexpr std::int32_t kNoSlot = -3;  // of a result that is dropped, or a guard that is not there

struct Op {
  Execute execute = nullptr;
  std::array<std::int32_t, 4> to = {kNoSlot, kNoSlot, kNoSlot, kNoSlot};
  std::array<std::int32_t, 5> from = {};  // below 0: the constant ~n
  std::int32_t guard = kNoSlot;
  bool guard_negated = false;
  Flow flow = Flow::kPlain;
  Type type = Type::kNone;
  Type from_type = Type::kNone;
  Space space = Space::kGeneric;
  Rounding rounding = Rounding::kNone;
  std::uint8_t mode = 0;   // comparison, kind of atomic, vote or shuffle
  std::uint8_t logic = 0;  // how setp combines: and, or, xor
  std::uint8_t count = 1;  // of a vector
  std::uint8_t width = 8;  // bytes of the result's register
  std::uint32_t flags = 0;
  std::uint32_t target = 0;  // operation, call, or table
  std::int64_t offset = 0;
  Place at;

  bool has(FlagBit flag) const { return (flags & bit_of(flag)) != 0; }
};

// A variable of the caller that a call copies, and where it lies in the caller's frame.
struct Passed {
  std::uint32_t place = 0;
  std::uint32_t bytes = 0;
};
struct CallSite {
  bool is_indirect = false;  // the function is in a register
  std::uint32_t function = 0;
  std::vector<Passed> arguments;
  std::vector<Passed> results;
};

struct Variable {
  std::string name;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  Type type = Type::kNone;  // of the elements
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_defined = false;
  std::uint32_t begin = 0;
  std::uint32_t registers = 0;
  std::uint32_t predicates = 0;
  std::uint32_t local_bytes = 0;
  std::vector<Variable> parameters;  // of an entry: in the launch's bytes, otherwise in the frame
  std::vector<Variable> results;
  Extent required_block = {0, 0, 0};  // zeros: none
  Extent largest_block = {0, 0, 0};
};

struct Program {
  std::vector<Op> ops;
  std::vector<Function> functions;
  std::vector<CallSite> calls;
  std::vector<std::vector<std::uint32_t>> tables;
  std::vector<Lanes> constants;
  std::uint32_t shared_bytes = 0;
  std::shared_ptr<Allocation> globals;  // null: none

  const Function* find_entry(std::string_view name) const;
};

// Errors are kCompile or kUnsupported: "line:column: message".
Result<std::shared_ptr<const Program>> assemble(std::string_view text);

}  // namespace dhpvm::ptx
