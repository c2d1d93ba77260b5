// SPDX-License-Identifier: Apache-2.0
// The functions that fill and drain the buffers of staged operands.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <string>
#include <utility>

#include "codegen/spmd/counted_loop.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen::spmd {
namespace {

using llvm::BasicBlock;
using llvm::Value;

class RowCopyEmitter {
 public:
  RowCopyEmitter(llvm::Function& function, const RowCopyForm& form)
      : function_(function),
        form_(form),
        b_(BasicBlock::Create(function.getContext(), "entry", &function)),
        element_(b_.getIntNTy(form.element_bits)),
        align_(form.element_bits / 8) {}

  // Transposes squares of as many lanes as a vector has elements; remaining turns are copied element by element.
  void run() {
    const unsigned side = std::min(form_.width, form_.vector_bits / form_.element_bits);
    Value* const turns = function_.getArg(2);
    Value* const whole = b_.CreateAnd(turns, number(~std::uint64_t{side - 1}));
    store_pointers();
    counted(number(0), number(form_.width), side, [&](Value* lane) {
      llvm::SmallVector<Value*, 16> rows;
      for (unsigned n = 0; n < side; ++n) rows.push_back(row(b_.CreateAdd(lane, number(n))));
      counted(number(0), whole, side, [&](Value* turn) { transpose(rows, lane, turn); });
      counted(whole, turns, 1, [&](Value* turn) {
        for (unsigned n = 0; n < side; ++n) {
          Value* const in_row = b_.CreateInBoundsGEP(element_, rows[n], turn);
          Value* const in_buffer = place(turn, b_.CreateAdd(lane, number(n)));
          const bool fills = form_.direction == RowCopy::kFill;
          store(load(element_, fills ? in_row : in_buffer), fills ? in_buffer : in_row);
        }
      });
    });
    b_.CreateRetVoid();
  }

 private:
  llvm::ConstantInt* number(std::uint64_t value) { return b_.getInt64(value); }

  template <typename Body>
  void counted(Value* low, Value* high, unsigned step, Body&& body) {
    counted_loop(b_, low, high, number(step), "rows", std::forward<Body>(body));
  }

  // Stores the lanes' row pointers in memory, because they are indexed dynamically.
  void store_pointers() {
    Value* const pointers = function_.getArg(1);
    pointers_ = b_.CreateAlloca(pointers->getType());
    b_.CreateStore(pointers, pointers_);
  }
  Value* row(Value* lane) {
    return b_.CreateLoad(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getPtrTy(), pointers_, lane));
  }
  Value* place(Value* turn, Value* lane) {
    Value* const index = b_.CreateAdd(b_.CreateMul(turn, number(form_.width)), lane);
    return b_.CreateInBoundsGEP(element_, function_.getArg(0), index);
  }
  Value* load(llvm::Type* type, Value* from) { return b_.CreateAlignedLoad(type, from, align_); }
  void store(Value* value, Value* to) { b_.CreateAlignedStore(value, to, align_); }

  // Exchanges the off-diagonal quarters, and then recursively those of each quarter.
  void transpose(llvm::ArrayRef<Value*> rows, Value* lane, Value* turn) {
    const auto side = static_cast<unsigned>(rows.size());
    llvm::Type* const vector = llvm::FixedVectorType::get(element_, side);
    llvm::SmallVector<Value*, 16> in_rows;
    llvm::SmallVector<Value*, 16> in_buffer;
    for (unsigned n = 0; n < side; ++n) {
      in_rows.push_back(b_.CreateInBoundsGEP(element_, rows[n], turn));
      in_buffer.push_back(place(b_.CreateAdd(turn, number(n)), lane));
    }
    const bool fills = form_.direction == RowCopy::kFill;
    llvm::SmallVector<Value*, 16> lines;
    for (Value* from : fills ? in_rows : in_buffer) lines.push_back(load(vector, from));
    for (unsigned half = side / 2; half > 0; half /= 2) {
      llvm::SmallVector<int, 16> upper;
      llvm::SmallVector<int, 16> lower;
      for (unsigned n = 0; n < side; ++n) {
        const bool is_second = (n & half) != 0;
        upper.push_back(static_cast<int>(is_second ? side + n - half : n));
        lower.push_back(static_cast<int>(is_second ? side + n : n + half));
      }
      for (unsigned n = 0; n < side; ++n) {
        if ((n & half) != 0) continue;
        Value* const first = lines[n];
        lines[n] = b_.CreateShuffleVector(first, lines[n + half], upper);
        lines[n + half] = b_.CreateShuffleVector(first, lines[n + half], lower);
      }
    }
    for (unsigned n = 0; n < side; ++n) store(lines[n], (fills ? in_buffer : in_rows)[n]);
  }

  llvm::Function& function_;
  const RowCopyForm& form_;
  llvm::IRBuilder<> b_;
  llvm::Type* const element_;
  const llvm::Align align_;
  Value* pointers_ = nullptr;
};

}  // namespace

// A separate function that is not inlined: it is called outside the inner loop, in several places.
llvm::Function* copy_rows(llvm::Module& module, const RowCopyForm& form) {
  const std::string name = std::string(form.direction == RowCopy::kFill ? kFillFromRows : kDrainToRows) +
                           ".lanes" + std::to_string(form.width) + ".i" + std::to_string(form.element_bits);
  if (llvm::Function* const made = module.getFunction(name)) return made;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const pointer = llvm::PointerType::get(context, 0);
  llvm::Type* const rows = llvm::FixedVectorType::get(pointer, form.width);
  auto* const type = llvm::FunctionType::get(
      llvm::Type::getVoidTy(context), {pointer, rows, llvm::Type::getInt64Ty(context)}, /*isVarArg=*/false);
  auto* const function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->setDoesNotThrow();
  function->setWillReturn();
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  RowCopyEmitter(*function, form).run();
  return function;
}

}  // namespace dhpvm::codegen::spmd
