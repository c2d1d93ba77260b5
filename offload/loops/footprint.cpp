// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/footprint.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "bytecode/decode.h"
#include "bytecode/isa_text.h"
#include "offload/loops/interpretation.h"
#include "offload/loops/range.h"

namespace dhpvm::offload {
namespace {

using bytecode::Op;

// Larger kernels would take milliseconds each time that numbers are put in.
constexpr std::size_t kMostAtoms = 8192;

// The atoms that an expression depends on, through the definitions of its atoms.
class Dependencies {
 public:
  explicit Dependencies(const Symbols& symbols)
      : symbols_(symbols), atoms_(symbols.atom_count()), facts_(symbols.fact_count()) {}

  void add(PolynomialId id) {
    if (id == kNothing) return;
    for (const Monomial& term : symbols_.polynomial(id).terms) {
      for (const AtomId atom : term.atoms) add_atom(atom);
    }
  }
  // The facts from `facts` up to, and without, `end`.
  void add_facts(FactId facts, FactId end = kNothing) {
    for (; facts != end && facts != kNothing; facts = symbols_.fact(facts).parent) {
      // An earlier walk that reached this fact has seen its parents too.
      if (end == kNothing && facts_[facts]) return;
      if (end == kNothing) facts_[facts] = true;
      add(symbols_.fact(facts).comparison.left);
      add(symbols_.fact(facts).comparison.right);
    }
  }
  // Facts known where an alternative arises belong to the value only as far as they differ between the
  // alternatives, if `choice_only`; for its range all of it counts.
  std::vector<bool> finish(bool choice_only) {
    while (!open_.empty()) {
      const Atom& atom = symbols_.atom(open_.back());
      open_.pop_back();
      // Which element it is says nothing about its value.
      if (choice_only && atom.kind == AtomKind::kElement) continue;
      add(atom.first);
      add(atom.second);
      if (atom.counter != kNothing) add_atom(atom.counter);
      FactId shared = atom.facts;
      if (atom.kind == AtomKind::kJoin && !atom.alternatives.empty()) {
        shared = atom.alternatives[0].facts;
        for (const Alternative& alternative : atom.alternatives)
          shared = symbols_.common(shared, alternative.facts);
      }
      for (const Alternative& alternative : atom.alternatives) {
        add(alternative.value);
        add(alternative.limit);
        add_facts(alternative.facts, choice_only ? shared : kNothing);
      }
      if (!choice_only) add_facts(atom.facts);
    }
    return atoms_;
  }

 private:
  void add_atom(AtomId atom) {
    if (!atoms_[atom]) open_.push_back(atom);
    atoms_[atom] = true;
  }

  const Symbols& symbols_;
  std::vector<bool> atoms_;
  std::vector<bool> facts_;  // seen, with all their parents
  std::vector<AtomId> open_;
};

std::vector<bool> relevant(const Footprint& footprint) {
  Dependencies dependencies(footprint.symbols);
  for (const Access& access : footprint.accesses) {
    for (const PolynomialId index : access.index) dependencies.add(index);
  }
  for (const Access& access : footprint.accesses) dependencies.add_facts(access.facts);
  return dependencies.finish(false);
}

// Whether the elements behind an access are others for other chunks.
bool depends_on_chunk(const Footprint& footprint, const Access& access) {
  Dependencies dependencies(footprint.symbols);
  dependencies.add(access.index[0]);
  return dependencies.finish(true)[footprint.outer_index];
}

// Puts made-up numbers in: an index that is bounded under one of these choices is bounded by known
// quantities, one that never is depends on data. A wrong guess costs speed, never correctness.
void find_promises(Footprint& footprint) {
  constexpr Wide kBoundedBelow = Wide{1} << 40;
  const struct {
    std::int64_t extent;
    std::int64_t scalar;
  } guesses[] = {{100, 100}, {10, 1}, {1000, -1}, {64, 4096}};
  for (const auto& guess : guesses) {
    LoopChunk chunk;
    chunk.space.dimensions = footprint.dimensions;
    chunk.space.high.fill(guess.extent);
    const std::vector<std::uint64_t> scalars(footprint.scalars, static_cast<std::uint64_t>(guess.scalar));
    codegen::KernelArray array;
    std::ranges::fill(array.shape.dims, guess.extent);
    array.shape.length = array.shape.readable = array.shape.writable =
        guess.extent * guess.extent * guess.extent;
    const std::vector<codegen::KernelArray> arrays(footprint.arrays.size(), array);
    chunk.scalars = scalars;
    chunk.arrays = arrays;
    Ranges ranges(footprint, chunk, true);
    for (Access& access : footprint.accesses) {
      if (access.provable) continue;
      bool bounded = access.array != kNothing;
      for (std::uint32_t i = 0; i < access.indices && bounded; ++i)
        bounded =
            ranges.index(access, i).within(-kBoundedBelow, kBoundedBelow) || ranges.index(access, i).empty();
      access.provable = bounded;
    }
  }
}

bool is_commutative(Op op) {
  const bytecode::OpInfo& row = bytecode::info(op);
  return row.kind && !is_float(*row.kind) && row.operation != bytecode::Operation::kExchange &&
         row.operation != bytecode::Operation::kCas;
}

class Classifier {
 public:
  Classifier(const bytecode::Module& module, Footprint& footprint) : module_(module), footprint_(footprint) {
    std::map<PolynomialId, bool> known;
    for (const Access& access : footprint.accesses) {
      // Checks of several indices have some of these expressions too, and are not asked about.
      if (!is_element(access)) {
        depends_.push_back(false);
        continue;
      }
      const auto [found, is_new] = known.emplace(access.index[0], false);
      if (is_new) found->second = depends_on_chunk(footprint, access);
      depends_.push_back(found->second);
    }
  }

  void classify(std::uint32_t array) {
    ArrayUse& use = footprint_.arrays[array];
    const Access* unknown = nullptr;
    const Access* fixed = nullptr;
    const Access* moving = nullptr;
    const Access* changing = nullptr;
    bool is_reduced = true;
    std::optional<Op> update;
    for (std::size_t i = 0; i < footprint_.accesses.size(); ++i) {
      const Access& access = footprint_.accesses[i];
      if (!is_element(access) || (access.array != array && access.array != kNothing)) continue;
      use.is_read = use.is_read || access.kind == AccessKind::kRead;
      use.is_written = use.is_written || access.kind == AccessKind::kWrite;
      use.is_updated = use.is_updated || access.kind == AccessKind::kAtomic;
      if (access.kind != AccessKind::kRead && changing == nullptr) changing = &access;
      if (!access.provable && unknown == nullptr) unknown = &access;
      const Access*& example = depends_[i] ? moving : fixed;
      if (example == nullptr) example = &access;
      const auto op = static_cast<Op>(bytecode::op_of(module_.code[access.pc]));
      is_reduced = is_reduced && access.kind == AccessKind::kAtomic && !access.old_value_used &&
                   is_commutative(op) && update.value_or(op) == op && access.array == array;
      update = op;
    }
    if (fixed == nullptr && moving == nullptr) {
      use.reason = "not accessed";
    } else if (is_reduced) {
      use.kind = ArrayClass::kReduced;
      use.reason =
          fmt::format("only updated by {} ({})", bytecode::mnemonic_of(*update), place(module_, *changing));
    } else if (unknown != nullptr) {
      use.kind = ArrayClass::kScattered;
      use.reason = fmt::format("{} at positions that depend on data, or are too hard to follow ({})",
                               verb(*unknown), place(module_, *unknown));
    } else if (changing == nullptr && fixed != nullptr) {
      use.kind = ArrayClass::kBroadcast;
      use.reason =
          fmt::format("read at positions that are the same for all chunks ({})", place(module_, *fixed));
    } else if (fixed != nullptr) {
      use.kind = ArrayClass::kScattered;
      use.reason =
          fmt::format("{} at positions that are the same for all chunks ({}), and changed by the loop ({})",
                      verb(*fixed), place(module_, *fixed), place(module_, *changing));
    } else {
      use.kind = ArrayClass::kSliced;
      use.reason = fmt::format("{} at positions that move with the outermost index ({})", verb(*moving),
                               place(module_, *moving));
    }
  }

 private:
  static bool is_element(const Access& access) { return access.kind <= AccessKind::kAtomic; }
  static const char* verb(const Access& access) {
    if (access.kind == AccessKind::kRead) return "read";
    return access.kind == AccessKind::kWrite ? "written" : "updated";
  }

  const bytecode::Module& module_;
  Footprint& footprint_;
  std::vector<bool> depends_;  // by access
};

}  // namespace

std::uint32_t Footprint::find(std::uint32_t chain, std::uint32_t pc) const {
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (accesses[i].chain == chain && accesses[i].pc == pc) return static_cast<std::uint32_t>(i);
  }
  return kNothing;
}

std::uint32_t Footprint::callee(std::uint32_t chain, std::uint32_t call_pc) const {
  for (std::size_t i = 0; i < chains.size(); ++i) {
    if (chains[i].caller == chain && chains[i].call_pc == call_pc) return static_cast<std::uint32_t>(i);
  }
  return kNothing;
}

std::string place(const bytecode::Module& module, const Access& access) {
  const bytecode::Function& function = module.functions[access.function];
  const std::uint32_t pc = access.pc - function.code_offset;
  const auto next = std::ranges::upper_bound(function.lines, pc, {}, &bytecode::Line::pc);
  if (next == function.lines.begin() || std::prev(next)->line == 0)
    return fmt::format("in {}", module.name_of(function));
  return fmt::format("line {}", std::prev(next)->line);
}

Footprint analyse(const bytecode::Module& module, const bytecode::KernelRecord& kernel) {
  Footprint footprint;
  Interpretation(module, kernel, footprint).run();
  if (footprint.symbols.atom_count() > kMostAtoms) {
    footprint.complete = false;
    footprint.incomplete_reason = "the kernel is too large to analyse";
  }
  if (!footprint.complete) {
    for (ArrayUse& use : footprint.arrays)
      use = {ArrayClass::kScattered, true, true, true, use.fields, footprint.incomplete_reason};
    return footprint;
  }
  footprint.outer_index = 0;  // the first atom of all
  const std::vector<bool> needed = relevant(footprint);
  for (AtomId atom = 0; atom < needed.size(); ++atom) {
    if (needed[atom]) footprint.relevant_atoms.push_back(atom);
  }
  find_promises(footprint);
  Classifier classifier(module, footprint);
  for (std::uint32_t array = 0; array < footprint.arrays.size(); ++array) classifier.classify(array);
  return footprint;
}

}  // namespace dhpvm::offload
