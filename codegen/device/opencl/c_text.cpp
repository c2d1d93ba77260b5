// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/opencl/c_text.h"

#include <fmt/format.h>
#include <llvm/IR/DerivedTypes.h>

#include <cmath>

#include "codegen/device/builtins.h"

namespace dhpvm::codegen::opencl {

unsigned held_bits(unsigned bits) {
  if (bits <= 8) return 8;
  if (bits <= 16) return 16;
  return bits <= 32 ? 32 : 64;
}

std::string_view integer_type(unsigned bits, bool is_signed) {
  switch (held_bits(bits)) {
    case 8: return is_signed ? "char" : "uchar";
    case 16: return is_signed ? "short" : "ushort";
    case 32: return is_signed ? "int" : "uint";
    default: return is_signed ? "long" : "ulong";
  }
}

std::string_view space_name(unsigned address_space) {
  if (address_space == kGlobalSpace) return "global ";
  return address_space == kLocalSpace ? "local " : "";
}

std::string type_name(const llvm::Type* type) {
  if (type->isFloatTy()) return "float";
  if (type->isDoubleTy()) return "double";
  if (type->isPointerTy()) return fmt::format("{}uchar*", space_name(type->getPointerAddressSpace()));
  if (type->isVoidTy()) return "void";
  const unsigned bits = type->getIntegerBitWidth();
  return bits == 1 ? "bool" : std::string(integer_type(bits));
}

std::string constant_type_name(const llvm::Type* type) {
  // Before a pointer's type the qualifier would belong to the element type.
  const std::string name = type_name(type);
  return type->isPointerTy() ? name + " const" : "const " + name;
}

std::string_view memory_type(const llvm::Type* type) {
  return integer_type(type->isIntegerTy() ? type->getIntegerBitWidth()
                                          : static_cast<unsigned>(type->getPrimitiveSizeInBits()));
}

std::string integer_text(const llvm::APInt& value) {
  const unsigned bits = value.getBitWidth();
  const std::uint64_t number = value.getZExtValue();
  if (bits == 1) return number != 0 ? "true" : "false";
  const char* const suffix = bits <= 32 ? "u" : "ul";
  // Bit patterns and negative numbers are more readable in hexadecimal.
  if (number > 0xffffff) return fmt::format("{:#x}{}", number, suffix);
  return fmt::format("{}{}", number, suffix);
}

std::string float_text(const llvm::APFloat& value) {
  const bool wide = &value.getSemantics() == &llvm::APFloat::IEEEdouble();
  if (!value.isFinite()) {
    const llvm::APInt bits = value.bitcastToAPInt();
    return fmt::format("as_{}({})", wide ? "double" : "float", integer_text(bits));
  }
  const double number = wide ? value.convertToDouble() : value.convertToFloat();
  const char* const suffix = wide ? "" : "f";
  // Small integers are exact in decimal; all others are written in hexadecimal, which needs no rounding.
  const bool is_whole = number == std::trunc(number) && std::fabs(number) < 0x1p24;
  const std::string text =
      is_whole ? fmt::format("{:.1f}{}", number, suffix) : fmt::format("{:a}{}", number, suffix);
  return text.front() == '-' ? fmt::format("({})", text) : text;
}

std::string constant_text(const llvm::Constant& constant) {
  if (const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(&constant)) {
    return integer_text(number->getValue());
  }
  if (const auto* const number = llvm::dyn_cast<llvm::ConstantFP>(&constant)) {
    return float_text(number->getValueAPF());
  }
  if (constant.getType()->isIntegerTy()) {
    return integer_text(llvm::APInt(constant.getType()->getIntegerBitWidth(), 0));
  }
  return constant.getType()->isPointerTy() ? "0" : (constant.getType()->isFloatTy() ? "0.0f" : "0.0");
}

}  // namespace dhpvm::codegen::opencl
