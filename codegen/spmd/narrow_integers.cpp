// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/narrow_integers.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ValueHandle.h>

namespace dhpvm::codegen::spmd {
namespace {

using llvm::ConstantInt;
using llvm::ConstantRange;
using llvm::Instruction;
using llvm::Value;

bool is_wider(const Value& value, unsigned bits) {
  return value.getType()->isIntegerTy() && value.getType()->getIntegerBitWidth() > bits;
}

// The constant second operand of a shift or a division; null if there is none.
const ConstantInt* second_constant(const Instruction& operation) {
  return llvm::dyn_cast<ConstantInt>(operation.getOperand(1));
}

// The ranges of values, from the types that they were extended from. LLVM's analyses track single bits here, and so
// miss that the difference of two bytes is at least -255. Queried in the order of the function, so that calls do not
// nest.
class Ranges {
 public:
  ConstantRange of(const Value* value) {
    if (const auto* constant = llvm::dyn_cast<ConstantInt>(value)) return ConstantRange(constant->getValue());
    const auto* operation = llvm::dyn_cast<Instruction>(value);
    ConstantRange all = ConstantRange::getFull(value->getType()->getIntegerBitWidth());
    if (operation == nullptr) return all;
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
    const ConstantRange range = compute(*operation, all);
    known_.try_emplace(value, range);
    return range;
  }

  bool fits(const Value* value, unsigned bits) { return of(value).getMinSignedBits() <= bits; }

 private:
  ConstantRange compute(const Instruction& operation, const ConstantRange& all) {
    if (llvm::isa<llvm::ZExtInst, llvm::SExtInst, llvm::TruncInst>(operation)) {
      return of(operation.getOperand(0))
          .castOp(llvm::cast<llvm::CastInst>(operation).getOpcode(), all.getBitWidth());
    }
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&operation)) {
      ConstantRange range = ConstantRange::getEmpty(all.getBitWidth());
      // A value from a later turn can be anything: sums over turns are unbounded.
      for (const Value* incoming : phi->incoming_values()) {
        const bool is_known = !llvm::isa<Instruction>(incoming) || known_.contains(incoming);
        range = range.unionWith(is_known ? of(incoming) : all);
      }
      return range;
    }
    if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(&operation))
      return of(select->getTrueValue()).unionWith(of(select->getFalseValue()));
    if (const auto* extreme = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&operation))
      return ConstantRange::intrinsic(extreme->getIntrinsicID(),
                                      {of(extreme->getLHS()), of(extreme->getRHS())});
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&operation);
        call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::abs)
      return of(call->getArgOperand(0)).abs();
    if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&operation))
      return of(binary->getOperand(0)).binaryOp(binary->getOpcode(), of(binary->getOperand(1)));
    return all;
  }

  llvm::DenseMap<const Value*, ConstantRange> known_;
};

class Narrower {
 public:
  Narrower(llvm::Function& function, unsigned bits)
      : function_(function), bits_(bits), type_(llvm::Type::getIntNTy(function.getContext(), bits)) {}

  void run() {
    for (Instruction& instruction : llvm::instructions(function_)) {
      if (!instruction.getType()->isIntegerTy()) continue;
      static_cast<void>(ranges_.of(&instruction));
      if (can_be_narrow(instruction)) chosen_.insert(&instruction);
    }
    leave_out();
    if (!chosen_.empty()) rewrite();
  }

 private:
  // The operands with the type of the result.
  static llvm::SmallVector<Value*, 2> values_of(const Instruction& operation) {
    llvm::SmallVector<Value*, 2> values;
    const bool has_amount = operation.isShift();
    for (const llvm::Use& operand : operation.operands()) {
      const bool is_value = operand->getType() == operation.getType();
      if (is_value && !(has_amount && operand.getOperandNo() == 1)) values.push_back(operand);
    }
    return values;
  }

  // Whether the operation gives the low `bits_` of its result if it gets only those of its operands.
  bool can_be_narrow(Instruction& operation) {
    if (!is_wider(operation, bits_)) return false;
    if (carries_upwards(operation) || brings_low_bits(operation)) return true;
    if (!ranges_.fits(&operation, bits_)) return false;
    if (llvm::any_of(values_of(operation), [&](const Value* value) { return !ranges_.fits(value, bits_); }))
      return false;
    switch (operation.getOpcode()) {
      case Instruction::AShr: return shifts_less(operation);
      case Instruction::LShr: return shifts_less(operation) && is_positive(operation.getOperand(0));
      case Instruction::UDiv:
      case Instruction::URem: return divides(operation) && is_positive(operation.getOperand(0));
      case Instruction::SDiv:
      case Instruction::SRem: return divides(operation);
      default: break;
    }
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&operation);
    return call != nullptr &&
           (llvm::isa<llvm::MinMaxIntrinsic>(call) || call->getIntrinsicID() == llvm::Intrinsic::abs);
  }

  // Whether each bit of the result depends only on the same and lower bits of the operands.
  bool carries_upwards(const Instruction& operation) const {
    switch (operation.getOpcode()) {
      case Instruction::Add:
      case Instruction::Sub:
      case Instruction::Mul:
      case Instruction::And:
      case Instruction::Or:
      case Instruction::Xor:
      case Instruction::Select:
      case Instruction::PHI: return true;
      case Instruction::Shl: return shifts_less(operation);
      default: return false;
    }
  }
  // Whether only bits of a right shift's result are used that come from the low bits.
  bool brings_low_bits(const Instruction& shift) const {
    if (shift.getOpcode() != Instruction::LShr && shift.getOpcode() != Instruction::AShr) return false;
    if (!shifts_less(shift)) return false;
    const std::uint64_t amount = second_constant(shift)->getZExtValue();
    return llvm::all_of(shift.users(), [&](const llvm::User* user) {
      return llvm::isa<llvm::TruncInst>(user) && amount + user->getType()->getIntegerBitWidth() <= bits_;
    });
  }

  bool shifts_less(const Instruction& shift) const {
    const ConstantInt* const amount = second_constant(shift);
    return amount != nullptr && amount->getValue().ult(bits_);
  }
  static bool divides(const Instruction& division) {
    const ConstantInt* const divisor = second_constant(division);
    return divisor != nullptr && divisor->getValue().isStrictlyPositive();
  }
  bool is_positive(const Value* value) { return !ranges_.of(value).getSignedMin().isNegative(); }

  bool is_narrow(const Value* value) {
    if (llvm::isa<ConstantInt>(value)) return true;
    if (const auto* operation = llvm::dyn_cast<Instruction>(value);
        operation != nullptr && chosen_.contains(const_cast<Instruction*>(operation)))
      return true;
    return llvm::isa<llvm::ZExtInst, llvm::SExtInst>(value) &&
           !is_wider(*llvm::cast<Instruction>(value)->getOperand(0), bits_);
  }
  bool is_all_there(const Value* value) { return is_narrow(value) && ranges_.fits(value, bits_); }

  // Whether the user needs only the low bits of `value`. Some users that become narrow themselves need a value that
  // fits, which has been checked.
  bool takes_narrow(const Instruction& user, const Value& value) {
    if (chosen_.contains(const_cast<Instruction*>(&user))) return true;
    if (llvm::isa<llvm::TruncInst>(user)) return !is_wider(user, bits_);
    if (llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst>(user)) return is_all_there(&value) && converts(user);
    if (llvm::isa<llvm::ICmpInst>(user))
      return is_all_there(user.getOperand(0)) && is_all_there(user.getOperand(1));
    return false;
  }
  // Processors convert integers of 32 bits, and most of them no others in one instruction.
  bool converts(const Instruction& conversion) {
    constexpr unsigned kConverted = 32;
    return bits_ == kConverted &&
           (llvm::isa<llvm::SIToFPInst>(conversion) || is_positive(conversion.getOperand(0)));
  }

  // An operation with a wide operand or user stays wide.
  void leave_out() {
    llvm::SmallVector<Instruction*, 16> work(chosen_.begin(), chosen_.end());
    const auto look_again = [&](Value* value) {
      auto* const operation = llvm::dyn_cast<Instruction>(value);
      if (operation != nullptr && chosen_.contains(operation)) work.push_back(operation);
    };
    while (!work.empty()) {
      Instruction* const operation = work.pop_back_val();
      if (!chosen_.contains(operation)) continue;
      const bool stays =
          llvm::all_of(values_of(*operation), [&](Value* value) { return is_narrow(value); }) &&
          llvm::all_of(operation->users(), [&](llvm::User* user) {
            return takes_narrow(*llvm::cast<Instruction>(user), *operation);
          });
      if (stays) continue;
      chosen_.erase(operation);
      for (Value* operand : operation->operands()) look_again(operand);
      for (llvm::User* user : operation->users()) {
        look_again(user);
        // Both operands of a comparison are narrow, or neither.
        for (Value* operand : user->operands()) look_again(operand);
      }
    }
  }

  void rewrite() {
    llvm::SmallVector<Instruction*, 16> operations;
    llvm::SmallSetVector<Instruction*, 16> users;
    for (Instruction& operation : llvm::instructions(function_)) {
      if (!chosen_.contains(&operation)) continue;
      operations.push_back(&operation);
      for (llvm::User* user : operation.users()) {
        auto* const instruction = llvm::cast<Instruction>(user);
        if (!chosen_.contains(instruction)) users.insert(instruction);
      }
    }
    const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
    for (llvm::BasicBlock* block : order) {
      for (Instruction& operation : *block) {
        if (chosen_.contains(&operation)) narrow_[&operation] = make(operation);
      }
    }
    for (Instruction* operation : operations) {
      auto* const phi = llvm::dyn_cast<llvm::PHINode>(operation);
      if (phi == nullptr) continue;
      auto* const made = llvm::cast<llvm::PHINode>(static_cast<Value*>(narrow_[phi]));
      for (const auto [value, block] : llvm::zip(phi->incoming_values(), phi->blocks()))
        made->addIncoming(narrow(value), block);
    }
    for (Instruction* user : users) replace(*user);
    for (Instruction* operation : operations)
      operation->replaceAllUsesWith(llvm::PoisonValue::get(operation->getType()));
    for (Instruction* operation : operations) operation->eraseFromParent();
    for (Instruction* extension : extensions_) {
      if (extension->use_empty()) extension->eraseFromParent();
    }
  }

  Value* narrow(Value* value) {
    if (const auto* constant = llvm::dyn_cast<ConstantInt>(value))
      return ConstantInt::get(type_, constant->getValue().trunc(bits_));
    llvm::WeakTrackingVH& made = narrow_[value];
    if (made.pointsToAliveValue()) return made;
    auto* const extension = llvm::cast<llvm::CastInst>(value);
    extensions_.push_back(extension);
    llvm::IRBuilder<> b(extension);
    const bool is_signed = llvm::isa<llvm::SExtInst>(extension);
    made = b.CreateIntCast(extension->getOperand(0), type_, is_signed);
    return made;
  }

  Value* make(Instruction& operation) {
    llvm::IRBuilder<> b(&operation);
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&operation))
      return b.CreatePHI(type_, phi->getNumIncomingValues());
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&operation))
      return b.CreateSelect(select->getCondition(), narrow(select->getTrueValue()),
                            narrow(select->getFalseValue()));
    if (auto* extreme = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&operation))
      return b.CreateBinaryIntrinsic(extreme->getIntrinsicID(), narrow(extreme->getLHS()),
                                     narrow(extreme->getRHS()));
    if (llvm::isa<llvm::IntrinsicInst>(operation))
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, narrow(operation.getOperand(0)), b.getFalse());
    const auto opcode = llvm::cast<llvm::BinaryOperator>(operation).getOpcode();
    return b.CreateBinOp(opcode, narrow(operation.getOperand(0)), narrow(operation.getOperand(1)));
  }

  // Replaces a user of narrow values by one with the same result.
  void replace(Instruction& user) {
    llvm::IRBuilder<> b(&user);
    Value* made = nullptr;
    Value* const first = narrow(user.getOperand(0));
    if (auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(&user)) {
      // Sign extension preserves the order of unsigned numbers as well.
      made = b.CreateICmp(compare->getPredicate(), first, narrow(compare->getOperand(1)));
    } else if (llvm::isa<llvm::TruncInst>(user)) {
      made = b.CreateTrunc(first, user.getType());
    } else {
      made = b.CreateSIToFP(first, user.getType());
    }
    user.replaceAllUsesWith(made);
    user.eraseFromParent();
  }

  llvm::Function& function_;
  const unsigned bits_;
  llvm::Type* const type_;
  Ranges ranges_;
  llvm::SmallPtrSet<Instruction*, 16> chosen_;
  llvm::SmallVector<Instruction*, 8> extensions_;
  // Maps an extension from `bits_` to its operand: if that is a truncation, replace() puts another value there.
  llvm::DenseMap<Value*, llvm::WeakTrackingVH> narrow_;
};

// Instcombine uses logical shifts if only lower bits are used. Arithmetic shifts keep the result of a small number
// small.
void shift_signs_in(llvm::Function& function) {
  for (Instruction& shift : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (shift.getOpcode() != Instruction::LShr || second_constant(shift) == nullptr) continue;
    const llvm::APInt& amount = second_constant(shift)->getValue();
    const unsigned bits = shift.getType()->getIntegerBitWidth();
    const bool uses_no_sign = llvm::all_of(shift.users(), [&](const llvm::User* user) {
      return llvm::isa<llvm::TruncInst>(user) && amount.ule(bits - user->getType()->getIntegerBitWidth());
    });
    if (!uses_no_sign) continue;
    llvm::IRBuilder<> b(&shift);
    shift.replaceAllUsesWith(b.CreateAShr(shift.getOperand(0), shift.getOperand(1)));
    shift.eraseFromParent();
  }
}

}  // namespace

void narrow_integers(llvm::Function& function) {
  shift_signs_in(function);
  constexpr unsigned kWidths[] = {16, 32};
  for (const unsigned bits : kWidths) Narrower(function, bits).run();
}

}  // namespace dhpvm::codegen::spmd
