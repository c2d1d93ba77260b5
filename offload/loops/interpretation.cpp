// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/interpretation.h"

#include <algorithm>

#include "bytecode/decode.h"

namespace dhpvm::offload {
namespace {

using bytecode::DecodeRow;
using bytecode::Family;
using bytecode::kDecode;
using bytecode::Op;
using bytecode::Word;

// Registers copied and instructions visited; some milliseconds. Ordinary kernels need a few thousand.
constexpr std::size_t kMostWork = 4'000'000;
constexpr unsigned kMostCalls = 32;  // nested

Op operation(Word word) { return static_cast<Op>(bytecode::op_of(word)); }

// The number of fields of the array's elements.
std::size_t fields_of(const bytecode::Module& module, const bytecode::ValueType& array) {
  const bytecode::ValueType& element = module.types[array.type].element;
  return element.is_ref() ? module.types[element.type].fields.size() : 1;
}

}  // namespace

Value wide_value(PolynomialId polynomial) { return {ValueKind::kWide, true, polynomial}; }
Value narrow_value(PolynomialId polynomial) { return {ValueKind::kNarrow, true, polynomial}; }

void Interpretation::run() {
  const bytecode::Function& function = module_.functions[kernel_.function];
  const std::uint32_t primitives = count_primitives(function.signature.parameters);
  const auto arrays = static_cast<std::uint32_t>(function.signature.parameters.size()) - primitives;
  footprint_.dimensions = kernel_.dimensions;
  footprint_.scalars =
      primitives - kernel_.dimensions - static_cast<std::uint32_t>(kernel_.reductions.size());
  for (const bytecode::ValueType& parameter : function.signature.parameters) {
    if (parameter.is_ref()) footprint_.arrays.emplace_back().fields = fields_of(module_, parameter);
  }
  footprint_.chains = {CallChain{}};
  State state;
  for (std::uint32_t i = 0; i < footprint_.dimensions + footprint_.scalars; ++i) {
    Atom atom;
    atom.kind = i < footprint_.dimensions ? AtomKind::kIndex : AtomKind::kScalar;
    atom.number = i < footprint_.dimensions ? i : i - footprint_.dimensions;
    state.p.push_back(wide_value(symbols_.of_atom(symbols_.shared(atom))));
  }
  for (std::uint32_t i = 0; i < arrays; ++i) state.r.push_back(i);
  walk(kernel_.function, 0, true, std::move(state), 0);
  footprint_.complete = !failed_;
}

bool Interpretation::give_up(const char* reason) {
  if (!failed_) footprint_.incomplete_reason = reason;
  failed_ = true;
  return false;
}

bool Interpretation::spend(std::size_t cost) {
  spent_ += cost;
  return !failed_ && (spent_ <= kMostWork || give_up("the kernel is too large to analyse"));
}

// From the function's entry to its returns: the state there, its registers the results; nothing if it never
// returns.
std::optional<Interpretation::State> Interpretation::walk(std::uint32_t id, std::uint32_t chain, bool always,
                                                          State state, unsigned depth) {
  const bytecode::Function& function = module_.functions[id];
  if (depth > kMostCalls) {
    give_up("its calls are nested too deeply to analyse");
    return std::nullopt;
  }
  std::unique_ptr<Liveness>& liveness = liveness_[id];
  if (liveness == nullptr) {
    if (!spend(std::size_t{function.code_size} * (function.primitive_registers / 64 + 4)))
      return std::nullopt;
    liveness = std::make_unique<Liveness>(module_, id);
  }
  Frame frame{id, chain, always, liveness.get(), {}, {}, {}};
  state.p.resize(function.primitive_registers);
  state.r.resize(function.reference_registers, kNothing);
  const Word* const code = module_.code.data() + function.code_offset;
  for (std::uint32_t pc = 0; pc < function.code_size; pc += kDecode[bytecode::op_of(code[pc])].words) {
    if (auto found = frame.arriving.find(pc); found != frame.arriving.end()) {
      if (state.reachable) found->second.push_back(std::move(state));
      state = merge(std::move(found->second), &frame, pc);
      frame.arriving.erase(found);
    }
    if (!state.reachable) continue;
    if (frame.liveness->is_header(pc)) enter_loop(frame, pc, state);
    if (!spend(1)) return std::nullopt;
    step(frame, state, pc, depth);
    if (failed_) return std::nullopt;
  }
  if (frame.returns.empty()) return std::nullopt;
  return merge(std::move(frame.returns), nullptr, 0);
}

// Keeps what holds in every one of the states. Without a frame all registers count, else those that are live at
// `pc`.
Interpretation::State Interpretation::merge(std::vector<State> states, const Frame* frame, std::uint32_t pc) {
  State merged = std::move(states.back());
  if (states.size() == 1 || !spend(states.size() * merged.p.size())) return merged;
  states.pop_back();
  const FactId last_facts = merged.facts;
  for (const State& state : states) merged.facts = symbols_.common(merged.facts, state.facts);
  for (std::size_t reg = 0; reg < merged.p.size(); ++reg) {
    Value& value = merged.p[reg];
    if (std::ranges::all_of(states, [&](const State& s) { return s.p[reg] == value; })) continue;
    if (frame != nullptr && !frame->liveness->live_at(pc, static_cast<std::uint32_t>(reg))) {
      value = {};
      continue;
    }
    std::vector<Incoming> incoming{{value, last_facts}};
    for (const State& state : states) incoming.push_back({state.p[reg], state.facts});
    value = join(std::move(incoming));
  }
  for (std::size_t reg = 0; reg < merged.r.size(); ++reg) {
    for (const State& state : states) {
      if (state.r[reg] != merged.r[reg]) merged.r[reg] = kNothing;
    }
  }
  return merged;
}

Value Interpretation::join(std::vector<Incoming> incoming) {
  // Deeper ones are named in between, which keeps the recursions over them short.
  constexpr unsigned kMostNested = 8;
  Join made;
  bool is_known = false;
  for (Incoming& one : incoming) {
    use_old_value(one.value);
    one.value.index_check = one.value.old_of = kNothing;
    is_known = is_known || one.value.kind != ValueKind::kUnknown;
    if (one.value.kind != ValueKind::kJoined) continue;
    if (joins_[one.value.id].depth >= kMostNested)
      one.value = wide_value(wide(one.value));
    else
      made.depth = std::max(made.depth, joins_[one.value.id].depth + 1);
  }
  if (!is_known) return {};
  made.incoming = std::move(incoming);
  joins_.push_back(std::move(made));
  return {ValueKind::kJoined, true, static_cast<std::uint32_t>(joins_.size() - 1)};
}

void Interpretation::arrive(Frame& frame, std::uint32_t pc, std::uint32_t target, State state,
                            PolynomialId limit) {
  if (target > pc) {
    if (spend(state.p.size())) frame.arriving[target].push_back(std::move(state));
    return;
  }
  const Word word = module_.code[module_.functions[frame.function].code_offset + pc];
  take_back_edge(frame, target, state, limit == kNothing ? kNothing : bytecode::a_of(word), limit);
}

void Interpretation::step(Frame& frame, State& state, std::uint32_t pc, unsigned depth) {
  const bytecode::Function& function = module_.functions[frame.function];
  const Word* const code = module_.code.data() + function.code_offset;
  const Word word = code[pc];
  const DecodeRow& row = kDecode[bytecode::op_of(word)];
  const Word x = row.words == 2 ? code[pc + 1] : 0;
  const std::uint16_t a = bytecode::a_of(word);
  if ((row.reads & bytecode::kInA) != 0) use_old_value(state.p[a]);
  if ((row.reads & bytecode::kInB) != 0) use_old_value(state.p[bytecode::b_of(word)]);
  if ((row.reads & bytecode::kInC) != 0) use_old_value(state.p[bytecode::c_of(word)]);
  if ((row.reads & bytecode::kInX0) != 0) use_old_value(state.p[bytecode::x0_of(x)]);
  if ((row.reads & bytecode::kInX1) != 0) use_old_value(state.p[bytecode::x1_of(x)]);
  switch (row.family) {
    case Family::kCall: call(frame, state, pc, depth); return;
    case Family::kReturn:
    case Family::kReturnR:
    case Family::kReturnP: {
      const std::uint32_t results = count_primitives(function.signature.results);
      if (row.family == Family::kReturnP) state.p[0] = state.p[a];
      for (std::uint32_t i = 0; i < results; ++i) use_old_value(state.p[i]);
      state.p.resize(results);
      state.r.clear();
      frame.returns.push_back(std::move(state));
      state = {};
      state.reachable = false;
      return;
    }
    case Family::kMoveR: state.r[a] = state.r[bytecode::b_of(word)]; return;
    case Family::kTrap: state.reachable = false; return;
    default: break;
  }
  if (!row.is_plain) {
    access(frame, state, pc);
  } else if (branch_target(word, pc) != bytecode::kNoIndex) {
    branch(frame, state, pc);
  } else if (row.writes != 0) {
    state.p[a] = row.x == bytecode::Operand::kImm64
                     ? wide_value(symbols_.constant(static_cast<std::int64_t>(x)))
                     : computed(state, operation(word), word);
  }
}

void Interpretation::branch(Frame& frame, State& state, std::uint32_t pc) {
  const Word word = module_.code[module_.functions[frame.function].code_offset + pc];
  const std::uint32_t target = branch_target(word, pc);
  const DecodeRow& row = kDecode[bytecode::op_of(word)];
  if (row.family == Family::kFor) return count_up(frame, state, pc);
  if (row.family == Family::kJump) {
    arrive(frame, pc, target, std::move(state), kNothing);
    state = {};
    state.reachable = false;
    return;
  }
  State taken = state;
  if (row.family == Family::kJumpIf) {
    const bool truth = row.operation == bytecode::Operation::kNe;
    Value& value = state.p[bytecode::a_of(word)];
    const std::optional<FactId> there = assume(value, truth, state.facts);
    const std::optional<FactId> here = assume(value, !truth, state.facts);
    taken.p = state.p;  // assume() may have named values
    taken.reachable = there.has_value();
    state.reachable = here.has_value();
    taken.facts = there.value_or(kNothing);
    state.facts = here.value_or(kNothing);
    if (value.kind == ValueKind::kCondition) {
      taken.p[bytecode::a_of(word)] = wide_value(symbols_.constant(truth ? 1 : 0));
      value = wide_value(symbols_.constant(truth ? 0 : 1));
    }
  } else if (const auto holds = comparison(state, row, word)) {
    taken.p = state.p;
    if (const std::optional<bool> known = decided(*holds)) {
      taken.reachable = *known;
      state.reachable = !*known;
    }
    taken.facts = symbols_.assume(state.facts, *holds);
    state.facts = symbols_.assume(state.facts, negated(*holds));
  }
  if (taken.reachable) arrive(frame, pc, target, std::move(taken), kNothing);
}

void Interpretation::call(Frame& frame, State& state, std::uint32_t pc, unsigned depth) {
  const std::uint32_t base = module_.functions[frame.function].code_offset;
  const Word word = module_.code[base + pc];
  const std::uint32_t callee = bytecode::c_of(word);
  const bytecode::Signature& signature = module_.functions[callee].signature;
  const std::uint32_t primitives = count_primitives(signature.parameters);
  const std::size_t references = signature.parameters.size() - primitives;
  State inside;
  inside.facts = state.facts;
  for (std::uint32_t i = 0; i < primitives; ++i) {
    Value& argument = state.p[bytecode::a_of(word) + i];
    use_old_value(argument);
    inside.p.push_back(argument);
  }
  for (std::size_t i = 0; i < references; ++i) inside.r.push_back(state.r[bytecode::b_of(word) + i]);
  const auto chain = static_cast<std::uint32_t>(footprint_.chains.size());
  footprint_.chains.push_back({frame.chain, base + pc});
  std::optional<State> after = walk(callee, chain, frame.always_passes(pc), std::move(inside), depth + 1);
  if (!after) {
    state.reachable = false;
    return;
  }
  std::fill(state.p.begin() + bytecode::a_of(word), state.p.end(), Value{});
  std::copy(after->p.begin(), after->p.end(), state.p.begin() + bytecode::a_of(word));
  std::fill(state.r.begin() + bytecode::b_of(word), state.r.end(), kNothing);
  state.facts = after->facts;
}

}  // namespace dhpvm::offload
