// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/loop_strips.h"

#include <llvm/IR/Intrinsics.h>

#include "codegen/lower/lowering.h"
#include "codegen/lower/strip_values.h"

namespace dhpvm::codegen {

using bytecode::Family;
using llvm::BasicBlock;
using Origin = InvariantReference::Origin;

LoopStrips::LoopStrips(Lowering& lowering)
    : lowering_(lowering),
      flow_(lowering.flow()),
      ir_(lowering.emitter()),
      registers_(lowering.registers()),
      b_(ir_.builder()),
      strips_(flow_.loops().size()) {}

StripValues LoopStrips::values_of(std::size_t loop) {
  return {flow_, flow_.loops()[loop], strips_[loop].references, ir_, registers_};
}

void LoopStrips::make() {
  for (std::size_t number = 0; number < strips_.size(); ++number) make(number);
}

void LoopStrips::begin() {
  for (std::size_t number = 0; number < strips_.size(); ++number) begin(number);
}

void LoopStrips::lower_carefully() {
  for (std::size_t number = 0; number < strips_.size(); ++number) lower_carefully(number);
}

std::optional<std::size_t> LoopStrips::loop_of(std::uint32_t block) const {
  for (std::size_t loop = 0; loop < strips_.size(); ++loop) {
    if (flow_.loops()[loop].contains[block]) return loop;
  }
  return std::nullopt;
}

BasicBlock* LoopStrips::begin_of(std::uint32_t header) const {
  for (std::size_t number = 0; number < strips_.size(); ++number) {
    if (flow_.loops()[number].header == header) return strips_[number].begin;
  }
  return nullptr;
}

llvm::Value* LoopStrips::back_edges_left() {
  const std::optional<std::size_t> number = loop_of(lowering_.block());
  if (!number || !flow_.loops()[*number].counted) return nullptr;
  const InnerLoop& loop = flow_.loops()[*number];
  const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
  llvm::Value* const end = b_.CreateLoad(ir_.llvm_type(type), strips_[*number].end);
  return b_.CreateZExt(b_.CreateSub(end, registers_.get(loop.counter, type)), b_.getInt64Ty());
}

void LoopStrips::make(std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  Strip& strip = strips_[number];
  strip.begin = ir_.new_block("strip");
  if (loop.counted) {
    strip.end = ir_.entry_alloca(b_.getIntNTy(loop.wide ? 64 : 32), "strip.end");
    if (lowering_.has_even_strips())
      strip.next = ir_.entry_alloca(b_.getIntNTy(loop.wide ? 64 : 32), "strip.next");
  }
  strip.references.resize(loop.references.size());
  for (std::size_t at = 0; at < loop.references.size(); ++at) make(loop.references[at], strip.references[at]);
  for (std::uint32_t arm = 0; arm < loop.arms; ++arm)
    strip.covered.push_back(ir_.entry_alloca(b_.getInt1Ty(), "covered"));
  if (!loop.has_rare_blocks) return;
  // All edges into a rare block lead to the careful copy.
  for (std::uint32_t block = 0; block < loop.contains.size(); ++block) {
    if (!loop.contains[block] || !is_careful_only(block)) continue;
    lowering_.entries()[block]->eraseFromParent();
    lowering_.entries()[block] = strip.carefully[flow_.blocks()[block].begin] = ir_.new_block("carefully");
  }
}

void LoopStrips::make(const InvariantReference& reference, KeptReference& kept) {
  if (!reference.wanted) return;
  if (reference.origin != Origin::kRegister) {
    kept.there = ir_.entry_alloca(b_.getInt1Ty(), "there");
    kept.reference = ir_.entry_alloca(b_.getPtrTy(), "taken");
  }
  if (reference.read || reference.written) kept.data = ir_.entry_alloca(b_.getPtrTy(), "data");
  if (reference.read) kept.readable = ir_.entry_alloca(b_.getInt64Ty(), "readable");
  if (reference.written) kept.writable = ir_.entry_alloca(b_.getInt64Ty(), "writable");
  if (reference.length) kept.length = ir_.entry_alloca(b_.getInt64Ty(), "length");
  for (unsigned d = 0; d < reference.dimensions; ++d) {
    kept.dimensions[d] = ir_.entry_alloca(b_.getInt64Ty(), "dimension");
  }
}

// Sets up a strip of loop `number`; control comes here from outside the loop, from its latch at the end of a strip, and
// from its careful copy.
void LoopStrips::begin(std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  const Strip& strip = strips_[number];
  registers_.set_types(flow_.blocks()[loop.header].entry_types);
  b_.SetInsertPoint(strip.begin);
  for (std::size_t at = 0; at < loop.references.size(); ++at) keep(number, at);
  if (loop.counted) {
    const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
    llvm::Value* const counter = registers_.get(loop.counter, type);
    b_.CreateStore(counter, strip.end);
    llvm::Value* const steps = loop.stepped.empty() ? nullptr : steps_in_range(number);
    llvm::Value* const bound = registers_.get(loop.bound, type);
    // Back-edges until the bound: the body runs at least once.
    llvm::Value* const one = llvm::ConstantInt::get(ir_.llvm_type(type), 1);
    llvm::Value* const distance = b_.CreateSub(b_.CreateSub(bound, counter), one);
    llvm::Value* const remaining = b_.CreateSelect(b_.CreateICmpSLT(counter, bound),
                                                   b_.CreateZExt(distance, b_.getInt64Ty()), ir_.constant(0));
    llvm::Value* most = ticks_for_back_edges(number);
    if (steps != nullptr) most = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, most, steps);
    llvm::Value* count = remaining;
    if (loop.is_short) {
      BasicBlock* const whole = ir_.new_block("whole");
      ir_.branch_cold(b_.CreateICmpULT(most, remaining), careful_header(number), whole);
      b_.SetInsertPoint(whole);
    } else {
      count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, remaining, most);
    }
    lowering_.take_ticks(count);
    b_.CreateStore(b_.CreateAdd(counter, b_.CreateTrunc(count, ir_.llvm_type(type))), strip.end);
    if (strip.next != nullptr) {
      llvm::Value* const full = b_.CreateAdd(counter, b_.CreateTrunc(most, ir_.llvm_type(type)));
      b_.CreateStore(b_.CreateAdd(full, one), strip.next);
    }
  } else if (!loop.stepped.empty()) {
    steps_in_range(number);
  }
  b_.CreateBr(lowering_.entries()[loop.header]);
}

// Parents precede the references loaded from them.
void LoopStrips::keep(std::size_t loop, std::size_t number) {
  const InvariantReference& reference = flow_.loops()[loop].references[number];
  const Strip& strip = strips_[loop];
  const KeptReference& kept = strip.references[number];
  if (!reference.wanted) return;
  llvm::Value* const value = reference.origin == Origin::kRegister ? registers_.get_reference(reference.place)
                                                                   : take(strip, reference, kept);
  if (kept.data != nullptr || kept.length != nullptr || reference.dimensions != 0) {
    keep_handle(reference, kept, value);
  }
}

llvm::Value* LoopStrips::take(const Strip& strip, const InvariantReference& reference,
                              const KeptReference& kept) {
  const InvariantReference& from = flow_.loops()[&strip - strips_.data()].references[reference.parent];
  const KeptReference& parent = strip.references[reference.parent];
  const bool is_element = reference.origin == Origin::kElement;
  llvm::Value* const holder = from.origin == Origin::kRegister
                                  ? registers_.get_reference(from.place)
                                  : b_.CreateLoad(b_.getPtrTy(), parent.reference);
  llvm::Value* const index =
      is_element ? values_of(&strip - strips_.data()).at(reference.block, reference.pc, reference.place)
                 : nullptr;
  // The handle of null has no readable element.
  llvm::Value* const there = is_element
                                 ? b_.CreateICmpULT(index, b_.CreateLoad(b_.getInt64Ty(), parent.readable))
                                 : b_.CreateIsNotNull(holder);
  b_.CreateStore(there, kept.there);
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const load = ir_.new_block("take");
  BasicBlock* const go_on = ir_.new_block("taken");
  ir_.branch_cold(b_.CreateNot(there), go_on, load);
  b_.SetInsertPoint(load);
  llvm::Value* const loaded = is_element
                                  ? lowering_.load_reference(b_.CreateLoad(b_.getPtrTy(), parent.data), index)
                                  : ir_.load(b_.getPtrTy(), ir_.byte_offset(holder, reference.place),
                                             {Access::kField, reference.place});
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
  llvm::PHINode* const value = b_.CreatePHI(b_.getPtrTy(), 2);
  value->addIncoming(loaded, load);
  value->addIncoming(llvm::ConstantPointerNull::get(b_.getPtrTy()), before);
  b_.CreateStore(value, kept.reference);
  return value;
}

void LoopStrips::keep_handle(const InvariantReference& reference, const KeptReference& kept,
                             llvm::Value* value) {
  const std::pair<llvm::AllocaInst*, std::uint64_t> fields[] = {
      {kept.readable, 0},      {kept.writable, 0},      {kept.length, ~std::uint64_t{0}},
      {kept.dimensions[0], 0}, {kept.dimensions[1], 0}, {kept.dimensions[2], 0}};
  // No element of a null array is accessible; the careful copy handles such accesses.
  for (const auto& [field, nothing] : fields) {
    if (field != nullptr) b_.CreateStore(ir_.constant(nothing), field);
  }
  if (kept.data != nullptr) b_.CreateStore(llvm::ConstantPointerNull::get(b_.getPtrTy()), kept.data);
  BasicBlock* const there = ir_.new_block("keep");
  BasicBlock* const go_on = ir_.new_block("kept");
  b_.CreateCondBr(b_.CreateIsNull(value), go_on, there);
  b_.SetInsertPoint(there);
  const auto keep = [&](llvm::AllocaInst* to, ArrayField field) {
    if (to != nullptr) b_.CreateStore(lowering_.array_field(value, field), to);
  };
  keep(kept.data, ArrayField::kData);
  keep(kept.readable, ArrayField::kReadable);
  keep(kept.writable, ArrayField::kWritable);
  keep(kept.length, ArrayField::kLength);
  for (unsigned d = 0; d < reference.dimensions; ++d) {
    b_.CreateStore(lowering_.array_dimension(value, d, false), kept.dimensions[d]);
  }
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
}

bool LoopStrips::take_reference(const Instruction& i) {
  const std::optional<std::size_t> loop = loop_of(lowering_.block());
  if (!loop || careful_) return false;
  const auto found = flow_.loops()[*loop].taken.find(i.pc);
  if (found == flow_.loops()[*loop].taken.end()) return false;
  const KeptReference& kept = strips_[*loop].references[found->second];
  if (!is_stepped(i) && !go_on_if_covered(i)) {
    BasicBlock* const there = ir_.new_block("there");
    ir_.branch_cold(b_.CreateNot(b_.CreateLoad(b_.getInt1Ty(), kept.there)), careful_entry(i), there);
    b_.SetInsertPoint(there);
  }
  registers_.set_reference(i.a, b_.CreateLoad(b_.getPtrTy(), kept.reference));
  return true;
}

const LoopStrips::KeptReference* LoopStrips::kept_array(const Instruction& i) const {
  const std::optional<std::size_t> loop = loop_of(lowering_.block());
  if (!loop || careful_) return nullptr;
  const auto found = flow_.loops()[*loop].arrays.find(i.pc);
  return found == flow_.loops()[*loop].arrays.end() ? nullptr : &strips_[*loop].references[found->second];
}

// ---- The end of an iteration
// -------------------------------------------------------------------------------------------------

// Takes the back-edge `i`, which has not been paid for.
void LoopStrips::go_back(const Instruction& i, std::uint32_t successor) {
  BasicBlock* const target = lowering_.edge_to(successor);
  const std::optional<std::size_t> loop = loop_of(lowering_.block());
  const bool inside = loop && flow_.loops()[*loop].header == successor;
  lowering_.tick(i, inside ? strips_[*loop].begin : nullptr);
  b_.CreateBr(target);
}

// The strip is used up: continues with the next, or leaves the loop.
void LoopStrips::end_strip(const Instruction& i, std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
  BasicBlock* const done = ir_.new_block("done");
  llvm::Value* const next =
      b_.CreateAdd(registers_.get(loop.counter, type), llvm::ConstantInt::get(ir_.llvm_type(type), 1));
  if (loop.is_short && !careful_) {
    b_.CreateBr(done);
  } else {
    next_strip(i, number, next, done);
  }
  b_.SetInsertPoint(done);
  registers_.set(loop.counter, next);
  b_.CreateBr(
      lowering_.edge_to(flow_.blocks()[lowering_.block()].successors.front(), Lowering::EdgeKind::kPaid));
}

// Continues with the iteration `next` of the counter after a tick, if there is one; else with `done`.
void LoopStrips::next_strip(const Instruction& i, std::size_t number, llvm::Value* next, BasicBlock* done) {
  const InnerLoop& loop = flow_.loops()[number];
  const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
  BasicBlock* const more = ir_.new_block("more");
  b_.CreateCondBr(b_.CreateICmpSLT(next, registers_.get(loop.bound, type)), more, done);

  b_.SetInsertPoint(more);
  // Vector lanes that count together may leave a strip separately. A lane with another strip has completed this one, so
  // that its counter is the one computed when the strip was set up: LLVM sees in that value that the lanes' counters
  // keep a fixed distance, and that their accesses stay contiguous.
  llvm::AllocaInst* const expected = strips_[number].next;
  registers_.set(loop.counter, expected != nullptr ? b_.CreateLoad(ir_.llvm_type(type), expected) : next);
  // Control reaches the header through the setup of a new strip, which the block that edge_to() returns would bypass.
  // The call converts the registers.
  lowering_.edge_to(loop.header);
  lowering_.tick(i, nullptr);
  if (loop.is_short) {
    // Stays in the careful copy, so that the other copy has a single entry.
    b_.CreateStore(next, strips_[number].end);
    b_.CreateBr(lowering_.entries()[loop.header]);
  } else {
    b_.CreateBr(strips_[number].begin);
  }
}

void LoopStrips::lower_latch(const Instruction& i, std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  if (careful_) {
    lowering_.give_ticks(back_edges_left());
    end_strip(i, number);
    return;
  }
  const SlotType type = loop.wide ? SlotType::kI64 : SlotType::kI32;
  llvm::Value* const counter = registers_.get(loop.counter, type);
  llvm::Value* const end = b_.CreateLoad(ir_.llvm_type(type), strips_[number].end);
  BasicBlock* const again = ir_.new_block("again");
  BasicBlock* const over = ir_.new_block("stretch.over");
  b_.CreateCondBr(b_.CreateICmpSLT(counter, end), again, over);

  b_.SetInsertPoint(again);
  registers_.set(loop.counter, b_.CreateNSWAdd(counter, llvm::ConstantInt::get(ir_.llvm_type(type), 1)));
  b_.CreateBr(lowering_.edge_to(loop.header));

  b_.SetInsertPoint(over);
  registers_.set(loop.counter, end);  // its final value
  end_strip(i, number);
}

// ---- The careful copy
// -------------------------------------------------------------------------------------------------

BasicBlock* LoopStrips::careful_entry(const Instruction& i) {
  const std::optional<std::size_t> loop = loop_of(lowering_.block());
  if (!loop || careful_ || !flow_.loops()[*loop].keeps_handles) return nullptr;
  BasicBlock*& entry = strips_[*loop].carefully[lowering_.seen_calls().call_around(i.pc).value_or(i.pc)];
  if (entry == nullptr) entry = ir_.new_block("carefully");
  return entry;
}

bool LoopStrips::in_strip() const { return !careful_ && loop_of(lowering_.block()).has_value(); }

BasicBlock* LoopStrips::call_to_make(const Instruction& i) {
  if (!in_strip() || !lowering_.seen_calls().call_around(i.pc)) return nullptr;
  return careful_entry(i);
}

// For counted loops, the start of the strip has checked this.
llvm::Value* LoopStrips::ready_for(const SeenCalls::Call& call) {
  if (flow_.loops()[*loop_of(lowering_.block())].counted) return nullptr;
  return b_.CreateAnd(b_.CreateICmpUGE(lowering_.ticks_at_hand(), ir_.constant(1)),
                      lowering_.has_room_for(call.callee));
}

void LoopStrips::lower_carefully(std::size_t number) {
  if (strips_[number].carefully.empty()) return;
  const InnerLoop& loop = flow_.loops()[number];
  const std::vector<BasicBlock*> entries = lowering_.entries();
  careful_ = true;
  for (std::uint32_t block = 0; block < lowering_.entries().size(); ++block) {
    if (loop.contains[block]) lowering_.entries()[block] = ir_.new_block("careful");
  }
  for (std::uint32_t block = 0; block < lowering_.entries().size(); ++block) {
    if (loop.contains[block]) lowering_.lower_block(block);
  }
  careful_ = false;
  lowering_.entries() = entries;
}

// The instruction at `pc` is about to be lowered: failed checks of the first copy continue here. Only the registers are
// live.
void LoopStrips::enter_carefully(std::uint32_t pc) {
  const std::size_t number = *loop_of(lowering_.block());
  const std::map<std::uint32_t, BasicBlock*>& entries = strips_[number].carefully;
  const auto found = entries.find(pc);
  if (found == entries.end()) return;
  b_.CreateBr(found->second);
  b_.SetInsertPoint(found->second);
  if (flow_.loops()[number].counted && is_careful_only(lowering_.block()) &&
      pc == flow_.blocks()[lowering_.block()].begin)
    settle(lowering_.instruction(pc), number);
}

bool LoopStrips::is_careful_only(std::uint32_t block) const {
  const std::optional<std::size_t> loop = loop_of(block);
  return loop && flow_.loops()[*loop].has_rare_blocks && flow_.rare().contains(block);
}

// Callees in a rare block get all ticks: paid back-edges that were not taken are given back. A handler of a trap has
// them already.
void LoopStrips::settle(const Instruction& first, std::size_t number) {
  const InnerLoop& loop = flow_.loops()[number];
  if (first.row->family != Family::kCaught) lowering_.give_ticks(back_edges_left());
  b_.CreateStore(registers_.get(loop.counter, loop.wide ? SlotType::kI64 : SlotType::kI32),
                 strips_[number].end);
}

}  // namespace dhpvm::codegen
