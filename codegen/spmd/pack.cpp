// SPDX-License-Identifier: Apache-2.0
// The functions that fill panels. A header describes the content of its panel: the turns, and their source.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>

#include "codegen/spmd/counted_loop.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen::spmd {
namespace {

using llvm::BasicBlock;
using llvm::Value;

// In the header.
constexpr std::uint64_t kTurns = 0;
constexpr std::uint64_t kStep = 8;
constexpr std::uint64_t kColumns = 16;
constexpr std::uint64_t kPlaces = 64;

llvm::Function* new_function(llvm::Module& module, const std::string& name,
                             llvm::ArrayRef<llvm::Type*> parameters) {
  auto* const type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), parameters, /*isVarArg=*/false);
  auto* const function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->setDoesNotThrow();
  function->setWillReturn();
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  return function;
}

std::string name_of(const char* what, const RowCopyForm& form) {
  return std::string(what) + ".lanes" + std::to_string(form.width) + ".i" + std::to_string(form.element_bits);
}

// A function that returns at once if the header has the given words, and otherwise writes them.
class PanelHeader {
 public:
  PanelHeader(llvm::IRBuilder<>& b, Value* panel) : b_(b), panel_(panel) {}

  // Vectors are compared as a whole.
  void expect(std::uint64_t offset, Value* value) {
    Value* const place = b_.CreateInBoundsGEP(b_.getInt8Ty(), panel_, b_.getInt64(offset));
    Value* same = b_.CreateICmpEQ(b_.CreateAlignedLoad(value->getType(), place, llvm::Align(8)), value);
    if (same->getType()->isVectorTy()) same = b_.CreateAndReduce(same);
    holds_ = holds_ == nullptr ? same : b_.CreateAnd(holds_, same);
    parts_.emplace_back(place, value);
  }
  void return_if_all_are_as_expected() {
    llvm::Function* const function = b_.GetInsertBlock()->getParent();
    BasicBlock* const held = BasicBlock::Create(b_.getContext(), "held", function);
    BasicBlock* const fill = BasicBlock::Create(b_.getContext(), "fill", function);
    b_.CreateCondBr(holds_, held, fill);
    b_.SetInsertPoint(held);
    b_.CreateRetVoid();
    b_.SetInsertPoint(fill);
    for (const auto& [place, value] : parts_) b_.CreateAlignedStore(value, place, llvm::Align(8));
  }
  Value* elements() { return b_.CreateInBoundsGEP(b_.getInt8Ty(), panel_, b_.getInt64(kPanelHeaderBytes)); }

 private:
  llvm::IRBuilder<>& b_;
  Value* const panel_;
  Value* holds_ = nullptr;
  llvm::SmallVector<std::pair<Value*, Value*>, 3> parts_;
};

}  // namespace

llvm::Function* pack_rows(llvm::Module& module, const RowCopyForm& form) {
  const std::string name = name_of(kPackRows, form);
  if (llvm::Function* const made = module.getFunction(name)) return made;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const pointer = llvm::PointerType::get(context, 0);
  llvm::Type* const number = llvm::Type::getInt64Ty(context);
  llvm::Type* const rows = llvm::FixedVectorType::get(pointer, form.width);
  llvm::Function* const function = new_function(module, name, {pointer, rows, number});
  llvm::IRBuilder<> b(BasicBlock::Create(context, "entry", function));
  PanelHeader header(b, function->getArg(0));
  header.expect(kTurns, function->getArg(2));
  header.expect(kPlaces,
                b.CreatePtrToInt(function->getArg(1), llvm::FixedVectorType::get(number, form.width)));
  header.return_if_all_are_as_expected();
  b.CreateCall(copy_rows(module, form), {header.elements(), function->getArg(1), function->getArg(2)});
  b.CreateRetVoid();
  return function;
}

llvm::Function* pack_columns(llvm::Module& module, const RowCopyForm& form) {
  const std::string name = name_of(kPackColumns, form);
  if (llvm::Function* const made = module.getFunction(name)) return made;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const pointer = llvm::PointerType::get(context, 0);
  llvm::Type* const number = llvm::Type::getInt64Ty(context);
  llvm::Function* const function = new_function(module, name, {pointer, pointer, number, number, number});
  Value* const first = function->getArg(1);
  Value* const step = function->getArg(2);
  Value* const turns = function->getArg(3);
  Value* const columns = function->getArg(4);
  llvm::IRBuilder<> b(BasicBlock::Create(context, "entry", function));
  PanelHeader header(b, function->getArg(0));
  header.expect(kTurns, turns);
  header.expect(kStep, step);
  header.expect(kColumns, columns);
  header.expect(kPlaces, b.CreatePtrToInt(first, number));
  header.return_if_all_are_as_expected();
  Value* const elements = header.elements();
  auto* const vector = llvm::FixedVectorType::get(b.getIntNTy(form.element_bits), form.width);
  const llvm::Align align(form.element_bits / 8);
  const auto copy = [&](auto&& load) {
    counted_loop(b, b.getInt64(0), turns, b.getInt64(1), "turns", [&](Value* turn) {
      Value* const from = b.CreateGEP(b.getInt8Ty(), first, b.CreateMul(turn, step));
      b.CreateAlignedStore(load(from), b.CreateInBoundsGEP(vector, elements, turn), llvm::Align(16));
    });
    b.CreateRetVoid();
  };
  BasicBlock* const all = BasicBlock::Create(context, "all", function);
  BasicBlock* const some = BasicBlock::Create(context, "some", function);
  b.CreateCondBr(b.CreateICmpEQ(columns, b.getInt64(~std::uint64_t{0} >> (64 - form.width))), all, some);
  b.SetInsertPoint(all);
  copy([&](Value* from) { return b.CreateAlignedLoad(vector, from, align); });
  b.SetInsertPoint(some);
  Value* const mask = b.CreateBitCast(b.CreateTrunc(columns, b.getIntNTy(form.width)),
                                      llvm::FixedVectorType::get(b.getInt1Ty(), form.width));
  Value* const zero = llvm::Constant::getNullValue(vector);
  copy([&](Value* from) { return b.CreateMaskedLoad(vector, from, align, mask, zero); });
  return function;
}

}  // namespace dhpvm::codegen::spmd
