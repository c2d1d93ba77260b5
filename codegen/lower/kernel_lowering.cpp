// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/kernel_lowering.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LoopDeletion.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>

#include "base/error.h"

namespace dhpvm::codegen {
namespace {

using bytecode::Family;
using llvm::BasicBlock;

// The limit of inlined code: more would take seconds to compile.
constexpr std::uint32_t kMaximumWords = 20000;
// Iterations of a counted loop between two polls of the stop flag: some tens of microseconds.
constexpr std::uint64_t kPollInterval = 1 << 14;

// The state shared by the functions inlined into one body.
struct BodyState {
  llvm::Function* function;
  llvm::Function* trap;      // null: the result reports traps
  llvm::StructType* result;  // null: there is no result
  const std::set<CallPath>& proven;
  const KernelForm& form;
  unsigned innermost_index;  // its parameter number
  std::vector<KernelSite> sites;
  std::uint32_t words = 0;
  bool too_large = false;
};

class KernelLowering final : public Lowering {
 public:
  KernelLowering(const bytecode::Module& module, std::uint32_t index, llvm::IRBuilder<>& builder,
                 BodyState& state, CallPath callers)
      : Lowering(module, index, builder,
                 state.form.can_be_stopped ? LoopSearch::kCounted : LoopSearch::kNone),
        state_(state),
        callers_(std::move(callers)) {
    state_.words += source_.code_size;
  }

  // Lowers the body itself: its parameters are those of the LLVM function.
  void run_body(const bytecode::KernelRecord& kernel) {
    llvm::Function& function = *state_.function;
    const Split in = split(source_.signature.parameters);
    for (std::uint32_t reg = 0; reg < in.primitives; ++reg)
      registers_.set(reg, function.getArg(kIndices + reg));
    for (std::uint32_t reg = 0; reg < in.references; ++reg) {
      registers_.set_reference(reg, ir_.byte_offset(function.getArg(kArrays), sizeof(KernelArray) * reg));
    }
    accumulators_ = static_cast<std::uint32_t>(kernel.reductions.size());
    begin();
  }

  // Lowers a call in `caller`, with these arguments. Leaves the builder after the call.
  std::vector<Value*> run_call(const std::vector<Value*>& arguments) {
    std::uint32_t p = 0;
    std::uint32_t r = 0;
    for (std::size_t n = 0; n < arguments.size(); ++n) {
      if (source_.signature.parameters[n].is_ref()) {
        registers_.set_reference(r++, arguments[n]);
      } else {
        registers_.set(p++, arguments[n]);
      }
    }
    return_ = ir_.new_block("return");
    for (const bytecode::ValueType& type : source_.signature.results) {
      results_.push_back(
          ir_.entry_alloca(type.is_ref() ? b_.getPtrTy() : ir_.llvm_type(slot_type(type.kind)), "result"));
    }
    begin();
    b_.SetInsertPoint(return_);
    std::vector<Value*> values;
    for (llvm::AllocaInst* slot : results_) values.push_back(b_.CreateLoad(slot->getAllocatedType(), slot));
    return values;
  }

 private:
  void begin() {
    make_locals();
    for (std::size_t local = 0; local < locals_.size(); ++local) zero_local(local);
    lower_body();
  }

  // ---- Arrays: pointers to KernelArray, which do not change while the loop runs.

  Value* descriptor_field(Value* array, std::uint64_t offset, llvm::Type* type) {
    return ir_.load(type, ir_.byte_offset(array, offset), {Access::kConstant, offset});
  }
  Value* array_field(Value* array, ArrayField field) override {
    switch (field) {
      case ArrayField::kData:
        return descriptor_field(array, offsetof(KernelArray, data), b_.getPtrTy(state_.form.element_space));
      case ArrayField::kReadable:
        return descriptor_field(array, offsetof(KernelArray, shape.readable), b_.getInt64Ty());
      case ArrayField::kWritable:
        return descriptor_field(array, offsetof(KernelArray, shape.writable), b_.getInt64Ty());
      default: return descriptor_field(array, offsetof(KernelArray, shape.length), b_.getInt64Ty());
    }
  }
  Value* array_dimension(Value* array, unsigned dimension, bool) override {
    return descriptor_field(array, offsetof(KernelArray, shape.dims) + 8 * dimension, b_.getInt64Ty());
  }
  // No element of a null array is accessible, so only size queries need a check.
  void check_array(const Instruction& i, Value* array) override {
    if (i.row->family != Family::kArrayLength && i.row->family != Family::kArrayDim &&
        i.row->family != Family::kIndex)
      return;
    if (is_proven(i)) return;
    guard(b_.CreateICmpSGE(array_field(array, ArrayField::kLength), ir_.constant(0)), i, TrapKind::kNull);
  }
  void inaccessible(const Instruction& i, Value*, Value*, bool write, BasicBlock*) override {
    leave(i, write ? KernelSite::Kind::kWrite : KernelSite::Kind::kRead, TrapKind::kNull);
  }
  void element_stored(const Instruction&) override {}
  bool is_proven(const Instruction& i) const override {
    if (state_.proven.empty()) return false;
    CallPath path = {{index_, i.pc}};
    path.insert(path.end(), callers_.begin(), callers_.end());
    return state_.proven.contains(path);
  }
  bool needs_atomics() const override { return true; }

  // ---- Leaving

  void leave_with_trap(const Instruction& i, TrapKind kind) override {
    leave(i, KernelSite::Kind::kTrap, kind);
  }

  void leave(const Instruction& i, KernelSite::Kind kind, TrapKind trap) {
    KernelSite site;
    site.kind = kind;
    site.trap = trap;
    site.calls.push_back({index_, i.pc});
    site.calls.insert(site.calls.end(), callers_.begin(), callers_.end());
    state_.sites.push_back(std::move(site));
    Value* array = b_.getInt32(0);
    if (const auto reference = trap_reference(i)) {
      Value* const distance =
          b_.CreateSub(b_.CreatePtrToInt(registers_.get_reference(*reference), b_.getInt64Ty()),
                       b_.CreatePtrToInt(state_.function->getArg(kArrays), b_.getInt64Ty()));
      array = b_.CreateTrunc(b_.CreateUDiv(distance, ir_.constant(sizeof(KernelArray))), b_.getInt32Ty());
    }
    const std::array<Value*, 3> operands = trap_operands(i);
    const auto number = static_cast<std::uint32_t>(state_.sites.size());
    if (state_.trap != nullptr) {
      report(b_.getInt32(number - 1), array, operands);
      return;
    }
    Value* result = llvm::PoisonValue::get(state_.result);
    result = b_.CreateInsertValue(result, b_.getInt32(number), kSite);
    result = b_.CreateInsertValue(result, array, kTrapArray);
    for (unsigned n = 0; n < operands.size(); ++n) {
      result = b_.CreateInsertValue(result, operands[n], kOperands + n);
    }
    b_.CreateRet(result);
  }

  void report(Value* site, Value* array, const std::array<Value*, 3>& operands) {
    Value* const traps = state_.function->getArg(kTraps);
    Value* const index = state_.function->getArg(state_.innermost_index);
    b_.CreateCall(state_.trap, {traps, index, site, array, operands[0], operands[1], operands[2]});
    if (state_.result == nullptr) {
      b_.CreateRetVoid();
    } else {
      b_.CreateRet(llvm::PoisonValue::get(state_.result));
    }
  }

  void tick(const Instruction&, BasicBlock*) override {
    if (!state_.form.can_be_stopped) return;
    llvm::LoadInst* const stop = b_.CreateLoad(b_.getInt32Ty(), state_.function->getArg(kStop));
    stop->setAtomic(llvm::AtomicOrdering::Monotonic);
    stop->setAlignment(llvm::Align(4));
    BasicBlock* const stopped = ir_.new_block("stopped");
    BasicBlock* const go_on = ir_.new_block("ok");
    ir_.branch_cold(b_.CreateICmpNE(stop, b_.getInt32(0)), stopped, go_on);
    b_.SetInsertPoint(stopped);
    report(b_.getInt32(kStopSite), b_.getInt32(0), {ir_.constant(0), ir_.constant(0), ir_.constant(0)});
    b_.SetInsertPoint(go_on);
  }
  Value* ticks_at_hand() override { return ir_.constant(kPollInterval); }
  bool has_even_strips() const override { return true; }
  void take_ticks(Value*) override {}
  void give_ticks(Value*) override {}

  void lower_return(const Instruction& i) override {
    std::uint32_t p = 0;
    std::uint32_t r = 0;
    const auto& types = source_.signature.results;
    if (return_ != nullptr) {
      for (std::size_t n = 0; n < types.size(); ++n) {
        Value* const value =
            types[n].is_ref()
                ? registers_.get_reference(i.row->family == Family::kReturnR ? i.a : r++)
                : registers_.get(i.row->family == Family::kReturnP ? i.a : p++, slot_type(types[n].kind));
        b_.CreateStore(value, results_[n]);
      }
      b_.CreateBr(return_);
      return;
    }
    if (state_.result == nullptr) {
      b_.CreateRetVoid();
      return;
    }
    Value* result = llvm::PoisonValue::get(state_.result);
    if (state_.trap == nullptr) result = b_.CreateInsertValue(result, b_.getInt32(0), kSite);
    const unsigned first = state_.trap == nullptr ? kAccumulators : 0U;
    for (std::uint32_t n = 0; n < accumulators_; ++n) {
      Value* const value =
          registers_.get(i.row->family == Family::kReturnP ? i.a : n, slot_type(types[n].kind));
      result = b_.CreateInsertValue(result, value, first + n);
    }
    b_.CreateRet(result);
  }

  void lower_special(const Instruction& i) override {
    // Calls are the only remaining instructions that the verifier allows in kernels.
    if (state_.words + module_.functions[i.c].code_size > kMaximumWords) {
      state_.too_large = true;
      b_.CreateUnreachable();
      return;
    }
    const bytecode::Signature& signature = module_.functions[i.c].signature;
    std::vector<Value*> arguments;
    std::uint32_t p = i.a;
    std::uint32_t r = i.b;
    for (const bytecode::ValueType& parameter : signature.parameters) {
      arguments.push_back(parameter.is_ref() ? registers_.get_reference(r++)
                                             : registers_.get(p++, slot_type(parameter.kind)));
    }
    CallPath callers = {{index_, i.pc}};
    callers.insert(callers.end(), callers_.begin(), callers_.end());
    KernelLowering callee(module_, i.c, b_, state_, std::move(callers));
    const std::vector<Value*> results = callee.run_call(arguments);
    p = i.a;
    r = i.b;
    for (std::size_t n = 0; n < results.size(); ++n) {
      if (signature.results[n].is_ref()) {
        registers_.set_reference(r++, results[n]);
      } else {
        registers_.set(p++, results[n]);
      }
    }
  }

  BodyState& state_;
  const CallPath callers_;  // innermost first
  std::uint32_t accumulators_ = 0;
  BasicBlock* return_ = nullptr;  // for an inlined function: the block after the call
  std::vector<llvm::AllocaInst*> results_;
};

// Removes the polls of loops that have a known number of turns, those of inner loops included, of no more than a
// counted loop does between two polls. A poll may leave the loop, so it keeps LLVM from doing several turns together,
// in the loop and in those around it.
class WithoutPolls : public llvm::PassInfoMixin<WithoutPolls> {
 public:
  // `removed` becomes true if there was one.
  WithoutPolls(const llvm::Value* stop, bool& removed) : stop_(stop), removed_(removed) {}

  llvm::PreservedAnalyses run(llvm::Function& body, llvm::FunctionAnalysisManager& analyses) {
    const auto& loops = analyses.getResult<llvm::LoopAnalysis>(body);
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(body);
    for (const llvm::Loop* loop : loops) visit(*loop, loops, evolution);
    return llvm::PreservedAnalyses::none();
  }

 private:
  // Returns the most turns that an execution of the loop does without a poll.
  std::uint64_t visit(const llvm::Loop& loop, const llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution) {
    std::uint64_t turn = 1;
    for (const llvm::Loop* inner : loop) turn += visit(*inner, loops, evolution);
    const std::uint64_t turns = evolution.getSmallConstantMaxTripCount(&loop);
    if (turns == 0 || turns > kPollInterval / turn) return kPollInterval;
    for (BasicBlock* block : loop.blocks()) {
      if (loops.getLoopFor(block) == &loop) remove_polls(*block);
    }
    return turns * turn;
  }

  void remove_polls(BasicBlock& block) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load == nullptr || load->getPointerOperand() != stop_) continue;
      load->replaceAllUsesWith(llvm::ConstantInt::get(load->getType(), 0));
      load->eraseFromParent();
      removed_ = true;
    }
  }

  const llvm::Value* stop_;
  bool& removed_;
};

// Whether there was such a loop.
bool poll_seldom(llvm::Function& body) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);
  llvm::FunctionPassManager passes;
  // Registers become values, and the loop over the strips of a counted loop goes if there is one strip.
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setVerifyFixpoint(false)));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopDeletionPass()));
  bool removed = false;
  passes.addPass(WithoutPolls(body.getArg(kStop), removed));
  passes.run(body, functions);
  return removed;
}

// The same for a copy: kernels without such loops keep the form that the following passes are made for.
bool may_poll_seldom(llvm::Function& body) {
  llvm::ValueToValueMapTy values;
  llvm::Function* const copy = llvm::CloneFunction(&body, values);
  const bool removed = poll_seldom(*copy);
  copy->eraseFromParent();
  return removed;
}

// Rarely called, so it must not impede optimisation: it writes only to the memory of its first argument, and reads
// nothing else.
llvm::Function* declare_trap(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const pointer = llvm::PointerType::get(context, 0);
  llvm::Type* const i32 = llvm::Type::getInt32Ty(context);
  llvm::Type* const i64 = llvm::Type::getInt64Ty(context);
  auto* const type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, i64, i32, i32, i64, i64, i64}, false);
  auto* const trap = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "trap", module);
  trap->addParamAttr(0, llvm::Attribute::NoCapture);
  trap->setOnlyAccessesArgMemory();
  trap->setDoesNotThrow();
  trap->setWillReturn();
  trap->addFnAttr(llvm::Attribute::Cold);
  trap->addFnAttr(llvm::Attribute::NoInline);
  return trap;
}

}  // namespace

Result<KernelBody> lower_kernel(const bytecode::Module& bytecode, std::uint32_t kernel,
                                const std::set<CallPath>& proven, llvm::Module& module,
                                const KernelForm& form) {
  const bytecode::KernelRecord& record = bytecode.kernels[kernel];
  const bytecode::Signature& signature = bytecode.functions[record.function].signature;
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  const auto type_of = [&](bytecode::Kind kind) -> llvm::Type* {
    switch (slot_type(kind)) {
      case SlotType::kI32: return b.getInt32Ty();
      case SlotType::kF32: return b.getFloatTy();
      case SlotType::kF64: return b.getDoubleTy();
      default: return b.getInt64Ty();
    }
  };
  KernelBody body;
  std::vector<llvm::Type*> parameters = {b.getPtrTy(), b.getPtrTy(), b.getPtrTy()};
  std::uint32_t position = 0;
  const Split in = split(signature.parameters);
  for (const bytecode::ValueType& parameter : signature.parameters) {
    if (parameter.is_ref()) continue;
    parameters.push_back(type_of(parameter.kind));
    if (position >= record.dimensions && position < in.primitives - record.reductions.size()) {
      body.scalars.push_back(parameters.back());
    }
    ++position;
  }
  std::vector<llvm::Type*> results;
  if (!form.reports_traps)
    results = {b.getInt32Ty(), b.getInt32Ty(), b.getInt64Ty(), b.getInt64Ty(), b.getInt64Ty()};
  for (const bytecode::Reduction& reduction : record.reductions)
    body.accumulators.push_back(type_of(reduction.kind));
  results.insert(results.end(), body.accumulators.begin(), body.accumulators.end());
  llvm::StructType* const result = results.empty() ? nullptr : llvm::StructType::get(context, results);
  llvm::Type* const returned = result == nullptr ? b.getVoidTy() : result;
  body.function = llvm::Function::Create(llvm::FunctionType::get(returned, parameters, false),
                                         llvm::GlobalValue::InternalLinkage, "body", module);
  body.function->setDoesNotThrow();
  if (form.reports_traps) body.trap = declare_trap(module);
  body.function->addParamAttr(kTraps, llvm::Attribute::NoAlias);
  const std::uint64_t descriptors = std::max<std::uint64_t>(1, in.references) * sizeof(KernelArray);
  llvm::AttrBuilder attributes(context);
  attributes.addDereferenceableAttr(descriptors).addAttribute(llvm::Attribute::NoAlias);
  attributes.addAttribute(llvm::Attribute::ReadOnly).addAlignmentAttr(8);
  body.function->addParamAttrs(kArrays, attributes);
  b.SetInsertPoint(BasicBlock::Create(context, "entry", body.function));
  if (record.fast_math) {
    // `@fastmath` allows reassociation, contraction, reciprocals, and ignoring the sign of zero. Infinities and NaN are
    // preserved.
    llvm::FastMathFlags flags;
    flags.setAllowReassoc();
    flags.setAllowContract(true);
    flags.setAllowReciprocal();
    flags.setNoSignedZeros();
    b.setFastMathFlags(flags);
  }
  BodyState state{body.function, body.trap, result, proven, form, kIndices + record.dimensions - 1U, {}, 0,
                  false};
  KernelLowering(bytecode, record.function, b, state, {}).run_body(record);
  if (state.too_large) {
    return error(
        ErrorCode::kUnsupported,
        "the loop and the functions that it calls are more than {} words of code when they are put together",
        kMaximumWords);
  }
  if (form.can_be_stopped && !body.function->getArg(kStop)->use_empty() && may_poll_seldom(*body.function))
    poll_seldom(*body.function);
  if (body.trap != nullptr && body.trap->use_empty()) {
    body.trap->eraseFromParent();
    body.trap = nullptr;
  }
  body.sites = std::move(state.sites);
  return body;
}

}  // namespace dhpvm::codegen
