// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/opencl/structure.h"

#include <fmt/format.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>

#include <algorithm>
#include <utility>

#include "codegen/device/opencl/c_text.h"

namespace dhpvm::codegen::opencl {
namespace {

using llvm::Instruction;
using llvm::PHINode;
using llvm::Value;

// The variable of conditions at the end of loops.
constexpr char kMore[] = "more";

bool compares_with_constant(const Value& condition) {
  const auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(&condition);
  return compare != nullptr && llvm::any_of(compare->operands(), [](const Value* operand) {
           return llvm::isa<llvm::ConstantInt>(operand);
         });
}

}  // namespace

const llvm::Type* variable_type(const Instruction& instruction) {
  if (const auto* const exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    return exchange->getCompareOperand()->getType();
  }
  return instruction.getType();
}

Structure::Structure(llvm::Function& function, Expressions& expressions)
    : expressions_(expressions),
      entry_(&function.getEntryBlock()),
      dominators_(function),
      loops_(dominators_) {
  place_blocks(function);
}

void Structure::place_blocks(llvm::Function& function) {
  std::vector<Block*> blocks;
  for (Block* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
    order_[block] = static_cast<unsigned>(blocks.size());
    blocks.push_back(block);
  }
  for (Block* const block : blocks) {
    if (block == entry_) continue;
    Block* dominator = dominators_.getNode(block)->getIDom()->getBlock();
    // The outermost of the loops around the dominator that does not contain this block.
    const llvm::Loop* left = nullptr;
    for (const llvm::Loop* loop = loops_.getLoopFor(dominator); loop != nullptr && !loop->contains(block);
         loop = loop->getParentLoop()) {
      left = loop;
    }
    unsigned forward = 0;
    for (Block* const from : llvm::predecessors(block)) forward += order_[from] < order_[block] ? 1 : 0;
    // It is printed in the branch that leads to it. Code that always follows a loop is not: compilers for processors
    // vectorise over work-items only around loops that `return` does not leave.
    const bool ends_here = always_returns(*block) && !only_returns(*block);
    if (forward < 2 && (left == nullptr || (ends_here && left->getUniqueExitBlock() != block))) continue;
    labelled_.insert(block);
    if (left != nullptr) {
      after_loop_[left->getHeader()].push_back(block);
    } else {
      inside_[dominator].push_back(block);
    }
  }
}

// A block without text, printed as `return` at each jump to it.
bool Structure::only_returns(Block& block) const {
  return llvm::isa<llvm::ReturnInst>(block.front()) && &block != entry_;
}

// Whether the function always ends after the block.
bool Structure::always_returns(Block& block) const {
  return llvm::all_of(llvm::successors(&block), [&](Block* next) { return only_returns(*next); });
}

std::vector<Line> Structure::lines() {
  Lines out;
  write_node(*entry_, {}, out);
  std::erase_if(out, [&](const Line& line) { return line.label != nullptr && !used_.contains(line.label); });
  return out;
}

std::string Structure::label(Block& block) const { return fmt::format("block{}", order_.lookup(&block)); }

void Structure::add(Lines& out, const Context& context, std::string text, bool jumps) const {
  out.push_back({context.depth, std::move(text), nullptr, jumps, {}, false, false});
}

// Prints a block, the blocks that it dominates, and if it is the header of a loop, that loop and the code after it.
void Structure::write_node(Block& block, const Context& context, Lines& out) {
  if (!loops_.isLoopHeader(&block)) {
    write_block(block, context, out);
    return;
  }
  const auto found = after_loop_.find(&block);
  const std::vector<Block*> behind = found == after_loop_.end() ? std::vector<Block*>() : found->second;
  Context inside = context;
  inside.depth = context.depth + 1;
  inside.follow = &block;
  inside.loop = &block;
  inside.after_loop = behind.empty() ? context.follow : behind.front();
  // Inner loops cannot `continue` this one, but jump to its start, where it begins again with the same variables.
  out.push_back({context.depth, label(block) + ":;", &block, false, {}, false, false});
  Lines body;
  write_block(block, inside, body);
  std::string end = "}";
  if (!body.empty() && !body.front().otherwise.empty()) {
    add(out, context, fmt::format("while ({}) {{", body.front().otherwise));
    body.erase(body.begin());
  } else if (move_test_to_end(body, inside)) {
    uses_more_ = true;
    add(out, context, "do {");
    end = fmt::format("}} while ({});", kMore);
  } else {
    add(out, context, "for (;;) {");
  }
  std::ranges::move(body, std::back_inserter(out));
  add(out, context, std::move(end));
  for (std::size_t n = 0; n < behind.size(); ++n) {
    Context next = context;
    if (n + 1 < behind.size()) next.follow = behind[n + 1];
    out.push_back({context.depth, label(*behind[n]) + ":;", behind[n], false, {}, false, false});
    write_node(*behind[n], next, out);
  }
}

// Whether code after the loop reads the variable.
bool Structure::is_read_behind(const Instruction& variable, Block& header) const {
  return llvm::any_of(variable.users(), [&](const llvm::User* user) {
    const auto& reader = *llvm::cast<Instruction>(user);
    return !loops_.getLoopFor(&header)->contains(&reader) ||
           (expressions_.variables().is_inline(reader) && is_read_behind(reader, header));
  });
}

// Whether `value` can be computed speculatively.
bool Structure::can_be_in_vain(const Value& value) const {
  const auto* const instruction = llvm::dyn_cast<Instruction>(&value);
  if (instruction == nullptr || !expressions_.variables().is_inline(*instruction)) return true;
  return llvm::isSafeToSpeculativelyExecute(instruction) &&
         llvm::all_of(instruction->operands(),
                      [&](const Value* operand) { return can_be_in_vain(*operand); });
}

// If only assignments follow the last `if (..) break;`, that becomes the condition at the loop's end, stored in a
// variable until then. PoCL unrolls only loops without a condition: a blur of nine weights takes a fifth less time that
// way. A loop with a constant number of rounds must be unrolled, because PoCL vectorises over work-items only where no
// loop is left.
bool Structure::move_test_to_end(Lines& body, const Context& inside) const {
  // The assignments then run in the last round as well.
  if (llvm::any_of(inside.loop->phis(),
                   [&](const PHINode& phi) { return is_read_behind(phi, *inside.loop); }))
    return false;
  const auto continues = [](const Line& line) { return line.text.ends_with("continue;"); };
  if (std::ranges::any_of(body, continues)) return false;
  const auto is_test = [&](const Line& line) {
    return line.depth == inside.depth && !line.otherwise.empty();
  };
  const auto last = std::ranges::find_if(body.rbegin(), body.rend(), is_test);
  if (last == body.rend() || last->has_constant) return false;
  const bool only_assignments = std::all_of(body.rbegin(), last, [](const Line& line) {
    return !line.jumps && line.label == nullptr && line.is_copy;
  });
  if (!only_assignments) return false;
  last->text = fmt::format("{} = {};", kMore, last->otherwise);
  last->otherwise.clear();
  return true;
}

// Prints a block, and the blocks that it dominates.
void Structure::write_block(Block& block, const Context& context, Lines& out) {
  const auto found = inside_.find(&block);
  const std::vector<Block*> behind = found == inside_.end() ? std::vector<Block*>() : found->second;
  Context own = context;
  if (!behind.empty()) own.follow = behind.front();
  write_statements(block, own, out);
  write_branch(block, own, out);
  for (std::size_t n = 0; n < behind.size(); ++n) {
    Context next = context;
    if (n + 1 < behind.size()) next.follow = behind[n + 1];
    out.push_back({context.depth, label(*behind[n]) + ":;", behind[n], false, {}, false, false});
    write_node(*behind[n], next, out);
  }
}

bool Structure::is_declared_inside(const Instruction& instruction) const {
  if (llvm::isa<PHINode>(instruction) || expressions_.variables().is_computed_with_sine(instruction))
    return false;
  // An instruction printed inside other expressions counts at their places.
  llvm::SmallVector<const Instruction*> work = {&instruction};
  while (!work.empty()) {
    const Instruction* const used = work.pop_back_val();
    for (const llvm::Use& use : used->uses()) {
      const auto* const user = llvm::cast<Instruction>(use.getUser());
      const auto* const phi = llvm::dyn_cast<PHINode>(user);
      Block* const where = phi != nullptr ? phi->getIncomingBlock(use) : user->getParent();
      if (where != instruction.getParent()) return false;
      if (expressions_.variables().is_inline(*user)) work.push_back(user);
    }
  }
  return true;
}

void Structure::write_statements(Block& block, const Context& context, Lines& out) {
  for (const Instruction& instruction : block) {
    if (llvm::isa<PHINode>(instruction) || llvm::isa<llvm::AllocaInst>(instruction) ||
        instruction.isTerminator() || expressions_.variables().is_inline(instruction) ||
        expressions_.variables().is_computed_with_sine(instruction)) {
      continue;
    }
    std::string text = expressions_.expression(instruction);
    if (text.empty()) continue;
    if (!instruction.getType()->isVoidTy() && !instruction.use_empty()) {
      text = fmt::format("{} = {}", expressions_.variables().name(instruction), text);
      if (is_declared_inside(instruction)) {
        text = fmt::format("{} {}", constant_type_name(variable_type(instruction)), text);
      }
    }
    add(out, context, text + ";");
  }
}

void Structure::write_branch(Block& block, const Context& context, Lines& out) {
  const Instruction& end = *block.getTerminator();
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(&end);
  if (branch == nullptr) {
    if (context.follow != nullptr) add(out, context, "return;", true);
    return;
  }
  if (branch->isUnconditional()) {
    write_jump(block, *branch->getSuccessor(0), context, out);
    return;
  }
  Context inside = context;
  ++inside.depth;
  Lines yes;
  Lines no;
  write_jump(block, *branch->getSuccessor(0), inside, yes);
  write_jump(block, *branch->getSuccessor(1), inside, no);
  if (yes.empty() && no.empty()) return;
  const auto jumps = [](const Lines& lines) { return !lines.empty() && lines.back().jumps; };
  // The branch after one that ends in a jump needs no indentation: that should be the longer one.
  bool negate = yes.empty() || (jumps(no) && (!jumps(yes) || no.size() < yes.size()));
  if (no.empty()) negate = false;
  Lines& first = negate ? no : yes;
  Lines& second = negate ? yes : no;
  const std::string condition = expressions_.condition(*branch->getCondition(), negate);
  if (first.size() == 1 && first.front().label == nullptr && (second.empty() || jumps(first))) {
    const bool leaves = first.front().text == "break;";
    add(out, context, fmt::format("if ({}) {}", condition, first.front().text));
    if (leaves) {
      out.back().otherwise = expressions_.condition(*branch->getCondition(), !negate);
      out.back().has_constant = compares_with_constant(*branch->getCondition());
    }
  } else {
    add(out, context, fmt::format("if ({}) {{", condition));
    std::ranges::move(first, std::back_inserter(out));
    add(out, context, second.empty() || jumps(first) ? "}" : "} else {");
  }
  if (second.empty()) return;
  if (jumps(first)) {
    for (Line& line : second) --line.depth;
    std::ranges::move(second, std::back_inserter(out));
    return;
  }
  std::ranges::move(second, std::back_inserter(out));
  add(out, context, "}");
}

void Structure::write_jump(Block& from, Block& to, const Context& context, Lines& out) {
  write_phis(from, to, context, out);
  if (&to == context.follow) return;
  if (&to == context.loop) {
    add(out, context, "continue;", true);
  } else if (context.loop != nullptr && &to == context.after_loop) {
    add(out, context, "break;", true);
  } else if (only_returns(to)) {
    if (context.follow != nullptr) add(out, context, "return;", true);
  } else if (labelled_.contains(&to) || order_[&to] <= order_[&from]) {
    used_.insert(&to);
    add(out, context, fmt::format("goto {};", label(to)), true);
  } else {
    write_node(to, context, out);
  }
}

// The variables of phis are assigned where control leaves the predecessor: in parallel in LLVM, sequentially in C.
void Structure::write_phis(Block& from, Block& to, const Context& context, Lines& out) {
  struct Copy {
    const PHINode* to;
    const Value* from;
    llvm::SmallPtrSet<const Value*, 8> reads;
  };
  const std::size_t first = out.size();
  std::vector<Copy> copies;
  for (const PHINode& phi : to.phis()) {
    const Value* const value = phi.getIncomingValueForBlock(&from);
    // An undefined value is printed as 0: compilers assume that a use of an uninitialised variable is unreachable.
    if (value == &phi || phi.use_empty()) continue;
    copies.push_back({&phi, value, {}});
    expressions_.variables().add_read(*value, copies.back().reads);
  }
  // The copies for the block of a test are always computed.
  const bool is_harmless =
      from.getSingleSuccessor() == nullptr ||
      std::ranges::all_of(copies, [&](const Copy& copy) { return can_be_in_vain(*copy.from); });
  const auto is_read_by_others = [&](const Copy& copy) {
    return std::ranges::any_of(
        copies, [&](const Copy& other) { return other.to != copy.to && other.reads.contains(copy.to); });
  };
  while (!copies.empty()) {
    const auto free = std::ranges::find_if_not(copies, is_read_by_others);
    if (free == copies.end()) break;
    add(out, context,
        fmt::format("{} = {};", expressions_.variables().name(*free->to), expressions_.value(*free->from)));
    copies.erase(free);
  }
  const auto mark = [&] {
    for (std::size_t n = first; n < out.size(); ++n) out[n].is_copy = is_harmless;
  };
  if (copies.empty()) return mark();
  add(out, context, "{");
  Context inside = context;
  ++inside.depth;
  for (std::size_t n = 0; n < copies.size(); ++n) {
    add(out, inside,
        fmt::format("{} next{} = {};", constant_type_name(copies[n].to->getType()), n,
                    expressions_.value(*copies[n].from)));
  }
  for (std::size_t n = 0; n < copies.size(); ++n) {
    add(out, inside, fmt::format("{} = next{};", expressions_.variables().name(*copies[n].to), n));
  }
  add(out, context, "}");
  mark();
}

}  // namespace dhpvm::codegen::opencl
