// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/opencl/expressions.h"

#include <fmt/format.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/device/builtins.h"
#include "codegen/device/opencl/c_text.h"

namespace dhpvm::codegen::opencl {
namespace {

using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Value;

// Whether an operator can precede or follow the text: binary operators in it, which have spaces around them, are in
// parentheses.
bool is_atom(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ' ' && depth == 0) return false;
  }
  return true;
}

std::string bracketed(std::string text) { return is_atom(text) ? text : fmt::format("({})", text); }

}  // namespace

ArrayText array_text(const llvm::Type* type, const llvm::DataLayout& layout) {
  const auto size = layout.getTypeAllocSize(const_cast<llvm::Type*>(type)).getFixedValue();
  const llvm::Type* element = type;
  while (element->isArrayTy()) element = element->getArrayElementType();
  unsigned bytes = 8;
  if (element->isIntegerTy()) bytes = held_bits(element->getIntegerBitWidth()) / 8;
  if (element->isFloatTy()) bytes = 4;
  if (size % bytes != 0) bytes = 1;
  return {integer_type(8 * bytes), bytes, size / bytes};
}

Expressions::Expressions(const llvm::Function& function, Helpers& helpers)
    : layout_(function.getParent()->getDataLayout()), helpers_(helpers), variables_(function) {}

// ---- Expressions

std::string Expressions::unknown(const Instruction& instruction) {
  if (problem_.empty()) {
    llvm::raw_string_ostream stream(problem_);
    instruction.print(stream);
    stream.flush();
    problem_ =
        fmt::format("OpenCL C has nothing like '{}'", problem_.substr(problem_.find_first_not_of(' ')));
  }
  return "0";
}

std::string Expressions::operand(const Value& value) {
  const bool is_array = isa<llvm::AllocaInst>(value) || isa<llvm::GlobalVariable>(value);
  if (is_array || (isa<llvm::GEPOperator>(value) && !is_base(value))) return bracketed(pointer(value));
  if (variables_.has_name(value)) return name(value);
  if (const auto* const constant = dyn_cast<llvm::Constant>(&value)) return constant_text(*constant);
  return bracketed(expression(llvm::cast<Instruction>(value)));
}

std::string Expressions::value(const Value& value) {
  const auto* const instruction = dyn_cast<Instruction>(&value);
  return instruction != nullptr && variables_.is_inline(*instruction) ? expression(*instruction)
                                                                      : operand(value);
}

std::string Expressions::cut(std::string text, unsigned bits) const {
  if (bits == held_bits(bits)) return bits < 32 ? fmt::format("({})({})", integer_type(bits), text) : text;
  return fmt::format("({}) & {:#x}{}", text, llvm::APInt::getAllOnes(bits).getZExtValue(),
                     bits > 32 ? "ul" : "u");
}

std::string Expressions::signed_operand(const Value& value) {
  const unsigned bits = value.getType()->getIntegerBitWidth();
  // Casts to the sizes in which C computes; small constants are more readable without.
  if (const auto* const constant = dyn_cast<llvm::ConstantInt>(&value); constant != nullptr && bits > 1) {
    const std::int64_t number = constant->getSExtValue();
    if (number > -(1 << 24) && number < 1 << 24) {
      const std::string text = fmt::format("{}{}", number, bits > 32 ? "l" : "");
      return number < 0 ? fmt::format("({})", text) : text;
    }
  }
  if (bits == 1) return fmt::format("(-(int){})", operand(value));
  if (bits == held_bits(bits)) return fmt::format("({}){}", integer_type(bits, true), operand(value));
  const unsigned container = bits <= 32 ? 32 : 64;
  return fmt::format("(({})({} << {}) >> {})", integer_type(container, true),
                     bracketed(fmt::format("({}){}", integer_type(container), operand(value))),
                     container - bits, container - bits);
}

std::string Expressions::binary(const llvm::BinaryOperator& instruction) {
  const Value& left = *instruction.getOperand(0);
  const Value& right = *instruction.getOperand(1);
  const auto infix = [&](const char* op) {
    return fmt::format("{} {} {}", operand(left), op, operand(right));
  };
  switch (instruction.getOpcode()) {
    case Instruction::FAdd: return infix("+");
    case Instruction::FSub: return infix("-");
    case Instruction::FMul: return infix("*");
    case Instruction::FDiv: return infix("/");
    case Instruction::FRem: return fmt::format("fmod({}, {})", operand(left), operand(right));
    default: break;
  }
  const unsigned bits = instruction.getType()->getIntegerBitWidth();
  if (bits == 1) {
    switch (instruction.getOpcode()) {
      case Instruction::Mul:
      case Instruction::And: return infix("&");
      case Instruction::Or: return infix("|");
      case Instruction::Add:
      case Instruction::Sub:
      case Instruction::Xor: {
        const auto* const constant = dyn_cast<llvm::ConstantInt>(&right);
        return constant != nullptr && constant->isOne() ? condition(left, true) : infix("^");
      }
      default: return unknown(instruction);
    }
  }
  // Narrow types would be promoted to int, where a product can overflow.
  const auto wide_infix = [&](const char* op) {
    const std::string cast = bits < 32 ? "(uint)" : "";
    return fmt::format("{}{} {} {}", cast, operand(left), op, operand(right));
  };
  const auto signed_infix = [&](const char* op) {
    return fmt::format("({})({} {} {})", integer_type(bits), signed_operand(left), op, signed_operand(right));
  };
  switch (instruction.getOpcode()) {
    case Instruction::Add: {
      const auto* const constant = dyn_cast<llvm::ConstantInt>(&right);
      if (constant != nullptr && constant->isNegative() && bits >= 32) {
        return cut(fmt::format("{} - {}", operand(left), integer_text(-constant->getValue())), bits);
      }
      return cut(wide_infix("+"), bits);
    }
    case Instruction::Sub: {
      const auto* const constant = dyn_cast<llvm::ConstantInt>(&left);
      if (constant != nullptr && constant->isZero() && bits >= 32)
        return cut(fmt::format("-{}", operand(right)), bits);
      return cut(wide_infix("-"), bits);
    }
    case Instruction::Mul: return cut(wide_infix("*"), bits);
    case Instruction::Shl: return cut(wide_infix("<<"), bits);
    case Instruction::And: return infix("&");
    case Instruction::Or: {
      // Compilers recognise sums in addresses.
      const bool is_sum = llvm::cast<llvm::PossiblyDisjointInst>(instruction).isDisjoint() && bits >= 32;
      return infix(is_sum ? "+" : "|");
    }
    case Instruction::Xor: return infix("^");
    case Instruction::LShr: return infix(">>");
    case Instruction::UDiv: return infix("/");
    case Instruction::URem: return infix("%");
    case Instruction::SDiv: return cut(signed_infix("/"), bits);
    case Instruction::SRem: return cut(signed_infix("%"), bits);
    case Instruction::AShr:
      return cut(fmt::format("({})({} >> {})", integer_type(bits), signed_operand(left), operand(right)),
                 bits);
    default: return unknown(instruction);
  }
}

std::string Expressions::compare(const llvm::CmpInst& instruction, bool negate) {
  using llvm::CmpInst;
  CmpInst::Predicate predicate = instruction.getPredicate();
  if (negate) predicate = CmpInst::getInversePredicate(predicate);
  const Value& left = *instruction.getOperand(0);
  const Value& right = *instruction.getOperand(1);
  const auto with = [&](const char* op) {
    return fmt::format("{} {} {}", operand(left), op, operand(right));
  };
  const auto with_signed = [&](const char* op) {
    return fmt::format("{} {} {}", signed_operand(left), op, signed_operand(right));
  };
  const auto is_nan = [&](const Value& value) { return fmt::format("{0} != {0}", operand(value)); };
  switch (predicate) {
    case CmpInst::ICMP_EQ:
    case CmpInst::FCMP_OEQ: return with("==");
    case CmpInst::ICMP_NE:
    case CmpInst::FCMP_UNE: return with("!=");
    case CmpInst::ICMP_UGT:
    case CmpInst::FCMP_OGT: return with(">");
    case CmpInst::ICMP_UGE:
    case CmpInst::FCMP_OGE: return with(">=");
    case CmpInst::ICMP_ULT:
    case CmpInst::FCMP_OLT: return with("<");
    case CmpInst::ICMP_ULE:
    case CmpInst::FCMP_OLE: return with("<=");
    case CmpInst::ICMP_SGT: return with_signed(">");
    case CmpInst::ICMP_SGE: return with_signed(">=");
    case CmpInst::ICMP_SLT: return with_signed("<");
    case CmpInst::ICMP_SLE: return with_signed("<=");
    case CmpInst::FCMP_UGT: return fmt::format("!({})", with("<="));
    case CmpInst::FCMP_UGE: return fmt::format("!({})", with("<"));
    case CmpInst::FCMP_ULT: return fmt::format("!({})", with(">="));
    case CmpInst::FCMP_ULE: return fmt::format("!({})", with(">"));
    case CmpInst::FCMP_ONE: return fmt::format("{} || {}", with("<"), with(">"));
    case CmpInst::FCMP_UEQ: return fmt::format("!({} || {})", with("<"), with(">"));
    case CmpInst::FCMP_UNO:
    case CmpInst::FCMP_ORD: {
      const bool one = isa<llvm::Constant>(right) || &left == &right;
      const std::string text = one ? is_nan(left) : fmt::format("{} || {}", is_nan(left), is_nan(right));
      return predicate == CmpInst::FCMP_UNO ? text : fmt::format("!({})", text);
    }
    case CmpInst::FCMP_TRUE: return "true";
    case CmpInst::FCMP_FALSE: return "false";
    default: return unknown(instruction);
  }
}

std::string Expressions::condition(const Value& value, bool negate) {
  if (const auto* const constant = dyn_cast<llvm::ConstantInt>(&value)) {
    return constant->isOne() != negate ? "true" : "false";
  }
  const auto* const instruction = dyn_cast<Instruction>(&value);
  if (instruction != nullptr && variables_.is_inline(*instruction)) {
    if (const auto* const comparison = dyn_cast<llvm::CmpInst>(instruction))
      return compare(*comparison, negate);
    if (!negate) return expression(*instruction);
  }
  return fmt::format("{}{}", negate ? "!" : "", operand(value));
}

std::string Expressions::cast(const llvm::CastInst& instruction) {
  const Value& from = *instruction.getOperand(0);
  const llvm::Type* const to = instruction.getType();
  const auto plain = [&] { return fmt::format("({}){}", type_name(to), operand(from)); };
  switch (instruction.getOpcode()) {
    case Instruction::Trunc: {
      const unsigned bits = to->getIntegerBitWidth();
      if (bits == 1) return fmt::format("({} & 1) != 0", operand(from));
      if (bits == held_bits(bits)) return plain();
      return cut(plain(), bits);
    }
    case Instruction::ZExt:
    case Instruction::UIToFP:
    case Instruction::FPTrunc:
    case Instruction::FPExt:
    case Instruction::FPToUI: return plain();
    case Instruction::SExt: {
      const unsigned bits = to->getIntegerBitWidth();
      if (from.getType()->isIntegerTy(1)) {
        return cut(fmt::format("-({}){}", bits < 32 ? "int" : integer_type(bits), operand(from)), bits);
      }
      return cut(
          fmt::format("({})({}){}", integer_type(bits), integer_type(bits, true), signed_operand(from)),
          bits);
    }
    case Instruction::SIToFP: return fmt::format("({}){}", type_name(to), signed_operand(from));
    case Instruction::FPToSI: {
      const unsigned bits = to->getIntegerBitWidth();
      return cut(fmt::format("({})({}){}", integer_type(bits), integer_type(bits, true), operand(from)),
                 bits);
    }
    case Instruction::BitCast:
      if (to->isPointerTy()) return operand(from);
      return fmt::format("as_{}({})", type_name(to), value(from));
    case Instruction::PtrToInt: return plain();
    default: return unknown(instruction);
  }
}

std::string Expressions::call(const llvm::CallInst& instruction) {
  std::vector<std::string> arguments;
  for (const Value* argument : instruction.args()) {
    if (argument->getType()->isMetadataTy()) return "";
    arguments.push_back(argument->getType()->isPointerTy() ? pointer(*argument) : operand(*argument));
  }
  if (const Instruction* const cosine = variables_.cosine_of(instruction))
    return fmt::format("sincos({}, &{})", arguments.front(), name(*cosine));
  if (const auto text = call_text(instruction, arguments, helpers_)) return *text;
  return unknown(instruction);
}

std::string Expressions::exchange(const llvm::AtomicCmpXchgInst& instruction) {
  const llvm::Type* const type = instruction.getCompareOperand()->getType();
  return fmt::format("{}((volatile {}{}*){}, {}, {})",
                     type->isIntegerTy(64) ? "atom_cmpxchg" : "atomic_cmpxchg",
                     space_name(instruction.getPointerAddressSpace()), memory_type(type),
                     bracketed(pointer(*instruction.getPointerOperand())),
                     operand(*instruction.getCompareOperand()), operand(*instruction.getNewValOperand()));
}

std::string Expressions::update(const llvm::AtomicRMWInst& instruction) {
  using Rmw = llvm::AtomicRMWInst;
  const llvm::Type* const type = instruction.getType();
  const char* name = nullptr;
  bool is_signed = false;
  switch (instruction.getOperation()) {
    case Rmw::Xchg: name = "xchg"; break;
    case Rmw::Add: name = "add"; break;
    case Rmw::Sub: name = "sub"; break;
    case Rmw::And: name = "and"; break;
    case Rmw::Or: name = "or"; break;
    case Rmw::Xor: name = "xor"; break;
    case Rmw::UMin: name = "min"; break;
    case Rmw::UMax: name = "max"; break;
    case Rmw::Min:
    case Rmw::Max:
      name = instruction.getOperation() == Rmw::Min ? "min" : "max";
      is_signed = true;
      break;
    default: return unknown(instruction);
  }
  const std::string_view element = integer_type(type->getIntegerBitWidth(), is_signed);
  return fmt::format(
      "{}{}_{}((volatile {}{}*){}, {}{})", is_signed ? fmt::format("({})", type_name(type)) : "",
      type->isIntegerTy(64) ? "atom" : "atomic", name, space_name(instruction.getPointerAddressSpace()),
      element, bracketed(pointer(*instruction.getPointerOperand())),
      is_signed ? fmt::format("({})", element) : "", operand(*instruction.getValOperand()));
}

std::string Expressions::expression(const Instruction& instruction) {
  if (const auto* const op = dyn_cast<llvm::BinaryOperator>(&instruction)) return binary(*op);
  if (const auto* const comparison = dyn_cast<llvm::CmpInst>(&instruction))
    return compare(*comparison, false);
  if (const auto* const conversion = dyn_cast<llvm::CastInst>(&instruction)) return cast(*conversion);
  if (const auto* const called = dyn_cast<llvm::CallInst>(&instruction)) return call(*called);
  if (const auto* const atomic = dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) return exchange(*atomic);
  if (const auto* const atomic = dyn_cast<llvm::AtomicRMWInst>(&instruction)) return update(*atomic);
  if (const auto* const read = dyn_cast<llvm::LoadInst>(&instruction)) {
    return as_value(memory(*read->getPointerOperand(), read->getType(), read->isVolatile()), read->getType());
  }
  if (const auto* const write = dyn_cast<llvm::StoreInst>(&instruction)) {
    const Value& value = *write->getValueOperand();
    const llvm::Type* const type = value.getType();
    std::string text = this->value(value);
    if (type->isFloatingPointTy()) text = fmt::format("as_{}({})", memory_type(type), text);
    return fmt::format("{} = {}", memory(*write->getPointerOperand(), type, write->isVolatile()), text);
  }
  switch (instruction.getOpcode()) {
    case Instruction::FNeg: return fmt::format("-{}", operand(*instruction.getOperand(0)));
    case Instruction::Freeze: return operand(*instruction.getOperand(0));
    case Instruction::Select:
      return fmt::format("{} ? {} : {}", operand(*instruction.getOperand(0)),
                         operand(*instruction.getOperand(1)), operand(*instruction.getOperand(2)));
    case Instruction::GetElementPtr:
      return is_base(instruction) ? fmt::format("{} + {}", operand(*instruction.getOperand(0)),
                                                operand(*instruction.getOperand(1)))
                                  : pointer(instruction);
    case Instruction::ExtractValue: {
      // Extracts a part of an atomic exchange's result: the old value, or whether it was the expected one.
      const auto& extract = llvm::cast<llvm::ExtractValueInst>(instruction);
      const auto* const atomic = dyn_cast<llvm::AtomicCmpXchgInst>(extract.getAggregateOperand());
      if (atomic == nullptr) return unknown(instruction);
      if (extract.getIndices().front() == 0) return operand(*atomic);
      return fmt::format("{} == {}", operand(*atomic), operand(*atomic->getCompareOperand()));
    }
    default: return unknown(instruction);
  }
}

// ---- Memory

Expressions::Place Expressions::place_of(const Value& address) const {
  Place place;
  place.base = &address;
  while (const auto* const step = dyn_cast<llvm::GEPOperator>(place.base)) {
    if (is_base(*place.base)) break;
    llvm::MapVector<Value*, llvm::APInt> terms;
    llvm::APInt constant(64, 0);
    // Types of fixed size can always be decomposed.
    step->collectOffset(layout_, 64, terms, constant);
    place.constant += constant.getSExtValue();
    for (const auto& [value, factor] : terms) place.terms.push_back({value, factor.getSExtValue()});
    place.base = step->getPointerOperand();
  }
  return place;
}

// The offset in units of `unit` bytes, which divides it; empty for 0.
std::string Expressions::sum(const Place& place, std::int64_t unit) {
  std::string text;
  for (const auto& [value, factor] : place.terms) {
    // Indices narrower than an address are signed.
    const bool narrow = !value->getType()->isIntegerTy(64);
    const bool alone = place.terms.size() == 1 && place.constant == 0 && factor == unit;
    std::string term = narrow ? fmt::format("(ulong)(long){}", signed_operand(*value))
                              : (alone ? this->value(*value) : operand(*value));
    if (factor != unit) term = fmt::format("{} * {}", bracketed(term), factor / unit);
    text += fmt::format("{}{}", text.empty() ? "" : " + ", term);
  }
  if (const std::int64_t count = place.constant / unit; count != 0) {
    text += text.empty() ? fmt::format("{}", count)
                         : fmt::format(" {} {}", count < 0 ? '-' : '+', std::abs(count));
  }
  return text;
}

std::string Expressions::pointer(const Value& address) {
  const Place place = place_of(address);
  const bool is_array = isa<llvm::AllocaInst>(place.base) || isa<llvm::GlobalVariable>(place.base);
  std::string base =
      is_array ? fmt::format("({}uchar*){}", space_name(place.base->getType()->getPointerAddressSpace()),
                             name(*place.base))
               : operand(*place.base);
  const std::string distance = sum(place, 1);
  if (distance.empty()) return base;
  return fmt::format("{} + {}", bracketed(base),
                     is_atom(distance) ? distance : fmt::format("({})", distance));
}

std::string Expressions::memory(const Value& address, const llvm::Type* type, bool is_volatile) {
  const Place place = place_of(address);
  const llvm::Type* array = nullptr;
  if (const auto* const alloca = dyn_cast<llvm::AllocaInst>(place.base)) array = alloca->getAllocatedType();
  if (const auto* const global = dyn_cast<llvm::GlobalVariable>(place.base)) array = global->getValueType();
  const bool is_pointer = type->isPointerTy();
  if (array != nullptr && !is_pointer) {
    const std::int64_t bytes = array_text(array, layout_).bytes;
    bool fits = memory_type(type) == array_text(array, layout_).type && place.constant % bytes == 0;
    for (const auto& [value, factor] : place.terms) fits = fits && factor % bytes == 0;
    if (fits) {
      const std::string index = sum(place, bytes);
      return fmt::format("{}[{}]", name(*place.base), index.empty() ? "0" : index);
    }
  }
  return fmt::format(
      "*({}{}{}*){}", is_volatile ? "volatile " : "", space_name(address.getType()->getPointerAddressSpace()),
      is_pointer ? type_name(type) : std::string(memory_type(type)), bracketed(pointer(address)));
}

std::string Expressions::as_value(std::string text, const llvm::Type* type) const {
  if (type->isFloatingPointTy()) return fmt::format("as_{}({})", type_name(type), text);
  if (type->isIntegerTy(1)) return fmt::format("{} != 0", text);
  return text;
}

}  // namespace dhpvm::codegen::opencl
