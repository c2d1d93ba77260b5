// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/step_search.h"

#include <utility>

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::kNoIndex;
using bytecode::Op;

namespace {

// Expressions of more than that many operations are not looked through.
constexpr unsigned kMaximumDepth = 8;
// Longer steps than that are none of a program that goes through an array.
constexpr std::int64_t kMaximumFactor = std::int64_t{1} << 31;

std::optional<Step> limited(Step step) {
  if (step.factor == 0) return Step{};
  const bool by_register = step.times != kNoIndex;
  if (by_register ? step.factor != 1 && step.factor != -1
                  : step.factor > kMaximumFactor || step.factor < -kMaximumFactor)
    return std::nullopt;
  return step;
}

std::optional<Step> added(const std::optional<Step>& left, const std::optional<Step>& right,
                          std::int64_t sign) {
  if (!left || !right) return std::nullopt;
  if (right->factor == 0) return left;
  if (left->factor != 0 && left->times != right->times) return std::nullopt;
  return limited({left->factor + sign * right->factor, right->times});
}

std::optional<Step> multiplied(const std::optional<Step>& step, std::int64_t by) {
  if (!step || by > kMaximumFactor || by < -kMaximumFactor) return std::nullopt;
  return limited({step->factor * by, step->times});
}

std::int64_t immediate_of(std::uint16_t operand) { return static_cast<std::int16_t>(operand); }

}  // namespace

StepSearch::StepSearch(const bytecode::Module& module, const bytecode::Function& function, const Flow& flow,
                       InnerLoop& loop, std::vector<bool> always)
    : module_(module), function_(function), flow_(flow), loop_(loop), always_(std::move(always)) {
  for_each_instruction([&](const Instruction& i, std::uint32_t) {
    if (i.row->writes != 0) changed_.insert(i.a);
  });
}

// Rare blocks stand in the careful copy, after which a stretch begins anew.
template <typename Visit>
void StepSearch::for_each_instruction(Visit&& visit) const {
  for (std::uint32_t number = 0; number < flow_.blocks().size(); ++number) {
    if (!loop_.contains[number] || flow_.rare().contains(number)) continue;
    for (std::uint32_t pc = flow_.blocks()[number].begin; pc < flow_.blocks()[number].end;) {
      const Instruction i = decode(module_, function_, pc);
      pc = i.next();
      visit(i, number);
    }
  }
}

// ---- Registers that grow
// -------------------------------------------------------------------------------------------------

void StepSearch::find_inductions() {
  std::map<std::uint32_t, unsigned> writes;
  for_each_instruction([&](const Instruction& i, std::uint32_t) {
    if (i.row->writes != 0) ++writes[i.a];
  });
  std::map<std::uint32_t, Induction> found;
  for_each_instruction([&](const Instruction& i, std::uint32_t block) {
    if (!always_[block] || i.row->writes == 0 || writes[i.a] != 1 || i.has(bytecode::kBackEdge)) return;
    const std::optional<Step> step = step_to(block, i, Place{std::uint32_t{i.a}, 0, 0}, 0);
    if (step && step->factor != 0) found[i.a] = {*step, block, i.pc, blocks_behind(block)};
  });
  loop_.inductions = std::move(found);
}

// As the size of a list that `push` counts up.
void StepSearch::find_moved_fields() {
  std::map<std::uint32_t, unsigned> writes;  // by offset: of any object
  for_each_instruction([&](const Instruction& i, std::uint32_t) {
    if (i.row->family == Family::kPutField) ++writes[i.b];
  });
  for_each_instruction([&](const Instruction& i, std::uint32_t block) {
    if (i.row->family != Family::kPutField || *i.row->kind != bytecode::Kind::kI64) return;
    const auto holder = loop_.written_fields.find(i.pc);
    if (!always_[block] || writes[i.b] != 1 || holder == loop_.written_fields.end()) return;
    const Place place = {std::nullopt, holder->second, i.b};
    const std::optional<Step> step = step_to(block, i.pc, i.c, place, 0);
    if (step && step->factor != 0)
      loop_.moved_fields[{holder->second, i.b}] = {*step, block, i.pc, blocks_behind(block)};
  });
}

// The field that this instruction reads, if it moves on.
const Induction* StepSearch::moved_field(const Instruction& i) const {
  const auto holder = loop_.written_fields.find(i.pc);
  if (holder == loop_.written_fields.end()) return nullptr;
  const auto moved = loop_.moved_fields.find({holder->second, i.c});
  return moved == loop_.moved_fields.end() ? nullptr : &moved->second;
}

// By how much `written`, an instruction of `block`, gives more than the place held at the beginning of the iteration.
std::optional<Step> StepSearch::step_to(std::uint32_t block, const Instruction& written, const Place& from,
                                        unsigned depth) const {
  const auto operand = [&](std::uint32_t reg) { return step_to(block, written.pc, reg, from, depth + 1); };
  // An operand that stays the same, as what is added.
  const auto same = [&](std::uint32_t reg) -> std::optional<Step> {
    const std::optional<Instruction> i = flow_.definition(block, written.pc, reg);
    if (i && i->row->family == Family::kConstant)
      return limited({static_cast<std::int64_t>(constant_bits(*i)), kNoIndex});
    if (i || changed_.contains(reg)) return std::nullopt;
    return Step{1, reg};
  };
  switch (written.op) {
    case Op::kMoveP: return operand(written.b);
    case Op::kAddImmI64: return added(operand(written.b), Step{immediate_of(written.c), kNoIndex}, 1);
    case Op::kAddI64: {
      const std::optional<Step> step = added(operand(written.b), same(written.c), 1);
      return step ? step : added(operand(written.c), same(written.b), 1);
    }
    case Op::kSubI64: return added(operand(written.b), same(written.c), -1);
    default: break;
  }
  if (from.reg || written.row->family != Family::kGetField || written.c != from.offset) return std::nullopt;
  const auto holder = loop_.written_fields.find(written.pc);
  const bool is_place = holder != loop_.written_fields.end() && holder->second == from.holder;
  return is_place ? std::optional(Step{}) : std::nullopt;
}

// The same of register `reg` before the word `pc`.
std::optional<Step> StepSearch::step_to(std::uint32_t block, std::uint32_t pc, std::uint32_t reg,
                                        const Place& from, unsigned depth) const {
  if (depth > kMaximumDepth) return std::nullopt;
  if (const std::optional<Instruction> i = flow_.definition(block, pc, reg))
    return step_to(block, *i, from, depth);
  return from.reg == reg ? std::optional(Step{}) : std::nullopt;
}

// The blocks that control comes to later in the same iteration.
std::vector<bool> StepSearch::blocks_behind(std::uint32_t block) const {
  std::vector<bool> behind(flow_.blocks().size(), false);
  std::vector<std::uint32_t> work = {block};
  while (!work.empty()) {
    const std::uint32_t from = work.back();
    work.pop_back();
    for (const std::uint32_t next : flow_.blocks()[from].successors) {
      if (!loop_.contains[next] || next == loop_.header || flow_.rare().contains(next) || behind[next])
        continue;
      behind[next] = true;
      work.push_back(next);
    }
  }
  return behind;
}

// The growth of register `reg`, as it is before the instruction at `pc`, from one iteration to the next. StripValues
// computes the values that this looks through.
std::optional<Step> StepSearch::growth(std::uint32_t block, std::uint32_t pc, std::uint32_t reg,
                                       unsigned depth) {
  if (depth > kMaximumDepth) return std::nullopt;
  const std::optional<Instruction> i = flow_.definition(block, pc, reg);
  if (i) return growth_of_result(block, *i, depth + 1);
  if (loop_.counted && reg == loop_.counter)
    return loop_.wide ? std::optional(Step{1, kNoIndex}) : std::nullopt;
  if (const auto induction = loop_.inductions.find(reg); induction != loop_.inductions.end())
    return induction->second.step;
  return changed_.contains(reg) ? std::nullopt : std::optional(Step{});
}

std::optional<Step> StepSearch::growth_of_result(std::uint32_t block, const Instruction& i, unsigned depth) {
  const auto operand = [&](std::uint32_t reg) { return growth(block, i.pc, reg, depth); };
  switch (i.row->family) {
    case Family::kMoveP: return operand(i.b);
    case Family::kConstant: return Step{};
    case Family::kGetField: return growth_of_field(i);
    case Family::kArrayLength: return loop_.arrays.contains(i.pc) ? std::optional(Step{}) : std::nullopt;
    case Family::kIndex: return growth_of_index(block, i, depth);
    case Family::kInteger:
    case Family::kShift:
    case Family::kFloat:
    case Family::kCompare:
    case Family::kConvert: break;
    default: return std::nullopt;
  }
  switch (i.op) {
    case Op::kAddImmI64: return operand(i.b);
    case Op::kAddI64: return added(operand(i.b), operand(i.c), 1);
    case Op::kSubI64: return added(operand(i.b), operand(i.c), -1);
    case Op::kMulImmI64: return multiplied(operand(i.b), immediate_of(i.c));
    case Op::kShlImmI64:
      return multiplied(operand(i.b), i.c < 31 ? std::int64_t{1} << i.c : kMaximumFactor + 1);
    default: break;
  }
  if ((i.row->reads & bytecode::kInB) != 0 && operand(i.b) != Step{}) return std::nullopt;
  if ((i.row->reads & bytecode::kInC) != 0 && operand(i.c) != Step{}) return std::nullopt;
  return (i.row->reads & ~(bytecode::kInB | bytecode::kInC)) == 0 ? std::optional(Step{}) : std::nullopt;
}

// The growth of the element's number that index2 or index3 makes.
std::optional<Step> StepSearch::growth_of_index(std::uint32_t block, const Instruction& i, unsigned depth) {
  const bool third = i.op == Op::kIndex3;
  if (!loop_.arrays.contains(i.pc) || growth(block, i.pc, i.c, depth) != Step{}) return std::nullopt;
  if (third && growth(block, i.pc, i.x0(), depth) != Step{}) return std::nullopt;
  return growth(block, i.pc, third ? i.x1() : i.x0(), depth);
}

std::optional<Step> StepSearch::growth_of_field(const Instruction& i) {
  if (const Induction* const moved = moved_field(i)) {
    holders_.insert(loop_.written_fields.at(i.pc));
    return moved->step;
  }
  const auto holder = loop_.fields.find(i.pc);
  if (holder == loop_.fields.end()) return std::nullopt;
  holders_.insert(holder->second);
  return Step{};
}

// ---- Checks
// -------------------------------------------------------------------------------------------------

// By how much both sides of the check come closer to each other in an iteration; negative where only the lower side
// moves, away from the other and towards 0.
std::optional<Step> StepSearch::approach(const BoundCheck& check, std::uint32_t block, std::uint32_t pc) {
  const auto of = [&](const BoundCheck::Side& side) {
    return side.reg == kNoIndex ? std::optional(Step{}) : growth(block, pc, side.reg);
  };
  const std::optional<Step> low = of(check.low);
  const std::optional<Step> high = of(check.high);
  if (!low || !high) return std::nullopt;
  if (check.unequal) {
    constexpr Step kOne = {1, kNoIndex};
    return low == kOne && high == Step{} ? low : std::nullopt;
  }
  if (high->factor == 0) return low->factor >= 0 || !check.with_sign ? low : std::nullopt;
  if (high->factor > 0 || low->factor < 0) return std::nullopt;
  if (low->factor == 0) return Step{-high->factor, high->times};
  if (low->times != kNoIndex || high->times != kNoIndex) return std::nullopt;
  return limited({low->factor - high->factor, kNoIndex});
}

void StepSearch::plus(Sum& sum, const Summand& summand, std::uint64_t factor) {
  const auto place = sum.emplace(summand, 0).first;
  place->second += factor;
  if (place->second == 0) sum.erase(place);
}

void StepSearch::plus_step(Sum& sum, const Step& step) {
  const Summand by =
      step.times == kNoIndex ? Summand(Part::kConstant, 0, 0) : Summand(Part::kRegister, step.times, 0);
  plus(sum, by, static_cast<std::uint64_t>(step.factor));
}

std::optional<StepSearch::Sum> StepSearch::sum(std::uint32_t block, std::uint32_t pc, std::uint32_t reg,
                                               unsigned depth) const {
  if (depth > kMaximumDepth) return std::nullopt;
  const std::optional<Instruction> i = flow_.definition(block, pc, reg);
  Sum result;
  if (!i) {
    const auto induction = loop_.inductions.find(reg);
    const bool counts = loop_.counted && reg == loop_.counter;
    if (induction == loop_.inductions.end() && changed_.contains(reg) && !counts) return std::nullopt;
    plus(result, {Part::kRegister, reg, 0}, 1);
    if (induction != loop_.inductions.end() && induction->second.behind[block])
      plus_step(result, induction->second.step);
    return result;
  }
  switch (i->row->family) {
    case Family::kConstant: plus(result, {Part::kConstant, 0, 0}, constant_bits(*i)); return result;
    case Family::kArrayLength:
      if (!loop_.arrays.contains(i->pc)) return std::nullopt;
      plus(result, {Part::kLength, loop_.arrays.at(i->pc), 0}, 1);
      return result;
    case Family::kGetField: return field_sum(block, *i);
    default: break;
  }
  if (i->op == Op::kMoveP) return sum(block, i->pc, i->b, depth + 1);
  if (i->op != Op::kAddImmI64 && i->op != Op::kAddI64 && i->op != Op::kSubI64) return std::nullopt;
  const std::optional<Sum> left = sum(block, i->pc, i->b, depth + 1);
  if (!left) return std::nullopt;
  result = *left;
  if (i->op == Op::kAddImmI64) {
    plus(result, {Part::kConstant, 0, 0}, static_cast<std::uint64_t>(immediate_of(i->c)));
    return result;
  }
  const std::optional<Sum> right = sum(block, i->pc, i->c, depth + 1);
  if (!right) return std::nullopt;
  for (const auto& [part, factor] : *right) plus(result, part, i->op == Op::kAddI64 ? factor : 0 - factor);
  return result;
}

std::optional<StepSearch::Sum> StepSearch::field_sum(std::uint32_t block, const Instruction& i) const {
  Sum result;
  if (const Induction* const moved = moved_field(i)) {
    plus(result, {Part::kField, loop_.written_fields.at(i.pc), i.c}, 1);
    if (moved->comes_before(block, i.pc)) plus_step(result, moved->step);
    return result;
  }
  const auto holder = loop_.fields.find(i.pc);
  if (holder == loop_.fields.end()) return std::nullopt;
  plus(result, {Part::kField, holder->second, i.c}, 1);
  return result;
}

// The check of the instruction, as far as it can be told for many iterations.
StepSearch::Found StepSearch::look_at(std::uint32_t block, const Instruction& i) {
  constexpr std::uint32_t kNoArray = kNoIndex;
  holders_.clear();
  Found found;
  const auto side = [&](const BoundCheck::Side& of) -> std::optional<Sum> {
    if (of.reg != kNoIndex) return sum(block, i.pc, of.reg);
    return Sum{{std::tuple(Part::kConstant, 0U, 0U), static_cast<std::uint64_t>(of.constant)}};
  };
  if (const std::optional<BoundCheck> check = flow_.bound_check(loop_, block, i)) {
    found.step = approach(*check, block, i.pc);
    const std::optional<Sum> low = side(check->low);
    const std::optional<Sum> high = side(check->high);
    const std::uint32_t kind =
        (check->strict ? 1U : 0U) + (check->with_sign ? 2U : 0U) + (check->unequal ? 4U : 0U);
    if (low && high) found.key = Key(kNoArray, kind, *low, *high);
    return found;
  }
  const auto array = loop_.arrays.find(i.pc);
  if (array == loop_.arrays.end()) return found;
  std::optional<Sum> index;
  switch (i.row->family) {
    case Family::kLoad:
    case Family::kLoadField:
      found.step = growth(block, i.pc, i.c);
      index = sum(block, i.pc, i.c);
      break;
    case Family::kStore:
    case Family::kStoreField:
      found.step = growth(block, i.pc, i.b);
      index = sum(block, i.pc, i.b);
      break;
    case Family::kIndex: found.step = growth_of_index(block, i); break;
    default: break;
  }
  // Reading and writing alike: an array that may be read may mostly be written.
  if (index) found.key = Key(array->second, 0, *index, {});
  return found;
}

void StepSearch::add(std::uint32_t block, const Instruction& i, Step step) {
  loop_.stepped.push_back({block, i.pc, step});
  wanted_.merge(holders_);
  const std::optional<BoundCheck> check = flow_.bound_check(loop_, block, i);
  ends_by_check_ = ends_by_check_ || (check && check->leaves && step.factor != 0);
  accesses_ = accesses_ || loop_.arrays.contains(i.pc);
}

void StepSearch::run() {
  find_inductions();
  find_moved_fields();
  std::set<Key> checked;
  for_each_instruction([&](const Instruction& i, std::uint32_t block) {
    if (!always_[block]) return;
    const bool is_length = i.row->family == Family::kArrayLength && loop_.arrays.contains(i.pc);
    if (is_length || loop_.taken.contains(i.pc)) {
      loop_.stepped.push_back({block, i.pc, {}});
      return;
    }
    Found found = look_at(block, i);
    if (!found.step) return;
    if (found.key) checked.insert(std::move(*found.key));
    add(block, i, *found.step);
  });
  // Checks of some iterations that every iteration has made already, such as those of the stores of an
  // exchange behind the comparison of both elements.
  for_each_instruction([&](const Instruction& i, std::uint32_t block) {
    if (always_[block] || loop_.taken.contains(i.pc)) return;
    const Found found = look_at(block, i);
    if (found.step && found.key && checked.contains(*found.key)) add(block, i, *found.step);
  });
  // Other loops than counted ones are often short. Those whose number of turns is not known pay for no stretch.
  if (!loop_.counted && !(ends_by_check_ && accesses_)) {
    loop_.stepped.clear();
    loop_.inductions.clear();
    loop_.moved_fields.clear();
    return;
  }
  loop_.paid = true;
  for (const std::uint32_t holder : wanted_) loop_.want(holder);
}

}  // namespace dhpvm::codegen
