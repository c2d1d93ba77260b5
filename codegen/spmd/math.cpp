// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/math.h"

#include <fmt/format.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <iterator>

namespace dhpvm::codegen::spmd {
namespace {

// The functions of one or two numbers, without side effects except errno, which is not read.
constexpr std::string_view kFunctions[] = {
    "acos",  "acosh", "asin", "asinh", "atan",      "atan2", "atanh", "cbrt",  "cos",    "cosh",
    "erf",   "erfc",  "exp",  "exp10", "exp2",      "expm1", "fmod",  "hypot", "lgamma", "log",
    "log10", "log1p", "log2", "pow",   "remainder", "sin",   "sinh",  "tan",   "tanh",   "tgamma",
};

std::string_view name_of(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::sin: return "sin";
    case llvm::Intrinsic::cos: return "cos";
    case llvm::Intrinsic::tan: return "tan";
    case llvm::Intrinsic::asin: return "asin";
    case llvm::Intrinsic::acos: return "acos";
    case llvm::Intrinsic::atan: return "atan";
    case llvm::Intrinsic::sinh: return "sinh";
    case llvm::Intrinsic::cosh: return "cosh";
    case llvm::Intrinsic::tanh: return "tanh";
    case llvm::Intrinsic::exp: return "exp";
    case llvm::Intrinsic::exp2: return "exp2";
    case llvm::Intrinsic::exp10: return "exp10";
    case llvm::Intrinsic::log: return "log";
    case llvm::Intrinsic::log2: return "log2";
    case llvm::Intrinsic::log10: return "log10";
    case llvm::Intrinsic::pow: return "pow";
    default: return {};
  }
}

struct VectorClass {
  unsigned bits;
  char letter;  // of the vector function ABI for x86-64
};
constexpr VectorClass kClasses[] = {{512, 'e'}, {256, 'd'}, {128, 'b'}};

}  // namespace

std::string math_function(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  llvm::Type* type = call.getType();
  if (callee == nullptr || !(type->isFloatTy() || type->isDoubleTy()) || call.arg_size() > 2) return {};
  for (const llvm::Use& argument : call.args()) {
    if (argument->getType() != type) return {};
  }
  const std::string_view suffix = type->isFloatTy() ? "f" : "";
  if (callee->isIntrinsic()) {
    const std::string_view name = name_of(callee->getIntrinsicID());
    return name.empty() ? std::string() : fmt::format("{}{}", name, suffix);
  }
  if (!callee->isDeclaration()) return {};
  const llvm::StringRef name = callee->getName();
  if (!name.ends_with(suffix)) return {};
  const llvm::StringRef base = name.drop_back(suffix.size());
  const bool known =
      std::find(std::begin(kFunctions), std::end(kFunctions), std::string_view(base)) != std::end(kFunctions);
  return known ? name.str() : std::string();
}

// The vector tangent has its own accurate argument reduction.
bool is_wrong_for_large_angles(std::string_view name) { return name == "sin" || name == "cos"; }

VectorFunction vector_function(const std::string& name, unsigned arguments, unsigned element_bits,
                               unsigned width, unsigned vector_bits,
                               const std::function<bool(std::string_view)>& exists) {
  if (!exists) return {};
  for (const VectorClass& candidate : kClasses) {
    const unsigned lanes = candidate.bits / element_bits;
    if (candidate.bits > vector_bits || (lanes > width && candidate.bits != 128)) continue;
    std::string symbol =
        fmt::format("_ZGV{}N{}{}_{}", candidate.letter, lanes, arguments == 1 ? "v" : "vv", name);
    if (exists(symbol)) return {std::move(symbol), lanes};
  }
  return {};
}

}  // namespace dhpvm::codegen::spmd
