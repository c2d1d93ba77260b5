// SPDX-License-Identifier: Apache-2.0
// The abstract interpretation that collects a kernel's accesses: every register has a symbolic value, calls are
// entered, and each instruction is visited once per chain of calls. One visit is enough because only back-edges of
// loops go backwards in bytecode. Registers that a loop writes get a new name at its header, an atom of kind
// kInduction, which is completed when the walk comes to the back-edges.
#pragma once

#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "bytecode/decode.h"
#include "offload/loops/footprint.h"
#include "offload/loops/liveness.h"

namespace dhpvm::offload {

enum class ValueKind : std::uint8_t {
  kUnknown,
  kWide,       // the register is `id`, a polynomial, modulo 2^64
  kNarrow,     // its low 32 bits are `id` modulo 2^32
  kCondition,  // 1 if comparison `id` holds, otherwise 0
  kJoined,     // a different value on each path: join `id`
};

struct Value {
  ValueKind kind = ValueKind::kUnknown;
  bool zero_extended = true;  // kNarrow: the upper 32 bits are 0
  std::uint32_t id = kNothing;
  std::uint32_t index_check = kNothing;  // the access, an index2 or index3, whose result this is
  std::uint32_t old_of = kNothing;       // the access, an atomic update, whose result this is
  bool operator==(const Value&) const = default;
};

class Interpretation {
 public:
  Interpretation(const bytecode::Module& module, const bytecode::KernelRecord& kernel, Footprint& footprint)
      : module_(module), kernel_(kernel), footprint_(footprint), symbols_(footprint.symbols) {}
  // Fills in the accesses and chains, and sets footprint.complete if the whole kernel was understood.
  void run();

 private:
  struct State {
    bool reachable = true;
    std::vector<Value> p;
    std::vector<std::uint32_t> r;  // captured array, or kNothing
    FactId facts = kNothing;
  };
  struct Incoming {
    Value value;
    FactId facts;
  };
  struct Join {
    std::vector<Incoming> incoming;
    unsigned depth = 1;            // of nested joins
    PolynomialId wide = kNothing;  // made when first needed, like `narrow`
    PolynomialId narrow = kNothing;
  };
  struct Frame {
    std::uint32_t function;
    std::uint32_t chain;
    bool always;  // every iteration calls it here
    const Liveness* liveness;
    std::map<std::uint32_t, std::vector<State>> arriving;  // by pc
    // For each header of a loop, the registers that were given a new name there.
    std::map<std::uint32_t, std::vector<std::pair<std::uint16_t, AtomId>>> loops;
    std::vector<State> returns;

    // Whether every call of the function passes `pc`, at which the walk is now. The walk goes through the code in
    // ascending order, so a path around `pc` has either returned already, or has an arrival behind `pc`.
    bool always_passes(std::uint32_t pc) const {
      return always && returns.empty() && (arriving.empty() || std::prev(arriving.end())->first <= pc);
    }
  };

  // interpretation.cpp: the way through the code
  bool give_up(const char* reason);
  bool spend(std::size_t cost);
  std::optional<State> walk(std::uint32_t function, std::uint32_t chain, bool always, State state,
                            unsigned depth);
  State merge(std::vector<State> states, const Frame* frame, std::uint32_t pc);
  Value join(std::vector<Incoming> incoming);
  void arrive(Frame& frame, std::uint32_t pc, std::uint32_t target, State state, PolynomialId limit);
  void step(Frame& frame, State& state, std::uint32_t pc, unsigned depth);
  void branch(Frame& frame, State& state, std::uint32_t pc);
  void call(Frame& frame, State& state, std::uint32_t pc, unsigned depth);

  // interpretation_loops.cpp
  std::vector<bool> written_in_loop(const Frame& frame, std::uint32_t header, std::vector<bool>& narrow);
  void enter_loop(Frame& frame, std::uint32_t header, State& state);
  void take_back_edge(Frame& frame, std::uint32_t header, State& state, std::uint32_t counter,
                      PolynomialId limit);
  void add_alternative(AtomId atom, const Incoming& incoming, PolynomialId limit, unsigned depth);
  void count_up(Frame& frame, State& state, std::uint32_t pc);

  // interpretation_values.cpp: registers as expressions
  class Computation;
  PolynomialId wide(Value& value);
  PolynomialId narrow(Value& value);
  PolynomialId signed32(Value& value) { return wrap32(narrow(value)); }
  PolynomialId unsigned32(Value& value) { return symbols_.wrap(narrow(value), 0, 0xffffffff); }
  PolynomialId wrap32(PolynomialId p) { return symbols_.wrap(p, -0x80000000ll, 0x7fffffff); }
  PolynomialId joined(std::uint32_t join, bool narrow_view);
  PolynomialId opaque(std::int64_t low, std::int64_t high);
  Value computed(State& state, bytecode::Op op, bytecode::Word word);
  std::optional<Comparison> comparison(State& state, const bytecode::DecodeRow& row, bytecode::Word word);
  std::optional<bool> decided(const Comparison& comparison) const;
  // The facts that hold if the bool in `value` is `truth`; nothing if it cannot be.
  std::optional<FactId> assume(Value& value, bool truth, FactId facts, unsigned depth = 0);

  // interpretation_accesses.cpp: instructions on arrays
  void access(Frame& frame, State& state, std::uint32_t pc);
  Access& add_access(const Frame& frame, const State& state, std::uint32_t pc, AccessKind kind);
  // The value that the instruction of access `number` writes; `dimension` is the operand of array.dim.
  Value result_of(std::uint32_t number, const bytecode::DecodeRow& row, std::uint16_t dimension);
  void use_old_value(const Value& value);

  const bytecode::Module& module_;
  const bytecode::KernelRecord& kernel_;
  Footprint& footprint_;
  Symbols& symbols_;
  std::vector<Join> joins_;
  std::vector<Comparison> conditions_;
  std::map<std::uint32_t, std::unique_ptr<Liveness>> liveness_;
  std::size_t spent_ = 0;
  bool failed_ = false;
};

Value wide_value(PolynomialId polynomial);
Value narrow_value(PolynomialId polynomial);

}  // namespace dhpvm::offload
