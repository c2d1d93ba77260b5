// SPDX-License-Identifier: Apache-2.0
// Kernels: that the function of a `parallel for` has the signature its record implies, and that it is pure.
//
// A pure function consists of opcodes marked kKernel and calls only pure functions, without recursion. It cannot
// make, load or drop a reference: its reference registers only ever hold array parameters, so all its stores go to
// those.
#include <algorithm>

#include "base/error.h"
#include "bytecode/isa_text.h"
#include "bytecode/names.h"
#include "bytecode/verify_internal.h"

namespace dhpvm::bytecode::verification {
namespace {

template <typename... Args>
Error refuse(fmt::format_string<Args...> format, Args&&... args) {
  return error(ErrorCode::kUnverified, format, std::forward<Args>(args)...);
}

bool fits(const Reduction& reduction) {
  if (reduction.op > ReductionOp::kXor || reduction.kind >= Kind::kRef) return false;
  const bool bitwise = reduction.op >= ReductionOp::kAnd;
  if (reduction.kind == Kind::kBool) return bitwise;
  return !(bitwise && is_float(reduction.kind));
}

Status verify_source(const Module& m, const KernelRecord& kernel, std::size_t primitives, std::uint32_t id) {
  const KernelSource& source = kernel.source;
  const Function& function = m.functions[kernel.function];
  const std::size_t arrays = function.signature.parameters.size() - primitives;
  if (!source.arrays.empty() && source.arrays.size() != arrays)
    return refuse("kernel {}: {} names for {} arrays", id, source.arrays.size(), arrays);
  for (const KernelSource::Array& array : source.arrays) {
    if (array.name >= m.strings.size()) return refuse("kernel {}: string {} does not exist", id, array.name);
  }
  for (const std::uint16_t counter : source.iterated) {
    if (counter >= function.primitive_registers)
      return refuse("kernel {}: P{} counts no iterations, it is outside the bank", id, counter);
  }
  if (source.iterated.empty()) return {};
  const std::size_t scalars = primitives - kernel.dimensions - kernel.reductions.size();
  if (kernel.dimensions != 1 || source.block_rows < 1 || scalars < 3 || source.block_rows - 1 > scalars - 3)
    return refuse("kernel {}: the bounds of its blocks are not three captured scalars", id);
  return {};
}

Status verify_record(const Facts& facts, Budget& budget, std::uint32_t id) {
  const Module& m = facts.module;
  const KernelRecord& kernel = m.kernels[id];
  if (kernel.function >= m.functions.size())
    return refuse("kernel {}: function {} does not exist", id, kernel.function);
  if (kernel.dimensions < 1 || kernel.dimensions > 3)
    return refuse("kernel {}: {} dimensions, not 1 to 3", id, kernel.dimensions);
  const Signature& signature = m.functions[kernel.function].signature;
  if (!budget.spend(signature.parameters.size())) return refuse("the module has too many kernels to verify");
  std::vector<Kind> primitives;
  for (const ValueType& parameter : signature.parameters) {
    if (!parameter.is_ref()) primitives.push_back(parameter.kind);
  }
  const std::size_t accumulators = kernel.reductions.size();
  if (primitives.size() < kernel.dimensions || primitives.size() - kernel.dimensions < accumulators)
    return refuse("kernel {}: {} has too few parameters for {} indices and {} accumulators", id,
                  function_label(m, kernel.function), kernel.dimensions, accumulators);
  for (std::size_t i = 0; i < kernel.dimensions; ++i) {
    if (primitives[i] != Kind::kI64) return refuse("kernel {}: index parameter {} is not i64", id, i);
  }
  if (signature.results.size() != accumulators)
    return refuse("kernel {}: {} reductions, but {} results", id, accumulators, signature.results.size());
  for (std::size_t i = 0; i < accumulators; ++i) {
    const Reduction& reduction = kernel.reductions[i];
    if (!fits(reduction)) return refuse("kernel {}: reduction {} does not exist for its kind", id, i);
    if (primitives[primitives.size() - accumulators + i] != reduction.kind ||
        signature.results[i] != ValueType{reduction.kind, kNoIndex})
      return refuse("kernel {}: accumulator {} is not {} in parameters and results", id, i,
                    name_of(reduction.kind));
  }
  return verify_source(m, kernel, primitives.size(), id);
}

// The reason why a parallel loop, which has only numbers and arrays of numbers, cannot contain the instruction.
std::string_view why_impure(const DecodeRow& row) {
  if (row.family == Family::kConstString) return "it gives a text, and loops have only numbers and arrays";
  if (row.family == Family::kParallelFor) return "a loop cannot start another";
  switch (row.memory) {
    case Memory::kAnything:
      return "loops may only call functions of the program, and no methods of interfaces";
    case Memory::kAllocates: return "it makes an object";
    case Memory::kReadsObject:
    case Memory::kWritesObject: return "it accesses a field of an object";
    case Memory::kChangesArray: return "it changes an array as a whole";
    default: return "it works with a reference, and loops have only numbers and arrays";
  }
}

// ", line 7" of the source, as far as the line table knows it.
std::string line_text(const Function& function, std::uint32_t pc) {
  const auto next = std::ranges::upper_bound(function.lines, pc, {}, &Line::pc);
  return next == function.lines.begin() ? std::string() : fmt::format(", line {}", std::prev(next)->line);
}

class PurityVerifier {
 public:
  PurityVerifier(const Facts& facts, Budget& budget)
      : facts_(facts),
        m_(facts.module),
        budget_(budget),
        states_(facts.module.functions.size(), State::kUnknown) {}

  Status kernel(std::uint32_t id) {
    const KernelRecord& kernel = m_.kernels[id];
    if (Status status = pure(kernel.function); !status.ok())
      return refuse("kernel {}: {}", id, status.error().message());
    return keeps_captures(id, kernel);
  }

 private:
  enum class State : std::uint8_t { kUnknown, kOpen, kPure };
  struct Visit {
    std::uint32_t function;
    std::uint32_t pc;
  };

  // Depth first through the callees with an explicit stack, because the module determines the depth of the call
  // graph.
  Status pure(std::uint32_t root) {
    if (states_[root] == State::kPure) return {};
    DHPVM_TRY(enter(root));
    while (!stack_.empty()) {
      Visit& visit = stack_.back();
      const Function& function = m_.functions[visit.function];
      std::uint32_t callee = kNoIndex;
      while (visit.pc < function.code_size && callee == kNoIndex) {
        const Word word = m_.code[function.code_offset + visit.pc];
        const DecodeRow& row = kDecode[op_of(word)];
        if ((row.flags & kKernel) == 0)
          return refuse("{}, word {}{}: {} is not allowed in parallel loops: {}",
                        function_label(m_, visit.function), visit.pc, line_text(function, visit.pc),
                        mnemonic_of(static_cast<Op>(op_of(word))), why_impure(row));
        if (row.family == Family::kCall) callee = c_of(word);
        visit.pc += row.words;
      }
      if (callee == kNoIndex) {
        states_[visit.function] = State::kPure;
        stack_.pop_back();
      } else if (states_[callee] == State::kOpen) {
        return refuse("{} is recursive, which is not allowed in parallel loops", function_label(m_, callee));
      } else if (states_[callee] == State::kUnknown) {
        DHPVM_TRY(enter(callee));
      }
    }
    return {};
  }

  Status enter(std::uint32_t id) {
    for (const std::uint32_t reference : facts_.functions[id].in.references) {
      if (!is_plain_array(m_.types[reference]))
        return refuse("{} takes {}, and parallel loops only arrays of primitives or of structs of primitives",
                      function_label(m_, id), facts_.type_name(reference));
    }
    states_[id] = State::kOpen;
    stack_.push_back({id, 0});
    return {};
  }

  bool is_plain_array(const Type& type) const {
    if (type.kind != TypeKind::kArray) return false;
    if (!type.element.is_ref()) return true;
    const Type& element = m_.types[type.element.type];
    return element.kind == TypeKind::kStruct && std::none_of(element.fields.begin(), element.fields.end(),
                                                             [](const Field& f) { return f.type.is_ref(); });
  }

  // Captured scalars and arrays stay as they are, so that an executor may run iteration after iteration in
  // one frame, setting only the indices, the accumulators and the registers that hold results.
  Status keeps_captures(std::uint32_t id, const KernelRecord& kernel) {
    const Function& function = m_.functions[kernel.function];
    const Shape& shape = facts_.functions[kernel.function];
    const auto accumulators = static_cast<std::uint32_t>(kernel.reductions.size());
    const std::uint32_t first = std::max<std::uint32_t>(kernel.dimensions, accumulators);
    const std::uint32_t last = shape.in.primitives - accumulators;
    const auto arrays = static_cast<std::uint32_t>(shape.in.references.size());
    // Many kernels may share one function.
    if (!budget_.spend(function.code_size)) return refuse("the module has too many kernels to verify");
    for (std::uint32_t pc = 0; pc < function.code_size;) {
      const Word word = m_.code[function.code_offset + pc];
      const DecodeRow& row = kDecode[op_of(word)];
      const std::uint16_t a = a_of(word);
      const bool is_call = row.family == Family::kCall;  // clobbers its windows
      const bool writes_scalar =
          first < last && (is_call ? a < last : row.writes != 0 && a >= first && a < last);
      const bool writes_array = is_call ? b_of(word) < arrays : row.ref_writes != 0 && a < arrays;
      if (writes_scalar || writes_array)
        return refuse("kernel {}: {}, word {}: {} overwrites a captured {}", id,
                      function_label(m_, kernel.function), pc, mnemonic_of(static_cast<Op>(op_of(word))),
                      writes_scalar ? "scalar" : "array");
      pc += row.words;
    }
    return {};
  }

  const Facts& facts_;
  const Module& m_;
  Budget& budget_;
  std::vector<State> states_;
  std::vector<Visit> stack_;
};

}  // namespace

Status verify_kernel_records(const Facts& facts, Budget& budget) {
  for (std::uint32_t id = 0; id < facts.module.kernels.size(); ++id)
    DHPVM_TRY(verify_record(facts, budget, id));
  return {};
}

Status verify_kernel_bodies(const Facts& facts, Budget& budget) {
  PurityVerifier verifier(facts, budget);
  for (std::uint32_t id = 0; id < facts.module.kernels.size(); ++id) DHPVM_TRY(verifier.kernel(id));
  return {};
}

}  // namespace dhpvm::bytecode::verification
