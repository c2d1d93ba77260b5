// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/update_windows.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "codegen/device/builtins.h"
#include "codegen/kernel_abi.h"
#include "codegen/spmd/counted_loop.h"

namespace dhpvm::codegen {
namespace {

using llvm::Value;
using Rmw = llvm::AtomicRMWInst;

constexpr std::uint64_t kAlignment = 8;  // of copies in local memory

const bytecode::Type& type_of_array(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                                    unsigned array) {
  unsigned number = 0;
  for (const bytecode::ValueType& type : bytecode.functions[record.function].signature.parameters) {
    if (type.is_ref() && number++ == array) return bytecode.types[type.type];
  }
  return bytecode.types.front();
}

std::uint64_t size_of_element(const bytecode::Module& bytecode, const bytecode::Type& array) {
  return array.element.is_ref() ? bytecode.types[array.element.type].size : size_of(array.element.kind);
}

void update(llvm::IRBuilder<>& b, Rmw::BinOp operation, Value* address, Value* operand) {
  const llvm::Align alignment(operand->getType()->getPrimitiveSizeInBits() / 8);
  b.CreateAtomicRMW(operation, address, operand, alignment, llvm::AtomicOrdering::Monotonic);
}

// The builder is at the open end of a block, before and afterwards.
template <typename Body>
void only_if(llvm::IRBuilder<>& b, Value* condition, Body&& body) {
  llvm::Function* const function = b.GetInsertBlock()->getParent();
  auto* const then = llvm::BasicBlock::Create(b.getContext(), "then", function);
  auto* const after = llvm::BasicBlock::Create(b.getContext(), "after", function);
  b.CreateCondBr(condition, then, after);
  b.SetInsertPoint(then);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

// Local memory has 32-bit atomic additions; 64-bit ones would be compare-exchange loops. Two halves give the same sums:
// the work-item whose addition overflows the lower half adds the carry to the upper one.
void add_in_halves(llvm::IRBuilder<>& b, Value* address, Value* operand) {
  llvm::Type* const half = b.getInt32Ty();
  Value* const low = b.CreateTrunc(operand, half);
  Value* const old =
      b.CreateAtomicRMW(Rmw::Add, address, low, llvm::Align(4), llvm::AtomicOrdering::Monotonic);
  Value* const carry = b.CreateZExt(b.CreateICmpULT(b.CreateAdd(old, low), low), half);
  Value* const high = b.CreateAdd(b.CreateTrunc(b.CreateLShr(operand, 32), half), carry);
  Value* const changes = b.CreateICmpNE(high, b.getInt32(0));
  only_if(b, changes,
          [&] { update(b, Rmw::Add, b.CreateInBoundsGEP(b.getInt8Ty(), address, b.getInt64(4)), high); });
}

void update_in_local_memory(llvm::IRBuilder<>& b, Rmw::BinOp operation, Value* address, Value* operand) {
  if (!operand->getType()->isIntegerTy(64)) return update(b, operation, address, operand);
  switch (operation) {
    case Rmw::Add: return add_in_halves(b, address, operand);
    case Rmw::Sub: return add_in_halves(b, address, b.CreateNeg(operand));
    default: return update(b, operation, address, operand);
  }
}

}  // namespace

UpdateWindows::UpdateWindows(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                             llvm::Function& function, llvm::Argument& arrays, Value* index,
                             std::vector<ElementUpdate> updates)
    : function_(function), index_(index), updates_(std::move(updates)) {
  for (const ElementUpdate& update : updates_) {
    const auto is_it = [&](const Window& window) { return window.array == update.array; };
    if (llvm::none_of(windows_, is_it)) add_window(bytecode, record, arrays, update.array);
  }
  if (!windows_.empty())
    memory_ =
        local_array(*function.getParent(), llvm::Type::getInt8Ty(function.getContext()), kMemory, "copies");
}

// Does nothing if updates of the array have different types, or addresses of another form.
void UpdateWindows::add_window(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                               llvm::Argument& arrays, unsigned array) {
  const bytecode::Type& type = type_of_array(bytecode, record, array);
  Window window = {.array = array, .stride = size_of_element(bytecode, type)};
  for (const ElementUpdate& update : updates_) {
    if (update.array != array) continue;
    llvm::Type* const word = update.operand->getType();
    if (window.word != nullptr && window.word != word) return;
    window.word = word;
    window.operation = update.operation == Rmw::Sub ? Rmw::Add : update.operation;
    if (!distance_of(update)) return;
  }
  const std::uint64_t bytes = window.word->getPrimitiveSizeInBits() / 8;
  if (type.rank < 2 || window.stride % bytes != 0) return;
  llvm::IRBuilder<> b(function_.getEntryBlock().getTerminator());
  const auto field = [&](std::uint64_t offset, llvm::Type* of) {
    Value* const address =
        b.CreateInBoundsGEP(b.getInt8Ty(), &arrays, b.getInt64(sizeof(KernelArray) * array + offset));
    return b.CreateLoad(of, address);
  };
  const auto dimension = [&](unsigned d) {
    return field(offsetof(KernelArray, shape.dims) + 8 * d, b.getInt64Ty());
  };
  window.data = field(offsetof(KernelArray, data), b.getPtrTy(kGlobalSpace));
  window.is_there = b.CreateICmpULT(index_, dimension(0));
  window.elements = dimension(1);
  window.first = b.CreateMul(index_, window.elements);
  if (type.rank == 3) {
    window.first = b.CreateMul(window.first, dimension(2));
    window.elements = b.CreateMul(window.elements, dimension(2));
  }
  llvm::IRBuilder<> start(&function_.getEntryBlock(), function_.getEntryBlock().begin());
  window.place = start.CreateAlloca(start.getInt64Ty());
  window.length = start.CreateAlloca(start.getInt64Ty());
  b.CreateStore(b.getInt64(0), window.place);
  b.CreateStore(b.getInt64(0), window.length);
  windows_.push_back(window);
}

std::optional<UpdateWindows::Distance> UpdateWindows::distance_of(const ElementUpdate& update) const {
  const llvm::DataLayout& layout = function_.getParent()->getDataLayout();
  Distance distance;
  Value* address = update.store->getPointerOperand();
  while (auto* const step = llvm::dyn_cast<llvm::GEPOperator>(address)) {
    if (!step->collectOffset(layout, 64, distance.terms, distance.rest)) return std::nullopt;
    address = step->getPointerOperand();
  }
  const auto is_wide = [](const auto& term) { return term.first->getType()->isIntegerTy(64); };
  if (!llvm::isa<llvm::LoadInst>(address) || !llvm::all_of(distance.terms, is_wide)) return std::nullopt;
  return distance;
}

const UpdateWindows::Window* UpdateWindows::window_of(const ElementUpdate& update) const {
  const auto found = std::ranges::find(windows_, update.array, &Window::array);
  return found == windows_.end() ? nullptr : &*found;
}

llvm::Constant* UpdateWindows::identity(const Window& window) const {
  const unsigned bits = window.word->getIntegerBitWidth();
  llvm::APInt value(bits, 0);
  switch (window.operation) {
    case Rmw::And:
    case Rmw::UMin: value = llvm::APInt::getAllOnes(bits); break;
    case Rmw::Min: value = llvm::APInt::getSignedMaxValue(bits); break;
    case Rmw::Max: value = llvm::APInt::getSignedMinValue(bits); break;
    default: break;
  }
  return llvm::ConstantInt::get(window.word, value);
}

Value* UpdateWindows::words_of(llvm::IRBuilder<>& b, const Window& window, Value* elements) const {
  return b.CreateMul(elements, b.getInt64(window.stride * 8 / window.word->getIntegerBitWidth()));
}

Value* UpdateWindows::address_of(llvm::IRBuilder<>& b, const Window& window) const {
  return b.CreateInBoundsGEP(b.getInt8Ty(), memory_, b.CreateLoad(b.getInt64Ty(), window.place));
}

// Distributes the words of the copy over the group.
template <typename Body>
void UpdateWindows::for_words(llvm::IRBuilder<>& b, const Window& window, Body&& body) {
  Value* const words = words_of(b, window, b.CreateLoad(b.getInt64Ty(), window.length));
  Value* const copy = address_of(b, window);
  spmd::counted_loop(b, call_builtin(b, Builtin::kLocalId), words, call_builtin(b, Builtin::kLocalSize),
                     "copy", [&](Value* word) { body(word, b.CreateInBoundsGEP(window.word, copy, word)); });
}

void UpdateWindows::open(llvm::IRBuilder<>& b, Value* turns, Value* groups) {
  Value* used = b.getInt64(0);
  for (const Window& window : windows_) {
    Value* const bytes = b.CreateMul(window.elements, b.getInt64(window.stride));
    // A copy is cleared and merged into the array, which must not take longer than the updates.
    Value* const work = b.CreateMul(words_of(b, window, window.elements), groups);
    // Divided, to avoid overflow.
    Value* const room = b.CreateUDiv(b.CreateSub(b.getInt64(kMemory), used), b.getInt64(window.stride));
    Value* const is_small = b.CreateICmpULE(window.elements, room);
    Value* const is_copied =
        b.CreateAnd(b.CreateAnd(is_small, window.is_there), b.CreateICmpULE(work, turns));
    Value* const none = b.getInt64(0);
    b.CreateStore(used, window.place);
    b.CreateStore(b.CreateSelect(is_copied, window.elements, none), window.length);
    Value* const whole =
        b.CreateAnd(b.CreateAdd(bytes, b.getInt64(kAlignment - 1)), b.getInt64(~(kAlignment - 1)));
    used = b.CreateAdd(used, b.CreateSelect(is_copied, whole, none));
  }
  for (const Window& window : windows_) {
    for_words(b, window, [&](Value*, Value* word) { b.CreateStore(identity(window), word); });
  }
  if (!windows_.empty()) call_builtin(b, Builtin::kBarrier);
}

void UpdateWindows::write_updates() {
  for (const ElementUpdate& each : updates_) {
    Value* const address = each.store->getPointerOperand();
    llvm::BasicBlock* const before = each.store->getParent();
    llvm::BasicBlock* const after = llvm::SplitBlock(before, each.store);
    before->getTerminator()->eraseFromParent();
    llvm::IRBuilder<> b(before);
    if (const Window* const window = window_of(each)) {
      const Distance far = *distance_of(each);
      Value* const stride = b.getInt64(window->stride);
      Value* distance = b.CreateSub(b.getInt(far.rest), b.CreateMul(window->first, stride));
      for (const auto& [term, bytes] : far.terms)
        distance = b.CreateAdd(distance, b.CreateMul(term, b.getInt(bytes)));
      Value* const length = b.CreateMul(b.CreateLoad(b.getInt64Ty(), window->length), stride);
      Value* const is_copied = b.CreateICmpULT(distance, length);
      auto* const copied = llvm::BasicBlock::Create(b.getContext(), "copied", &function_);
      auto* const other = llvm::BasicBlock::Create(b.getContext(), "other", &function_);
      b.CreateCondBr(is_copied, copied, other);
      b.SetInsertPoint(copied);
      Value* const copy = b.CreateInBoundsGEP(b.getInt8Ty(), address_of(b, *window), distance);
      update_in_local_memory(b, each.operation, copy, each.operand);
      b.CreateBr(after);
      b.SetInsertPoint(other);
    }
    update(b, each.operation, address, each.operand);
    b.CreateBr(after);
    each.store->eraseFromParent();
    each.combined->replaceAllUsesWith(llvm::PoisonValue::get(each.combined->getType()));
    each.combined->eraseFromParent();
    each.load->eraseFromParent();
  }
}

void UpdateWindows::close(llvm::IRBuilder<>& b) {
  if (windows_.empty()) return;
  call_builtin(b, Builtin::kBarrier);
  for (const Window& window : windows_) {
    Value* const first =
        b.CreateGEP(b.getInt8Ty(), window.data, b.CreateMul(window.first, b.getInt64(window.stride)));
    for_words(b, window, [&](Value* word, Value* copy) {
      Value* const value = b.CreateLoad(window.word, copy);
      // Elements without updates are not written.
      only_if(b, b.CreateICmpNE(value, identity(window)),
              [&] { update(b, window.operation, b.CreateGEP(window.word, first, word), value); });
    });
  }
  // Before the memory is used again.
  call_builtin(b, Builtin::kBarrier);
}

}  // namespace dhpvm::codegen
