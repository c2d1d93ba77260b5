// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/loop_in_place.h"

#include <llvm/IR/InstIterator.h>

#include <algorithm>
#include <cstddef>

#include "codegen/kernel_abi.h"
#include "codegen/lower/kernel_lowering.h"
#include "codegen/lower/reduce.h"

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::Op;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// Words of a body up to which it is copied into each function that runs it: saxpy has 8, a stencil of 9 points 40.
constexpr std::uint32_t kMostWords = 64;
// Indices that are more operations away from the iteration's than this are not followed.
constexpr unsigned kMostSteps = 8;

// The type of primitive parameter `number`.
SlotType parameter_type(const bytecode::Signature& signature, std::uint32_t number) {
  for (const bytecode::ValueType& type : signature.parameters) {
    if (!type.is_ref() && number-- == 0) return slot_type(type.kind);
  }
  return SlotType::kUnset;
}

}  // namespace

LoopInPlace::LoopInPlace(Unit& unit, Lowering& lowering, FunctionFrame& frame,
                         const Instruction& parallel_for)
    : unit_(unit),
      lowering_(lowering),
      frame_(frame),
      registers_(lowering.registers()),
      ir_(lowering.emitter()),
      b_(ir_.builder()),
      parallel_for_(parallel_for),
      record_(unit.bytecode.kernels[parallel_for.c]),
      kernel_(unit.bytecode.functions[record_.function]),
      parameters_(split(kernel_.signature.parameters)) {}

std::optional<LoopInPlace> LoopInPlace::find(Unit& unit, Lowering& lowering, FunctionFrame& frame,
                                             const Instruction& parallel_for) {
  LoopInPlace loop(unit, lowering, frame, parallel_for);
  if (!loop.has_short_form() || !loop.lower_body()) return std::nullopt;
  return loop;
}

// ---- The form

bool LoopInPlace::has_short_form() {
  if (record_.dimensions != 1 || record_.fast_math) return false;
  if (!record_.device_hint.empty() || record_.batch_hint != 0 || kernel_.code_size > kMostWords) return false;
  for (std::uint32_t pc = 0; pc < kernel_.code_size;) {
    code_.push_back(decode(unit_.bytecode, kernel_, pc));
    pc = code_.back().next();
  }
  return std::ranges::all_of(code_, [this](const Instruction& i) { return examine(i); });
}

// Whether the instruction does the same in whatever loop it runs, and notes the element that it accesses.
bool LoopInPlace::examine(const Instruction& i) {
  // Its last bits could depend on the number of lanes.
  if (i.has(bytecode::kApproximate)) return false;
  const auto accesses = [&](std::uint32_t array, std::uint32_t index, bool write) {
    if (array >= parameters_.references || !growth(i.pc, index)) return false;
    elements_.push_back({.pc = i.pc, .array = array, .index = index, .write = write});
    return true;
  };
  switch (i.row->family) {
    case Family::kNop:
    case Family::kMoveP:
    case Family::kConstant:
    case Family::kInteger:
    case Family::kShift:
    case Family::kFloat:
    case Family::kCompare:
    case Family::kConvert: return !i.has(bytecode::kTraps);
    case Family::kReturn:
    case Family::kReturnP: return i.next() == kernel_.code_size;
    case Family::kArrayLength: return i.b < parameters_.references;
    case Family::kLoad:
    case Family::kLoadField: return accesses(i.b, i.c, false);
    case Family::kStore:
    case Family::kStoreField: return accesses(i.a, i.b, true);
    default: return false;
  }
}

// The last instruction before `pc` that writes the register, or null.
const Instruction* LoopInPlace::definition(std::uint32_t pc, std::uint32_t reg) const {
  const Instruction* found = nullptr;
  for (const Instruction& i : code_) {
    if (i.pc >= pc) break;
    if (i.row->writes != 0 && i.a == reg) found = &i;
  }
  return found;
}

// The growth of the register from one iteration to the next, as seen at `pc`, if it is 0 or 1.
std::optional<unsigned> LoopInPlace::growth(std::uint32_t pc, std::uint32_t reg, unsigned depth) const {
  const Instruction* const i = definition(pc, reg);
  if (i == nullptr) {
    if (reg == 0) return 1;
    // Scalars are the same in all iterations, and what a reduction has so far, behind them, is not.
    const bool is_index = reg < parameters_.primitives - record_.reductions.size() &&
                          parameter_type(kernel_.signature, reg) == SlotType::kI64;
    return is_index ? std::optional(0U) : std::nullopt;
  }
  if (depth > kMostSteps) return std::nullopt;
  const auto operand = [&](std::uint32_t of) { return growth(i->pc, of, depth + 1); };
  switch (i->op) {
    case Op::kImm:
    case Op::kConst: return 0;
    case Op::kMoveP:
    case Op::kAddImmI64: return operand(i->b);
    case Op::kAddI64: {
      const std::optional<unsigned> left = operand(i->b);
      const std::optional<unsigned> right = operand(i->c);
      return left && right && *left + *right <= 1 ? std::optional(*left + *right) : std::nullopt;
    }
    case Op::kSubI64: return operand(i->c) == 0U ? operand(i->b) : std::nullopt;
    case Op::kMulI64: return operand(i->b) == 0U && operand(i->c) == 0U ? std::optional(0U) : std::nullopt;
    default: return std::nullopt;
  }
}

// ---- The code

// The register's value at `pc` in an iteration; for what growth() knows.
Value* LoopInPlace::value_in(Value* iteration, std::uint32_t pc, std::uint32_t reg) {
  const Instruction* const i = definition(pc, reg);
  // The window has two bounds where the kernel has an index.
  if (i == nullptr) return reg == 0 ? iteration : registers_.get_i64(parallel_for_.a + 1 + reg);
  const auto operand = [&](std::uint32_t of) { return value_in(iteration, i->pc, of); };
  switch (i->op) {
    case Op::kConst: return ir_.constant(i->x);
    case Op::kMoveP: return operand(i->b);
    case Op::kAddImmI64:
      return b_.CreateAdd(
          operand(i->b),
          b_.getInt64(static_cast<std::uint64_t>(std::int64_t{static_cast<std::int16_t>(i->c)})));
    case Op::kAddI64: return b_.CreateAdd(operand(i->b), operand(i->c));
    case Op::kSubI64: return b_.CreateSub(operand(i->b), operand(i->c));
    case Op::kMulI64: return b_.CreateMul(operand(i->b), operand(i->c));
    default: return ir_.constant(static_cast<std::uint64_t>(std::int64_t{i->bc}));  // kImm
  }
}

// The body as a function, to be inlined. It checks nothing, and so it cannot trap.
bool LoopInPlace::lower_body() {
  std::set<CallPath> proven;
  for (const Instruction& i : code_) {
    if (i.has(bytecode::kTraps)) proven.insert({{record_.function, i.pc}});
  }
  Result<KernelBody> body = lower_kernel(unit_.bytecode, parallel_for_.c, proven, unit_.module,
                                         {.can_be_stopped = false, .reports_traps = false});
  if (!body.ok()) return false;
  body_ = body->function;
  scalars_ = body->scalars;
  accumulators_ = body->accumulators;
  body_->addFnAttr(llvm::Attribute::AlwaysInline);
  // Kernels are given descriptions that never change. These are written before the loop.
  for (llvm::Instruction& instruction : llvm::instructions(*body_))
    instruction.setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
  return true;
}

std::vector<Value*> LoopInPlace::emit(BasicBlock* otherwise) {
  Value* const low = registers_.get_i64(parallel_for_.a);
  Value* const high = registers_.get_i64(parallel_for_.a + 1);
  Value* const iterations = b_.CreateSub(high, low);
  Value* const most =
      ir_.load(b_.getInt64Ty(), ir_.byte_offset(frame_.state, unit_.layout.state.most_in_place),
               {Access::kContext, Access::kMostInPlace});
  const auto go_on_if = [&](Value* condition, const char* name) {
    BasicBlock* const go_on = ir_.new_block(name);
    b_.CreateCondBr(condition, go_on, otherwise);
    b_.SetInsertPoint(go_on);
  };
  Value* const first = low;
  Value* const last = b_.CreateSub(high, ir_.constant(1));
  // No more than there may be, and at least one. The difference alone does not say so: it wraps.
  Value* const few = b_.CreateICmpULT(b_.CreateSub(iterations, ir_.constant(1)), most);
  go_on_if(b_.CreateAnd(few, b_.CreateICmpSLT(low, high)), "few");
  Value* const arrays = describe_arrays(otherwise);
  go_on_if(all_inside(first, last), "in.place");
  count(iterations);
  if (!accumulators_.empty()) return emit_reductions(low, high, arrays);
  emit_counted(low, high, 1, [&](Value* index) { call_body(index, arrays, {}); });
  return {};
}

// Descriptors of the arrays, as the body expects them. Only fields that it reads remain.
Value* LoopInPlace::describe_arrays(BasicBlock* otherwise) {
  llvm::Type* const bytes = llvm::ArrayType::get(b_.getInt8Ty(), sizeof(KernelArray));
  llvm::AllocaInst* const made = ir_.entry_alloca(
      llvm::ArrayType::get(bytes, std::max<std::size_t>(parameters_.references, 1)), "arrays");
  made->setAlignment(llvm::Align(alignof(KernelArray)));
  limits_.clear();
  for (std::uint32_t n = 0; n < parameters_.references; ++n) {
    Value* const array = registers_.get_reference(parallel_for_.b + n);
    BasicBlock* const there = ir_.new_block("there");
    b_.CreateCondBr(b_.CreateIsNull(array), otherwise, there);
    b_.SetInsertPoint(there);
    const auto set = [&](std::size_t offset, Value* value) {
      b_.CreateStore(value, ir_.byte_offset(made, sizeof(KernelArray) * n + offset));
    };
    limits_.push_back({.readable = lowering_.array_field(array, ArrayField::kReadable),
                       .writable = lowering_.array_field(array, ArrayField::kWritable)});
    set(offsetof(KernelArray, data), lowering_.array_field(array, ArrayField::kData));
    set(offsetof(KernelArray, shape.readable), limits_.back().readable);
    set(offsetof(KernelArray, shape.writable), limits_.back().writable);
    set(offsetof(KernelArray, shape.length), lowering_.array_field(array, ArrayField::kLength));
  }
  return made;
}

// An index that grows by one from below the end of an array to below it does not leave it in between.
Value* LoopInPlace::all_inside(Value* first, Value* last) {
  Value* all = b_.getTrue();
  for (const Element& element : elements_) {
    const Limits& limits = limits_[element.array];
    Value* const limit = element.write ? limits.writable : limits.readable;
    for (Value* const iteration : {first, last}) {
      Value* const index = value_in(iteration, element.pc, element.index);
      all = b_.CreateAnd(all, b_.CreateICmpULT(index, limit));
    }
  }
  return all;
}

// The account that the virtual machine keeps of loops.
void LoopInPlace::count(Value* iterations) {
  const auto add = [&](std::uint32_t offset, Access::ContextPart part, Value* more) {
    Value* const place = ir_.byte_offset(frame_.state, offset);
    const Access access{Access::kContext, part};
    ir_.store(b_.CreateAdd(ir_.load(b_.getInt64Ty(), place, access), more), place, access);
  };
  const StateLayout& state = unit_.layout.state;
  add(state.parallel_loops, Access::kParallelLoops, ir_.constant(1));
  add(state.parallel_iterations, Access::kParallelIterations, iterations);
  add(state.fuel_batched, Access::kFuelBatched, iterations);
}

// One block of the language's order of reductions: iteration j adds to lane j mod 32, and the lanes combine pairwise.
std::vector<Value*> LoopInPlace::emit_reductions(Value* low, Value* high, Value* arrays) {
  constexpr std::uint64_t kLanes = bytecode::kReductionLanes;
  std::vector<llvm::AllocaInst*> lanes;
  const auto vector_of = [](llvm::Type* type) { return llvm::FixedVectorType::get(type, kLanes); };
  for (std::size_t n = 0; n < accumulators_.size(); ++n) {
    lanes.push_back(ir_.entry_alloca(vector_of(accumulators_[n]), "lanes"));
    llvm::Constant* const identity = identity_of_reduction(record_.reductions[n], accumulators_[n]);
    b_.CreateStore(llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(kLanes), identity), lanes[n]);
  }
  const auto turn = [&](Value* first, Value* lane) {
    std::vector<Value*> places;
    std::vector<Value*> before;
    for (std::size_t n = 0; n < lanes.size(); ++n) {
      places.push_back(b_.CreateInBoundsGEP(accumulators_[n], lanes[n], lane));
      before.push_back(b_.CreateLoad(accumulators_[n], places[n]));
    }
    llvm::CallInst* const result = call_body(b_.CreateAdd(first, lane), arrays, before);
    for (unsigned n = 0; n < lanes.size(); ++n)
      b_.CreateStore(b_.CreateExtractValue(result, kAccumulators + n), places[n]);
  };
  // As many whole rounds of lanes as there are, whose number of turns LLVM knows, and the rest.
  Value* const rest = b_.CreateAnd(b_.CreateSub(high, low), ir_.constant(kLanes - 1));
  Value* const whole = b_.CreateSub(high, rest);
  const auto if_any = [&](Value* from, Value* to, const auto& loop) {
    BasicBlock* const some = ir_.new_block("some");
    BasicBlock* const none = ir_.new_block("none");
    b_.CreateCondBr(b_.CreateICmpSLT(from, to), some, none);
    b_.SetInsertPoint(some);
    loop();
    b_.CreateBr(none);
    b_.SetInsertPoint(none);
  };
  if_any(low, whole, [&] {
    emit_counted(low, whole, kLanes, [&](Value* first) {
      emit_counted(ir_.constant(0), ir_.constant(kLanes), 1, [&](Value* lane) { turn(first, lane); });
    });
  });
  if_any(ir_.constant(0), rest,
         [&] { emit_counted(ir_.constant(0), rest, 1, [&](Value* lane) { turn(whole, lane); }); });
  std::vector<Value*> results;
  for (unsigned n = 0; n < lanes.size(); ++n) {
    const bytecode::Reduction& reduction = record_.reductions[n];
    Value* value = b_.CreateLoad(vector_of(accumulators_[n]), lanes[n]);
    for (unsigned width = kLanes / 2; width > 0; width /= 2) {
      const auto half_from = [&](unsigned first) {
        llvm::SmallVector<int> numbers;
        for (unsigned lane = first; lane < first + width; ++lane) numbers.push_back(static_cast<int>(lane));
        return b_.CreateShuffleVector(value, numbers);
      };
      Value* const left = half_from(0);
      value = combine(b_, reduction, left, half_from(width));
    }
    const auto number = static_cast<std::uint32_t>(scalars_.size()) + n;
    Value* const before =
        registers_.get(parallel_for_.a + 2 + number, parameter_type(kernel_.signature, 1 + number));
    results.push_back(combine(b_, reduction, before, b_.CreateExtractElement(value, std::uint64_t{0})));
  }
  return results;
}

// A loop of at least one turn, from `from` up to `to`.
void LoopInPlace::emit_counted(Value* from, Value* to, std::uint64_t step,
                               llvm::function_ref<void(Value*)> turn) {
  BasicBlock* const before = b_.GetInsertBlock();
  BasicBlock* const iteration = ir_.new_block("iteration");
  BasicBlock* const over = ir_.new_block("over");
  b_.CreateBr(iteration);
  b_.SetInsertPoint(iteration);
  llvm::PHINode* const index = b_.CreatePHI(b_.getInt64Ty(), 2, "index");
  turn(index);
  Value* const next = b_.CreateNSWAdd(index, ir_.constant(step));
  index->addIncoming(from, before);
  index->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, to), iteration, over);
  b_.SetInsertPoint(over);
}

llvm::CallInst* LoopInPlace::call_body(Value* index, Value* arrays, llvm::ArrayRef<Value*> accumulators) {
  std::vector<Value*> arguments = {arrays, llvm::ConstantPointerNull::get(b_.getPtrTy()),
                                   llvm::ConstantPointerNull::get(b_.getPtrTy()), index};
  for (std::uint32_t n = 0; n < scalars_.size(); ++n) {
    const std::uint32_t reg = parallel_for_.a + 2 + n;
    arguments.push_back(registers_.get(reg, parameter_type(kernel_.signature, 1 + n)));
  }
  arguments.insert(arguments.end(), accumulators.begin(), accumulators.end());
  return b_.CreateCall(body_, arguments);
}

}  // namespace dhpvm::codegen
