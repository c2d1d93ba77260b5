// SPDX-License-Identifier: Apache-2.0
// The parts of the generator of random modules.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/decisions.h"
#include "bytecode/builder.h"
#include "bytecode/generator.h"

namespace dhpvm::bytecode::testing {

// The content of a primitive register. A bool is an i32 that is 0 or 1.
enum class Pool : std::uint8_t { kI32, kI64, kF32, kF64, kBool };
constexpr std::size_t kPools = 5;
Pool pool_of(Kind kind);

// An instruction on primitive registers alone, and the pools of its operands: computations write a,
// conditions branch forward on a (and b).
struct Computation {
  Op op;
  Pool a, b, c, x0;
};
std::vector<Computation> computations(bool approximate_math);
std::vector<Computation> conditions();

// The opcode of a family of accesses for elements or fields of `kind`.
Op access_op(Family family, Kind kind);
// The atomic updates of elements of `kind` whose outcome does not depend on their order, or those where it does.
enum class Order : std::uint8_t { kAny, kMatters };
std::vector<Op> atomic_ops(Kind kind, Order order);

// Everything that functions may use.
struct World {
  ModuleBuilder& module;
  Decisions& choices;
  const GeneratorOptions& options;
  std::vector<Computation> computations;
  std::vector<Computation> conditions;
  std::uint32_t interface = 0;
  std::vector<std::uint32_t> classes;  // all implement the interface
  std::uint32_t weak = 0;              // to classes[0]
  std::vector<std::uint32_t> arrays;   // all arrays, of every rank
  std::uint32_t floats = 0;            // [f64]
  std::uint32_t longs = 0;             // [i64]
  std::uint32_t matrix = 0;            // [f32, 2]
  std::vector<std::uint32_t> types;    // every type that a reference register may have
  std::vector<std::uint32_t> callable;
  std::vector<std::uint32_t> pure;  // of (i64, f64) -> f64
  std::vector<std::uint32_t> natives;
  std::vector<std::uint32_t> kernels;
};

enum class Role : std::uint8_t { kGeneral, kMethod, kPure, kKernel };

// The random body of one function. Registers are set at its start and never change their kind or static type.
class BodyGenerator {
 public:
  BodyGenerator(World& world, std::uint32_t function, Role role);
  void run();
  // A kernel's parameters are its indices, scalars, accumulators; and an array to read, one to write at its
  // own index, one for atomics.
  void run_kernel(const KernelRecord& kernel);

 private:
  struct Reference {
    std::uint32_t type;
    std::uint16_t reg;
  };
  static constexpr std::uint16_t kNone = 0xffff;

  // generator_body.cpp: the frame and the nesting
  void take_parameters(bool writable);
  void initialise();
  void initialise_references();
  void block(std::uint32_t depth);
  void statement(std::uint32_t depth);
  void branch(std::uint32_t depth);
  void protect(std::uint32_t depth);
  void loop(std::uint32_t depth);
  void finish();
  void fold_into(std::uint16_t sum);

  // generator_statements.cpp: one statement each
  void compute();
  void array_access();
  void array_operation();
  void atomic(std::uint16_t array, std::uint32_t type, bool keep_old_value);
  void local_access();
  void object_access();
  void reference_move();
  void type_test();
  void string_operation();
  void call();
  void call_method();
  void call_native();
  void launch();
  void raise();

  // Registers, and values in them.
  std::uint16_t any(Pool pool) { return choices_.pick(pools_[static_cast<std::size_t>(pool)]); }
  std::uint16_t source(Pool pool) { return choices_.pick(sources_[static_cast<std::size_t>(pool)]); }
  void add_register(Pool pool, std::uint16_t reg, bool writable);
  // A register to be read as `pool` says; now and then a wider one.
  std::uint16_t operand(Pool pool);
  std::uint16_t index(std::uint32_t mask);  // an i64, nearly always within 0 to mask
  bool reference_of(TypeKind kind, Reference& found);
  std::uint16_t of_type(std::uint32_t type);  // kNone when there is no such register
  void constant(std::uint16_t reg, Pool pool);
  void new_value(std::uint16_t reg, std::uint32_t type, std::uint32_t extra = 0);
  void mend(const Reference& reference);  // most often, replaces null by an object
  void place_arguments(const Signature& signature, std::uint16_t first_reference);
  void take_results(const Signature& signature);
  std::uint16_t position(std::uint16_t array, std::uint32_t type);
  void access(bool store, std::uint16_t array, std::uint32_t type, std::uint16_t at);
  void emit(Op op, std::uint16_t a = 0, std::uint16_t b = 0, std::uint16_t c = 0) { f_.emit(op, a, b, c); }
  void emit_x(Op op, std::uint16_t a, std::uint16_t b, std::uint16_t c, Word x) { f_.emit(op, a, b, c, x); }

  World& world_;
  Decisions& choices_;
  FunctionBuilder f_;
  Signature signature_;
  Role role_;
  std::int32_t left_;  // statements

  std::array<std::vector<std::uint16_t>, kPools> pools_;    // registers that may be written
  std::array<std::vector<std::uint16_t>, kPools> sources_;  // registers that may be read
  std::vector<std::uint16_t> counters_;                     // of loops: a counter and a limit for each depth
  std::uint16_t scratch_ = 0;                               // the first of three i64 registers for indices
  std::vector<Reference> references_;
  std::vector<LocalArray> locals_;
  std::uint16_t next_p_ = 0;
  std::uint16_t next_r_ = 0;
  std::uint16_t window_p_ = 0;  // nothing lives from here on
  std::uint16_t window_r_ = 0;
  std::uint32_t loops_ = 0;  // around the statement at hand
};

}  // namespace dhpvm::bytecode::testing
