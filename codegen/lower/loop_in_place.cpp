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

// The largest body, in words, that is copied into each function that runs it: saxpy has 8, a stencil of 9 points 40.
constexpr std::uint32_t kMostWords = 64;
// The same for bodies with branches or checks, which LLVM rarely vectorises: above this, lanes of a kernel are faster.
constexpr std::uint32_t kMostWordsAlone = 32;
constexpr std::uint64_t kMostAlone = 128;
// The largest number of operations between an index and the iteration's indices that is analysed.
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
  if (record_.fast_math || (record_.dimensions != 1 && !record_.reductions.empty())) return false;
  if (!record_.device_hint.empty() || record_.batch_hint != 0 || kernel_.code_size > kMostWords) return false;
  for (std::uint32_t pc = 0; pc < kernel_.code_size;) {
    code_.push_back(decode(unit_.bytecode, kernel_, pc));
    pc = code_.back().next();
  }
  for (const Instruction& i : code_) {
    if (!i.is_branch()) continue;
    if (i.target() <= i.pc) return false;
    targets_.insert(i.target());
  }
  used_dimensions_.resize(parameters_.references);
  if (!std::ranges::all_of(code_, [this](const Instruction& i) { return examine(i); })) return false;
  return !runs_alone() || kernel_.code_size <= kMostWordsAlone;
}

// Whether the body can run in place; records its accesses.
bool LoopInPlace::examine(const Instruction& i) {
  // Its last bits could depend on the number of lanes.
  if (i.has(bytecode::kApproximate)) return false;
  switch (i.row->family) {
    case Family::kNop:
    case Family::kMoveP:
    case Family::kConstant:
    case Family::kInteger:
    case Family::kShift:
    case Family::kFloat:
    case Family::kCompare:
    case Family::kConvert:
    case Family::kDivide: return !i.has(bytecode::kTraps) || is_checked(i);
    case Family::kJump:
    case Family::kJumpIf:
    case Family::kJumpCompare: return true;
    case Family::kReturn:
    case Family::kReturnP: return i.next() == kernel_.code_size;
    case Family::kArrayLength: return i.b < parameters_.references;
    case Family::kArrayDim: return uses_dimensions(i.b, i.c + 1U);
    case Family::kIndex: return examine_index(i);
    case Family::kLoad:
    case Family::kLoadField: return accesses(i, i.b, i.c, false);
    case Family::kStore:
    case Family::kStoreField: return accesses(i, i.a, i.b, true);
    default: return false;
  }
}

// Marks the instruction as checked in the loop. False if running the iteration again would then see different memory,
// or the results of earlier iterations would be lost.
bool LoopInPlace::is_checked(const Instruction& i) {
  checked_.insert(i.pc);
  if (stores_) return false;
  if (record_.dimensions == 1 && record_.reductions.empty()) return true;
  return std::ranges::none_of(code_, [](const Instruction& other) {
    return memory_of(other.row->family) == bytecode::Memory::kWritesElement;
  });
}

bool LoopInPlace::uses_dimensions(std::uint32_t array, unsigned count) {
  if (array >= parameters_.references) return false;
  used_dimensions_[array] = std::max(used_dimensions_[array], count);
  return true;
}

bool LoopInPlace::examine_index(const Instruction& i) {
  const unsigned rank = i.op == Op::kIndex3 ? 3 : 2;
  if (!uses_dimensions(i.b, rank)) return false;
  const auto is_known = [&](std::uint32_t reg) { return growth(i.pc, reg).has_value(); };
  if (!is_known(i.c) || !is_known(i.x0()) || (rank == 3 && !is_known(i.x1()))) return is_checked(i);
  positions_.push_back(i);
  return true;
}

bool LoopInPlace::accesses(const Instruction& i, std::uint32_t array, std::uint32_t index, bool write) {
  if (array >= parameters_.references) return false;
  const Instruction* const from = definition(i.pc, index).instruction;
  const bool is_position = from != nullptr && from->row->family == Family::kIndex && from->b == array &&
                           !checked_.contains(from->pc);
  if (is_position || growth(i.pc, index)) {
    elements_.push_back({.pc = i.pc, .array = array, .index = index, .write = write});
  } else if (!is_checked(i)) {
    return false;
  }
  stores_ |= write;
  return true;
}

// The instruction that defines the register at `pc`.
LoopInPlace::Definition LoopInPlace::definition(std::uint32_t pc, std::uint32_t reg) const {
  const auto writes = [&](const Instruction& i) { return i.row->writes != 0 && i.a == reg; };
  Definition found;
  bool is_in_block = true;  // the block of `pc`, not yet one before it
  auto at = std::ranges::find(code_, pc, &Instruction::pc);
  while (at != code_.begin()) {
    is_in_block = is_in_block && !targets_.contains(at->pc);
    --at;
    is_in_block = is_in_block && !at->is_branch();
    if (!writes(*at)) continue;
    if (is_in_block) return {.instruction = &*at};
    // An earlier definition may be the one that reaches if a branch skips this one.
    if (found.instruction != nullptr) return {.is_known = false};
    found.instruction = &*at;
  }
  if (found.instruction == nullptr) return found;
  // A register that is written before the first branch is written in every iteration.
  const auto branch = std::ranges::find_if(code_, &Instruction::is_branch);
  return branch->pc > found.instruction->pc ? found : Definition{.is_known = false};
}

// The growth of the register with each index at `pc`, if it is 0 or 1.
std::optional<LoopInPlace::Growth> LoopInPlace::growth(std::uint32_t pc, std::uint32_t reg,
                                                       unsigned depth) const {
  const auto [i, is_known] = definition(pc, reg);
  if (!is_known || depth > kMostSteps) return std::nullopt;
  if (i == nullptr) {
    Growth by{};
    if (reg < record_.dimensions) {
      by[reg] = 1;
      return by;
    }
    // Scalars are uniform, and accumulators, which follow them, are not.
    const bool is_index = reg < parameters_.primitives - record_.reductions.size() &&
                          parameter_type(kernel_.signature, reg) == SlotType::kI64;
    return is_index ? std::optional(by) : std::nullopt;
  }
  const auto operand = [&](std::uint32_t of) { return growth(i->pc, of, depth + 1); };
  const auto is_same = [&](std::uint32_t of) { return operand(of) == Growth{}; };
  switch (i->op) {
    case Op::kImm:
    case Op::kConst: return Growth{};
    case Op::kMoveP:
    case Op::kAddImmI64: return operand(i->b);
    case Op::kAddI64: {
      std::optional<Growth> sum = operand(i->b);
      const std::optional<Growth> right = operand(i->c);
      if (!sum || !right) return std::nullopt;
      for (unsigned d = 0; d < record_.dimensions; ++d) (*sum)[d] += (*right)[d];
      return std::ranges::max(*sum) <= 1 ? sum : std::nullopt;
    }
    case Op::kSubI64: return is_same(i->c) ? operand(i->b) : std::nullopt;
    case Op::kMulI64: return is_same(i->b) && is_same(i->c) ? std::optional(Growth{}) : std::nullopt;
    default: return std::nullopt;
  }
}

// ---- The code

// The register's value at `pc` in an iteration, if growth() can analyse it.
Value* LoopInPlace::value_in(llvm::ArrayRef<Value*> iteration, std::uint32_t pc, std::uint32_t reg) {
  const Instruction* const i = definition(pc, reg).instruction;
  // The window has two bounds for each index of the kernel.
  if (i == nullptr) {
    return reg < record_.dimensions ? iteration[reg]
                                    : registers_.get_i64(parallel_for_.a + record_.dimensions + reg);
  }
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
    case Op::kIndex2:
    case Op::kIndex3: {
      const std::vector<Value*>& sizes = limits_[i->b].dimensions;
      Value* const row = b_.CreateAdd(b_.CreateMul(operand(i->c), sizes[1]), operand(i->x0()));
      return i->op == Op::kIndex2 ? row : b_.CreateAdd(b_.CreateMul(row, sizes[2]), operand(i->x1()));
    }
    default: return ir_.constant(static_cast<std::uint64_t>(std::int64_t{i->bc}));  // kImm
  }
}

// The body as a function, to be inlined. It returns the number of the site of a trap, or 0.
bool LoopInPlace::lower_body() {
  std::set<CallPath> proven;
  for (const Instruction& i : code_) {
    if (i.has(bytecode::kTraps) && !checked_.contains(i.pc)) proven.insert({{record_.function, i.pc}});
  }
  Result<KernelBody> body = lower_kernel(unit_.bytecode, parallel_for_.c, proven, unit_.module,
                                         {.can_be_stopped = false, .reports_traps = false});
  if (!body.ok()) return false;
  body_ = body->function;
  scalars_ = body->scalars;
  accumulators_ = body->accumulators;
  body_->addFnAttr(llvm::Attribute::AlwaysInline);
  // In kernels, descriptors are constant. These are written before the loop.
  for (llvm::Instruction& instruction : llvm::instructions(*body_))
    instruction.setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
  return true;
}

std::vector<Value*> LoopInPlace::emit(BasicBlock* otherwise) {
  otherwise_ = otherwise;
  Value* most = ir_.load(b_.getInt64Ty(), ir_.byte_offset(frame_.state, unit_.layout.state.most_in_place),
                         {Access::kContext, Access::kMostInPlace});
  if (runs_alone()) most = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, most, ir_.constant(kMostAlone));
  const auto go_on_if = [&](Value* condition, const char* name) {
    BasicBlock* const go_on = ir_.new_block(name);
    b_.CreateCondBr(condition, go_on, otherwise);
    b_.SetInsertPoint(go_on);
  };
  Value* iterations = ir_.constant(1);
  Value* few = b_.getTrue();
  const auto is_few = [&](Value* count) {  // within the limit, and at least one
    return b_.CreateICmpULT(b_.CreateSub(count, ir_.constant(1)), most);
  };
  std::vector<Value*> last;
  for (unsigned d = 0; d < record_.dimensions; ++d) {
    low_.push_back(registers_.get_i64(parallel_for_.a + 2 * d));
    high_.push_back(registers_.get_i64(parallel_for_.a + 2 * d + 1));
    last.push_back(b_.CreateSub(high_[d], ir_.constant(1)));
    Value* const extent = b_.CreateSub(high_[d], low_[d]);
    iterations = b_.CreateMul(iterations, extent);
    // The difference alone is not enough: it wraps.
    few = b_.CreateAnd(few, b_.CreateAnd(is_few(extent), b_.CreateICmpSLT(low_[d], high_[d])));
  }
  go_on_if(record_.dimensions == 1 ? few : b_.CreateAnd(few, is_few(iterations)), "few");
  Value* const arrays = describe_arrays(otherwise);
  go_on_if(all_inside(low_, last), "in.place");
  std::vector<Value*> results;
  if (accumulators_.empty()) {
    std::vector<Value*> indices;
    emit_dimension(indices, arrays);
  } else {
    results = emit_reductions(low_[0], high_[0], arrays);
  }
  count(ir_.constant(1), iterations);
  return results;
}

void LoopInPlace::emit_dimension(std::vector<Value*>& indices, Value* arrays) {
  const std::size_t d = indices.size();
  if (d == record_.dimensions) {
    call_body(indices, arrays, {});
    return;
  }
  emit_counted(low_[d], high_[d], 1, [&](Value* index) {
    indices.push_back(index);
    emit_dimension(indices, arrays);
    indices.pop_back();
  });
}

// Descriptors of the arrays for the body. Only fields that it reads remain.
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
                       .writable = lowering_.array_field(array, ArrayField::kWritable),
                       .dimensions = {}});
    set(offsetof(KernelArray, data), lowering_.array_field(array, ArrayField::kData));
    set(offsetof(KernelArray, shape.readable), limits_.back().readable);
    set(offsetof(KernelArray, shape.writable), limits_.back().writable);
    set(offsetof(KernelArray, shape.length), lowering_.array_field(array, ArrayField::kLength));
    for (unsigned d = 0; d < used_dimensions_[n]; ++d) {
      // Only arrays of more than one dimension use more than one size.
      Value* const size = lowering_.array_dimension(array, d, used_dimensions_[n] == 1);
      limits_.back().dimensions.push_back(size);
      set(offsetof(KernelArray, shape.dims) + 8 * d, size);
    }
  }
  return made;
}

// Indices grow by at most one with each loop index: an index in range in the first and the last iteration is in range
// in between. So is a linear index, which grows with its indices.
Value* LoopInPlace::all_inside(llvm::ArrayRef<Value*> first, llvm::ArrayRef<Value*> last) {
  Value* all = b_.getTrue();
  const auto stays_below = [&](std::uint32_t pc, std::uint32_t index, Value* limit) {
    for (const llvm::ArrayRef<Value*> iteration : {first, last})
      all = b_.CreateAnd(all, b_.CreateICmpULT(value_in(iteration, pc, index), limit));
  };
  for (const Instruction& i : positions_) {
    const std::vector<Value*>& sizes = limits_[i.b].dimensions;
    stays_below(i.pc, i.c, sizes[0]);
    stays_below(i.pc, i.x0(), sizes[1]);
    if (i.op == Op::kIndex3) stays_below(i.pc, i.x1(), sizes[2]);
  }
  for (const Element& element : elements_) {
    const Limits& limits = limits_[element.array];
    stays_below(element.pc, element.index, element.write ? limits.writable : limits.readable);
  }
  return all;
}

// Updates the virtual machine's counters of loops.
void LoopInPlace::count(Value* loops, Value* iterations) {
  const auto add = [&](std::uint32_t offset, Access::ContextPart part, Value* more) {
    Value* const place = ir_.byte_offset(frame_.state, offset);
    const Access access{Access::kContext, part};
    ir_.store(b_.CreateAdd(ir_.load(b_.getInt64Ty(), place, access), more), place, access);
  };
  const StateLayout& state = unit_.layout.state;
  add(state.parallel_loops, Access::kParallelLoops, loops);
  add(state.parallel_iterations, Access::kParallelIterations, iterations);
  add(state.fuel_batched, Access::kFuelBatched, iterations);
}

// Leaves the rest of the loop to the virtual machine if the iteration traps, which happens before its stores. A loop
// without stores starts again there.
void LoopInPlace::leave_if_trapped(llvm::CallInst* result, Value* index) {
  BasicBlock* const trapped = ir_.new_block("trapped");
  BasicBlock* const go_on = ir_.new_block("go.on");
  ir_.branch_cold(b_.CreateICmpNE(b_.CreateExtractValue(result, kSite), b_.getInt32(0)), trapped, go_on);
  b_.SetInsertPoint(trapped);
  if (stores_) {
    count(ir_.constant(0), b_.CreateSub(index, low_[0]));
    registers_.set(parallel_for_.a, index);
  }
  b_.CreateBr(otherwise_);
  b_.SetInsertPoint(go_on);
}

// One block in the language's order of reductions: iteration j adds to lane j mod 32, and the lanes combine pairwise.
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
    llvm::CallInst* const result = call_body({b_.CreateAdd(first, lane)}, arrays, before);
    for (unsigned n = 0; n < lanes.size(); ++n)
      b_.CreateStore(b_.CreateExtractValue(result, kAccumulators + n), places[n]);
  };
  // First whole rounds of lanes, whose length LLVM knows, then the rest.
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

llvm::CallInst* LoopInPlace::call_body(llvm::ArrayRef<Value*> indices, Value* arrays,
                                       llvm::ArrayRef<Value*> accumulators) {
  std::vector<Value*> arguments = {arrays, llvm::ConstantPointerNull::get(b_.getPtrTy()),
                                   llvm::ConstantPointerNull::get(b_.getPtrTy())};
  arguments.insert(arguments.end(), indices.begin(), indices.end());
  const std::uint32_t dimensions = record_.dimensions;
  for (std::uint32_t n = 0; n < scalars_.size(); ++n) {
    const std::uint32_t reg = parallel_for_.a + 2 * dimensions + n;
    arguments.push_back(registers_.get(reg, parameter_type(kernel_.signature, dimensions + n)));
  }
  arguments.insert(arguments.end(), accumulators.begin(), accumulators.end());
  llvm::CallInst* const result = b_.CreateCall(body_, arguments);
  if (!checked_.empty()) leave_if_trapped(result, indices[0]);
  return result;
}

}  // namespace dhpvm::codegen
