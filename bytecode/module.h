// SPDX-License-Identifier: Apache-2.0
// A module in memory: what the compiler builds, the file holds, the verifier checks, and the virtual machine
// and the code generator read. Plain data; immutable once verified, and then safe to share between threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bytecode/isa.h"
#include "bytecode/kind.h"

namespace dhpvm::bytecode {

constexpr std::uint32_t kNoIndex = 0xffffffff;

// A parameter, result, field or array element: a kind, and for references the static type.
struct ValueType {
  Kind kind = Kind::kI64;
  std::uint32_t type = kNoIndex;  // index into Module::types when kind is kRef
  bool is_ref() const { return kind == Kind::kRef; }
  bool operator==(const ValueType&) const = default;
};

struct Signature {
  std::vector<ValueType> parameters;  // primitives go to P[0..], references to R[0..], each in order
  std::vector<ValueType> results;     // likewise
  bool operator==(const Signature&) const = default;
};

enum class TypeKind : std::uint8_t {
  kString,     // exactly one, always type 0
  kResource,   // exactly one, always type 1: an opaque native object
  kClass,      // fields, implemented interfaces
  kInterface,  // methods
  kStruct,     // fields; the element of an array, or what a StructValue names
  kArray,      // element, rank
  kWeak,       // target
};
constexpr std::uint32_t kStringType = 0;
constexpr std::uint32_t kResourceType = 1;

struct Field {
  std::string name;
  ValueType type;
  std::uint32_t offset = 0;  // filled in by layout()
  bool operator==(const Field&) const = default;
};

// The suffix of a flag's name: the field behind the flag is valid only if the flag is set, as are all fields whose
// names extend its name: "limit?", "limit"; "at?", "at.x", "at.y". In an array's element the name is empty: "?", "" or
// "?", "x", "y".
inline constexpr char kFlagSuffix = '?';

struct Method {
  std::string name;
  Signature signature;  // without the receiver
  bool operator==(const Method&) const = default;
};

// How a class implements one interface: its function for each method, in the interface's order. Each takes the receiver
// as its first reference parameter (typed as the class), then the method's parameters.
struct Implementation {
  std::uint32_t interface = 0;
  std::vector<std::uint32_t> functions;
  bool operator==(const Implementation&) const = default;
};

struct Type {
  TypeKind kind = TypeKind::kClass;
  std::string name;                             // "Node", "List<i64>", "[f32, 2]"; for messages
  std::vector<Field> fields;                    // kClass, kStruct
  std::vector<Implementation> implementations;  // kClass, sorted by interface
  std::vector<Method> methods;                  // kInterface
  ValueType element;       // kArray: element; kWeak: target (a reference). A struct element
                           // is {kRef, type of kind kStruct}.
  std::uint8_t rank = 1;   // kArray: 1 to 3
  std::uint32_t size = 0;  // kClass, kStruct: bytes, filled in by layout()
  bool operator==(const Type&) const = default;
};

// Computes Field::offset and Type::size of a class or struct; other types are left alone. The rule, on which
// compiler, verifier and code generator agree:
//   class:  8-byte header, then the references in declaration order, then the primitives in decreasing size,
//           declaration order within a size; the size is rounded up to 8.
//   struct: the same without a header; the size is rounded up to the largest alignment in it; an empty one
//           takes 1 byte.
void layout(Type& type);

struct LocalArray {
  Kind kind = Kind::kF32;  // not kRef
  std::uint32_t count = 0;
  bool operator==(const LocalArray&) const = default;
};

// A position in the source: from `pc` (a word offset inside the function) on, until the next entry.
struct Line {
  std::uint32_t pc = 0;
  std::uint32_t file = kNoIndex;  // index into Module::strings
  std::uint32_t line = 0;         // 1-based
  std::uint32_t column = 0;       // 1-based; 0 when unknown
  bool operator==(const Line&) const = default;
};

// Consecutive parameters or results that are one value in the program: the fields of a struct, a tuple, or a nullable
// value that is not a reference. For hosts that call by name; executors ignore it.
struct StructValue {
  std::uint32_t first = 0;  // of the parameters, behind which the results are counted on
  std::uint32_t type = 0;   // kStruct: its fields are the values
  bool operator==(const StructValue&) const = default;
};

struct Function {
  std::uint32_t name = kNoIndex;  // index into Module::strings; kNoIndex when names were stripped
  Signature signature;
  std::uint16_t primitive_registers = 0;  // size of the P bank, parameters and argument windows included
  std::uint16_t reference_registers = 0;  // size of the R bank
  std::vector<LocalArray> locals;
  bool exported = false;
  std::uint32_t code_offset = 0;          // in words, into Module::code
  std::uint32_t code_size = 0;            // in words
  std::vector<Line> lines;                // sorted by pc; empty when stripped
  std::vector<StructValue> structs = {};  // sorted; of functions that a host can find
  bool operator==(const Function&) const = default;
};

// The suffix of the name of an import that returns failures as values: after the function's results come a message
// (str, null on success) and a code (i64, see FailureCode in vm/native.h).
inline constexpr char kFallibleImport = '!';

// A native function, found by name when the module is linked: "io.write", "host.log", "io.read_text!".
struct Import {
  std::string name;
  Signature signature;
  bool operator==(const Import&) const = default;
};

enum class ReductionOp : std::uint8_t { kAdd, kMul, kMin, kMax, kAnd, kOr, kXor };

struct Reduction {
  ReductionOp op = ReductionOp::kAdd;
  Kind kind = Kind::kF64;  // kBool only with kAnd, kOr, kXor; floating-point only with the first four
  bool operator==(const Reduction&) const = default;
};

// The source names of a kernel's arrays, and its loops over blocks. Optional; no result depends on it.
struct KernelSource {
  struct Array {
    std::uint32_t name = 0;  // a string; empty for an array that the compiler made
    bool is_parts = false;  // element [b, ..] is the part that block b has of element [..] of the named array
    bool operator==(const Array&) const = default;
  };
  std::vector<Array> arrays;  // empty, or one for each captured array
  // If the one dimension counts blocks of iterations (docs/decisions/0041): the P registers that count the iterations
  // in a block, outermost first; otherwise empty.
  std::vector<std::uint16_t> iterated;
  // If `iterated` is not empty: the P register of the captured scalar that holds the number of iterations of the
  // outermost range in a block. The next two hold the low and the high bound of that range.
  std::uint16_t block_rows = 0;
  bool operator==(const KernelSource&) const = default;
};

// One `parallel for`. Its function takes
//   P: index 0 .. index dims-1 (i64), the captured scalars, the accumulators
//   R: the captured arrays
// and returns the new accumulators. It must be pure: see the verifier. It may write the registers of its
// indices and accumulators, but neither captured arrays nor captured scalars; except those scalars that lie
// in P[0 .. accumulators), where the results of several reductions must end up.
//
// The instruction `parallel.for a b k` finds in its window
//   P[a..]: low 0, high 0, .., low dims-1, high dims-1 (i64, half open), the captured scalars, the
//           accumulators
//   R[b..]: the captured arrays
// and leaves the final accumulators in P[a..].
//
// Order of reductions, part of the language so that the bits never depend on the executor: the innermost
// dimension is cut into blocks of kReductionBlock iterations from its low bound on. In a block, iteration j
// (from 0) uses lane j mod kReductionLanes; each lane starts from the identity and takes its iterations in
// order. The lanes then combine pairwise: lane l with lane l + 16, then + 8, 4, 2, 1. The blocks' values, in
// iteration order of (outer dimensions, block), are folded onto the initial accumulator from the left.
struct KernelRecord {
  std::uint32_t function = 0;
  std::uint8_t dimensions = 1;        // 1 to 3
  std::vector<Reduction> reductions;  // one per accumulator
  std::string device_hint;            // `@device("gpu")`, or empty
  std::uint64_t batch_hint = 0;       // `@batch(n)` iterations, or 0
  bool fast_math = false;             // `@fastmath`
  KernelSource source;
  bool operator==(const KernelRecord&) const = default;
};
constexpr std::uint32_t kReductionBlock = 4096;
constexpr std::uint32_t kReductionLanes = 32;

struct Module {
  std::vector<std::string> strings;
  std::vector<Type> types;  // [0] is the string type, [1] the resource type
  std::vector<Import> imports;
  std::vector<Function> functions;
  std::vector<KernelRecord> kernels;
  std::vector<Word> code;
  std::uint32_t entry = kNoIndex;  // function `main`: ([str]) -> i32, () -> i32, ([str]) or (); or none

  std::string_view name_of(const Function& function) const {
    return function.name == kNoIndex ? std::string_view("?") : std::string_view(strings[function.name]);
  }
  bool operator==(const Module&) const = default;
};

}  // namespace dhpvm::bytecode
