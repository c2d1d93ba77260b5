// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/seen_calls.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "codegen/lower/flow.h"

namespace dhpvm::codegen {

using bytecode::CodeBlock;
using bytecode::Family;
using bytecode::kNoIndex;
using bytecode::Op;
using bytecode::Word;

namespace {

// The number of words outside rare blocks up to which a callee is inlined into the loop.
constexpr std::uint32_t kMaximumWords = 64;
// Branches have 16-bit offsets.
constexpr std::size_t kMaximumFunction = std::numeric_limits<std::int16_t>::max();
// At least as many registers as instructions can name.
constexpr std::uint16_t kTooManyRegisters = std::numeric_limits<std::uint16_t>::max();

// The frequent blocks of a function.
class UsualCode {
 public:
  UsualCode(const bytecode::Module& module, const bytecode::Function& function)
      : module_(module),
        function_(function),
        blocks_(find_blocks(module, function)),
        rare_(module, function, blocks_, ReferenceFacts(module, function, blocks_), kNoSeenCalls) {}

  const std::vector<CodeBlock>& blocks() const { return blocks_; }
  bool is_rare(std::uint32_t block) const { return rare_.contains(block); }
  template <typename Visit>
  void for_each_instruction(std::uint32_t block, Visit&& visit) const {
    for (std::uint32_t pc = blocks_[block].begin; pc < blocks_[block].end;) {
      const Instruction i = decode(module_, function_, pc);
      pc = i.next();
      visit(i);
    }
  }
  bool may_begin_anew() const;

 private:
  bool has_effect(const Instruction& i) const;

  const bytecode::Module& module_;
  const bytecode::Function& function_;
  std::vector<CodeBlock> blocks_;
  RareBlocks rare_;
};

// Whether a loop can inline the instruction: it does not call, collect, loop or catch.
bool is_seen_through(const Instruction& i) {
  switch (i.row->family) {
    case Family::kNop:
    case Family::kJump:
    case Family::kJumpIf:
    case Family::kJumpCompare:
    case Family::kJumpNull:
    case Family::kReturn:
    case Family::kReturnP:
    case Family::kReturnR:
    case Family::kNullCheck:
    case Family::kMoveP:
    case Family::kMoveR:
    case Family::kConstant:
    case Family::kNull:
    case Family::kInteger:
    case Family::kDivide:
    case Family::kShift:
    case Family::kFloat:
    case Family::kCompare:
    case Family::kSameObject:
    case Family::kIsNull:
    case Family::kConvert:
    case Family::kLoad:
    case Family::kStore:
    case Family::kLoadField:
    case Family::kStoreField:
    case Family::kArrayLength:
    case Family::kArrayDim:
    case Family::kIndex:
    case Family::kGetField:
    case Family::kPutField:
    case Family::kUpcast:
    case Family::kCast:
    case Family::kIsType:
    case Family::kStringLength:
    case Family::kStringByte: return !i.has(bytecode::kBackEdge);
    default: return false;
  }
}

// Whether the callee would see the change if it started again: to memory, or its parameters.
bool UsualCode::has_effect(const Instruction& i) const {
  const Split parameters = bytecode::split(function_.signature.parameters);
  return i.row->memory == bytecode::Memory::kWritesElement ||
         i.row->memory == bytecode::Memory::kWritesObject ||
         (i.row->writes != 0 && i.a < parameters.primitives) ||
         (i.row->ref_writes != 0 && i.a < parameters.references);
}

// Whether no check, and no path to a rare block, follows an effect.
bool UsualCode::may_begin_anew() const {
  std::vector<bool> changed(blocks_.size(), false);  // on entry; predecessors come first
  bool ok = true;
  for (std::uint32_t number = 0; number < blocks_.size(); ++number) {
    if (is_rare(number)) {
      ok = ok && !changed[number];
      continue;
    }
    bool effect = changed[number];
    for_each_instruction(number, [&](const Instruction& i) {
      ok = ok && is_seen_through(i) && !(effect && i.has(bytecode::kTraps));
      effect = effect || has_effect(i);
    });
    for (const std::uint32_t next : blocks_[number].successors) changed[next] = changed[next] || effect;
  }
  return ok;
}

bool can_be_seen_through(const bytecode::Module& module, const bytecode::Function& function) {
  // Rare blocks may be long, but not that long.
  if (function.code_size > 4 * kMaximumWords || !function.locals.empty()) return false;
  const UsualCode code(module, function);
  if (code.is_rare(0)) return false;
  std::uint32_t words = 0;
  for (std::uint32_t block = 0; block < code.blocks().size(); ++block) {
    if (!code.is_rare(block)) words += code.blocks()[block].end - code.blocks()[block].begin;
  }
  return words <= kMaximumWords && code.may_begin_anew();
}

// The class of the object in a reference register, if all paths to an instruction make the object, of that class.
class KnownClass {
 public:
  KnownClass(const bytecode::Module& module, const bytecode::Function& function, const Flow& flow)
      : module_(module), function_(function), flow_(flow) {
    for (const Block& block : flow.blocks()) {
      if (block.handler != kNoIndex) handlers_.insert(block.handler);
    }
  }

  // The class of the object in `reg` before the instruction at `pc` of `block`; nothing if it is unknown.
  std::optional<std::uint32_t> of(std::uint32_t block, std::uint32_t pc, std::uint32_t reg) {
    return visit(block, pc, reg) ? type_ : std::nullopt;
  }

 private:
  // Whether only objects of one class reach this point.
  bool visit(std::uint32_t block, std::uint32_t pc, std::uint32_t reg) {
    std::optional<Instruction> found;
    for (std::uint32_t at = flow_.blocks()[block].begin; at < std::min(pc, flow_.blocks()[block].end);) {
      const Instruction i = decode(module_, function_, at);
      for_each_reference_write(module_, i, [&](std::uint32_t written) {
        if (written == reg) found = i;
      });
      at = i.next();
    }
    if (found) {
      if (found->row->family == Family::kMoveR || found->row->family == Family::kUpcast)
        return visit(block, found->pc, found->b);
      if (found->row->family != Family::kNew || (type_ && *type_ != found->type())) return false;
      type_ = found->type();
      return true;
    }
    if (block == 0 || handlers_.contains(block)) return false;
    return std::ranges::all_of(flow_.blocks()[block].predecessors, [&](std::uint32_t from) {
      return !seen_.emplace(from, reg).second || visit(from, kNoIndex, reg);
    });
  }

  const bytecode::Module& module_;
  const bytecode::Function& function_;
  const Flow& flow_;
  std::set<std::uint32_t> handlers_;                        // block numbers
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen_;  // ends of blocks, with a register
  std::optional<std::uint32_t> type_;
};

}  // namespace

std::optional<std::uint32_t> seen_callee(const bytecode::Module& module, const bytecode::Function& function,
                                         const Flow& flow, std::uint32_t block, const Instruction& call) {
  std::optional<std::uint32_t> callee;
  if (call.row->family == Family::kCall) callee = call.c;
  if (call.row->family == Family::kCallInterface) {
    const std::optional<std::uint32_t> type = KnownClass(module, function, flow).of(block, call.pc, call.b);
    if (!type) return std::nullopt;
    const auto& implementations = module.types[*type].implementations;
    const auto found = std::ranges::find(implementations, call.type(), &bytecode::Implementation::interface);
    if (found != implementations.end()) callee = found->functions[call.c];
  }
  return callee && can_be_seen_through(module, module.functions[*callee]) ? callee : std::nullopt;
}

const SeenCalls::Call* SeenCalls::begins_at(std::uint32_t pc) const {
  const auto found = calls_.find(pc);
  return found == calls_.end() ? nullptr : &found->second;
}

std::optional<std::uint32_t> SeenCalls::call_around(std::uint32_t pc) const {
  const auto next = calls_.upper_bound(pc);
  if (next == calls_.begin()) return std::nullopt;
  const Call& call = std::prev(next)->second;
  return pc < call.call ? std::optional(call.call) : std::nullopt;
}

// Rewrites the code of one function with some of its calls inlined.
class CallExpander {
 public:
  CallExpander(const bytecode::Module& module, const bytecode::Function& function)
      : module_(module), function_(function), expanded_(function) {
    seen_.primitive_registers_ = function.primitive_registers;
    seen_.reference_registers_ = function.reference_registers;
  }

  // `calls`: the callees, by word.
  void expand(const std::map<std::uint32_t, std::uint32_t>& calls);

  bytecode::Function& function() { return expanded_; }
  const std::vector<Word>& code() const { return code_; }
  SeenCalls take_seen() { return std::move(seen_); }

 private:
  struct Branch {
    std::uint32_t at = 0;
    std::uint32_t to = 0;
  };

  void push(Word word, std::uint32_t original) {
    code_.push_back(word);
    seen_.original_.push_back(original);
  }
  void copy(const bytecode::Function& from, const Instruction& i, std::uint32_t original);
  std::uint32_t jump(std::uint32_t original);
  void set_target(std::uint32_t at, std::uint32_t target);
  void see_through(const Instruction& call, std::uint32_t target);
  void move_into_window(const Instruction& moved, const Instruction& call);
  std::uint32_t here() const { return static_cast<std::uint32_t>(code_.size()); }

  const bytecode::Module& module_;
  const bytecode::Function& function_;
  bytecode::Function expanded_;
  std::vector<Word> code_;
  SeenCalls seen_;
};

void CallExpander::copy(const bytecode::Function& from, const Instruction& i, std::uint32_t original) {
  for (std::uint32_t word = 0; word < i.row->words; ++word)
    push(module_.code[from.code_offset + i.pc + word], original);
}

// A jump whose target is set later.
std::uint32_t CallExpander::jump(std::uint32_t original) {
  push(bytecode::encode32(Op::kJump, 0, 0), original);
  return here() - 1;
}

void CallExpander::set_target(std::uint32_t at, std::uint32_t target) {
  const Word word = code_[at];
  const auto op = static_cast<Op>(bytecode::op_of(word));
  const std::uint32_t offset = target - at;
  code_[at] = bytecode::info(op).b == bytecode::Operand::kOff32
                  ? bytecode::encode32(op, bytecode::a_of(word), offset)
                  : bytecode::encode(op, bytecode::a_of(word), bytecode::b_of(word),
                                     static_cast<std::uint16_t>(offset));
}

void CallExpander::expand(const std::map<std::uint32_t, std::uint32_t>& calls) {
  std::vector<std::uint32_t> moved(function_.code_size);
  std::vector<Branch> branches;
  for (std::uint32_t pc = 0; pc < function_.code_size;) {
    const Instruction i = decode(module_, function_, pc);
    moved[pc] = here();
    if (i.is_branch()) branches.push_back({here(), i.target()});
    if (const auto call = calls.find(pc); call != calls.end()) {
      see_through(i, call->second);
    } else {
      copy(function_, i, pc);
    }
    pc = i.next();
  }
  for (const Branch& branch : branches) set_target(branch.at, moved[branch.to]);
  expanded_.code_size = here();
}

namespace {

// Moves the instruction's registers into a window.
Word moved_registers(const Instruction& i, std::uint16_t primitives, std::uint16_t references) {
  const unsigned of_primitives = i.row->reads | i.row->writes;
  const unsigned of_references = i.row->ref_reads | i.row->ref_writes;
  const auto by = [&](unsigned position) {
    if ((of_primitives & position) != 0) return std::uint64_t{primitives};
    return (of_references & position) != 0 ? std::uint64_t{references} : 0;
  };
  return by(bytecode::kInA) << 16 | by(bytecode::kInB) << 32 | by(bytecode::kInC) << 48;
}

}  // namespace

// `moved`: a callee's instruction that returns one value.
void CallExpander::move_into_window(const Instruction& moved, const Instruction& call) {
  if (moved.row->family == Family::kReturnP)
    push(bytecode::encode(Op::kMoveP, call.a, static_cast<std::uint16_t>(moved.a + call.a)), call.pc);
  if (moved.row->family == Family::kReturnR)
    push(bytecode::encode(Op::kMoveR, call.b, static_cast<std::uint16_t>(moved.a + call.b)), call.pc);
}

void CallExpander::see_through(const Instruction& call, std::uint32_t target) {
  const bytecode::Function& callee = module_.functions[target];
  const UsualCode code(module_, callee);
  const std::uint32_t begin = here();
  push(bytecode::encode32(Op::kJumpIf, call.a, 0), call.pc);
  std::vector<std::uint32_t> entry(code.blocks().size(), kNoIndex);  // by block of the callee
  std::vector<Branch> branches;                                      // to such blocks
  std::vector<std::uint32_t> returns;
  for (std::uint32_t number = 0; number < code.blocks().size(); ++number) {
    if (code.is_rare(number)) continue;
    entry[number] = here();
    const std::vector<std::uint32_t>& successors = code.blocks()[number].successors;
    bool falls_through = true;
    code.for_each_instruction(number, [&](const Instruction& i) {
      falls_through = !i.has(bytecode::kEndsBlock);
      if (!falls_through && successors.empty()) {
        move_into_window(i, call);
        returns.push_back(jump(call.pc));
        return;
      }
      if (i.is_branch()) branches.push_back({here(), successors.back()});
      copy(callee, i, call.pc);
      const std::uint32_t at = here() - i.row->words;
      code_[at] += moved_registers(i, call.a, call.b);
      if ((i.row->reads & bytecode::kInX0) != 0) code_[at + 1] += Word{call.a};
      if ((i.row->reads & bytecode::kInX1) != 0) code_[at + 1] += Word{call.a} << 16;
    });
    if (falls_through) branches.push_back({jump(call.pc), successors.front()});
  }
  for (const std::uint32_t at : returns) {
    set_target(at, here() + call.row->words);
    seen_.ends_.insert(at);
  }
  for (const Branch& branch : branches)
    set_target(branch.at, code.is_rare(branch.to) ? here() : entry[branch.to]);
  set_target(begin, here());
  seen_.calls_[begin] = {target, here()};
  seen_.call_words_.insert(here());
  copy(function_, call, call.pc);
  const auto grow = [](std::uint16_t& registers, std::uint32_t needed) {
    registers = static_cast<std::uint16_t>(std::clamp<std::uint32_t>(needed, registers, kTooManyRegisters));
  };
  grow(expanded_.primitive_registers, std::uint32_t{call.a} + callee.primitive_registers);
  grow(expanded_.reference_registers, std::uint32_t{call.b} + callee.reference_registers);
}

namespace {

// Calls in loops without other calls: the callees, by word.
std::map<std::uint32_t, std::uint32_t> find_calls(const bytecode::Module& module,
                                                  const bytecode::Function& function) {
  bool calls = false;
  bool loops = false;
  for (std::uint32_t pc = 0; pc < function.code_size;) {
    const Instruction i = decode(module, function, pc);
    calls = calls || i.has(bytecode::kCall);
    loops = loops || i.has(bytecode::kBackEdge);
    pc = i.next();
  }
  std::map<std::uint32_t, std::uint32_t> found;
  if (!calls || !loops) return found;
  const Flow flow(module, function, LoopSearch::kSeeingThrough);
  for (const InnerLoop& loop : flow.loops()) {
    for (std::uint32_t block = 0; block < flow.blocks().size(); ++block) {
      if (!loop.contains[block] || flow.rare().contains(block)) continue;
      for (std::uint32_t pc = flow.blocks()[block].begin; pc < flow.blocks()[block].end;) {
        const Instruction i = decode(module, function, pc);
        if (i.has(bytecode::kCall)) {
          if (const auto callee = seen_callee(module, function, flow, block, i)) found[pc] = *callee;
        }
        pc = i.next();
      }
    }
  }
  return found;
}

}  // namespace

std::optional<ExpandedModule> see_through_calls(const bytecode::Module& module,
                                                const std::set<std::uint32_t>& functions) {
  std::optional<ExpandedModule> expanded;
  for (const std::uint32_t index : functions) {
    const bytecode::Function& function = module.functions[index];
    std::map<std::uint32_t, std::uint32_t> calls = find_calls(module, function);
    // Loops that gain nothing keep their calls.
    while (!calls.empty()) {
      CallExpander expander(module, function);
      expander.expand(calls);
      if (expander.code().size() > kMaximumFunction ||
          std::max(expander.function().primitive_registers, expander.function().reference_registers) ==
              kTooManyRegisters)
        break;
      if (!expanded) expanded.emplace(ExpandedModule{module, {}});
      const std::size_t offset = expanded->module.code.size();
      expander.function().code_offset = static_cast<std::uint32_t>(offset);
      expanded->module.code.insert(expanded->module.code.end(), expander.code().begin(),
                                   expander.code().end());
      expanded->module.functions[index] = expander.function();
      SeenCalls seen = expander.take_seen();
      const Flow flow(expanded->module, expanded->module.functions[index], LoopSearch::kInner, seen);
      std::set<std::uint32_t> gained;
      for (const InnerLoop& loop : flow.loops()) {
        for (const std::uint32_t begin : loop.seen_calls) gained.insert(seen.original(begin));
      }
      if (gained.size() == calls.size()) {
        expanded->calls[index] = std::move(seen);
        break;
      }
      std::erase_if(calls, [&](const auto& call) { return !gained.contains(call.first); });
      expanded->module.functions[index] = function;
    }
  }
  return expanded;
}

}  // namespace dhpvm::codegen
