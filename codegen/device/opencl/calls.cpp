// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/opencl/calls.h"

#include <fmt/format.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Intrinsics.h>

#include "codegen/device/builtins.h"
#include "codegen/device/opencl/c_text.h"
#include "codegen/spmd/math.h"

namespace dhpvm::codegen::opencl {
namespace {

using llvm::Intrinsic::ID;

// Functions of one to three numbers, all exact, with the same name for float and double.
std::string_view float_function(ID id) {
  switch (id) {
    case llvm::Intrinsic::fabs: return "fabs";
    case llvm::Intrinsic::sqrt: return "sqrt";
    case llvm::Intrinsic::floor: return "floor";
    case llvm::Intrinsic::ceil: return "ceil";
    case llvm::Intrinsic::trunc: return "trunc";
    case llvm::Intrinsic::round: return "round";
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::roundeven: return "rint";
    case llvm::Intrinsic::fma: return "fma";
    case llvm::Intrinsic::copysign: return "copysign";
    case llvm::Intrinsic::minnum: return "fmin";
    case llvm::Intrinsic::maxnum: return "fmax";
    default: return {};
  }
}

struct IntegerFunction {
  std::string_view name;
  bool is_signed = false;  // of its arguments, and of its result
};

IntegerFunction integer_function(ID id) {
  switch (id) {
    case llvm::Intrinsic::umin: return {"min"};
    case llvm::Intrinsic::umax: return {"max"};
    case llvm::Intrinsic::smin: return {"min", true};
    case llvm::Intrinsic::smax: return {"max", true};
    case llvm::Intrinsic::uadd_sat: return {"add_sat"};
    case llvm::Intrinsic::usub_sat: return {"sub_sat"};
    case llvm::Intrinsic::sadd_sat: return {"add_sat", true};
    case llvm::Intrinsic::ssub_sat: return {"sub_sat", true};
    case llvm::Intrinsic::ctpop: return {"popcount"};
    case llvm::Intrinsic::ctlz: return {"clz"};  // returns the width for 0
    default: return {};
  }
}

// Truncating, saturating, 0 for NaN, which convert_*_sat does not guarantee.
std::string saturating_conversion(const llvm::Type* from, unsigned bits, bool is_signed, Helpers& helpers) {
  const std::string_view to = integer_type(bits, is_signed);
  const std::string source = type_name(from);
  const std::string name = fmt::format("{}_of_{}", to, source);
  const char* const suffix = from->isFloatTy() ? "f" : "";
  const std::string largest =
      fmt::format("{}_MAX", bits == 32 ? (is_signed ? "INT" : "UINT") : (is_signed ? "LONG" : "ULONG"));
  std::string body;
  if (is_signed) {
    body = fmt::format("x != x ? 0 : x <= -0x1p{0}{1} ? {2}_MIN : x >= 0x1p{0}{1} ? {3} : ({4})x", bits - 1,
                       suffix, bits == 32 ? "INT" : "LONG", largest, to);
  } else {
    body = fmt::format("x > 0 ? (x >= 0x1p{}{} ? {} : ({})x) : 0", bits, suffix, largest, to);
  }
  helpers[name] = fmt::format("{} {}({} x) {{ return {}; }}\n", to, name, source, body);
  return name;
}

std::string helper(const char* name, unsigned bits, const char* parameters, std::string body,
                   Helpers& helpers) {
  const std::string full = fmt::format("{}_{}", name, bits);
  const std::string_view type = integer_type(bits);
  std::string list;
  for (const char* p = parameters; *p != 0; ++p)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", type, *p);
  helpers[full] = fmt::format("{} {}({}) {{ {} }}\n", type, full, list, body);
  return full;
}

std::optional<std::string> integer_intrinsic(const llvm::CallBase& call, ID id,
                                             std::span<const std::string> arguments, Helpers& helpers) {
  const llvm::Type* const type = call.getType();
  if (!type->isIntegerTy() || type->getIntegerBitWidth() < 8) return std::nullopt;
  const unsigned bits = type->getIntegerBitWidth();
  if (bits != held_bits(bits)) return std::nullopt;
  const std::string_view name = integer_type(bits);
  // C promotes narrow operands; the casts select the overload by type.
  const auto unsigned_argument = [&](std::size_t n) {
    return bits >= 32 ? arguments[n] : fmt::format("({}){}", name, arguments[n]);
  };
  if (const IntegerFunction function = integer_function(id); !function.name.empty()) {
    std::string list;
    const std::size_t count = id == llvm::Intrinsic::ctpop || id == llvm::Intrinsic::ctlz ? 1 : 2;
    for (std::size_t n = 0; n < count; ++n) {
      if (n != 0) list += ", ";
      list += function.is_signed ? fmt::format("({}){}", integer_type(bits, true), arguments[n])
                                 : unsigned_argument(n);
    }
    return fmt::format("{}{}({})", function.is_signed ? fmt::format("({})", name) : "", function.name, list);
  }
  switch (id) {
    case llvm::Intrinsic::abs: return fmt::format("abs(({}){})", integer_type(bits, true), arguments[0]);
    case llvm::Intrinsic::fptosi_sat:
      if (bits < 32) return std::nullopt;
      return fmt::format("({}){}({})", name,
                         saturating_conversion(call.getArgOperand(0)->getType(), bits, true, helpers),
                         arguments[0]);
    case llvm::Intrinsic::fptoui_sat:
      if (bits < 32) return std::nullopt;
      return fmt::format("{}({})",
                         saturating_conversion(call.getArgOperand(0)->getType(), bits, false, helpers),
                         arguments[0]);
    case llvm::Intrinsic::cttz: {
      // The argument 0 gives all ones, whose count is the width.
      const std::string full = helper("ctz", bits, "x", "return popcount((x & -x) - 1);", helpers);
      return fmt::format("{}({})", full, unsigned_argument(0));
    }
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr: {
      const bool left = id == llvm::Intrinsic::fshl;
      if (bits < 32) return std::nullopt;
      if (call.getArgOperand(0) == call.getArgOperand(1)) {
        return fmt::format("rotate({}, {}{})", arguments[0], left ? "" : "-", arguments[2]);
      }
      const std::string full = helper(
          left ? "funnel_left" : "funnel_right", bits, "abn",
          fmt::format("n &= {0}; return n == 0 ? {1} : a << {2} | b >> {3};", bits - 1, left ? "a" : "b",
                      left ? "n" : fmt::format("({} - n)", bits), left ? fmt::format("({} - n)", bits) : "n"),
          helpers);
      return fmt::format("{}({}, {}, {})", full, arguments[0], arguments[1], arguments[2]);
    }
    case llvm::Intrinsic::bswap:
      if (bits == 16) return fmt::format("rotate((ushort){}, (ushort)8)", arguments[0]);
      return bits == 32 ? fmt::format("as_uint(as_uchar4({}).s3210)", arguments[0])
                        : fmt::format("as_ulong(as_uchar8({}).s76543210)", arguments[0]);
    case llvm::Intrinsic::bitreverse: {
      const std::string full = helper(
          "reverse", bits, "x",
          fmt::format(
              "{0} r = 0; for (int n = 0; n < {1}; ++n) {{ r = r << 1 | (x & 1); x >>= 1; }} return r;", name,
              bits),
          helpers);
      return fmt::format("{}({})", full, unsigned_argument(0));
    }
    default: return std::nullopt;
  }
}

// Functions for f64 that drivers compute wrongly near the largest number: PoCL's exp(709.782712893383) is infinite, and
// its sinh and cosh of 710.475860073943 are NaN. exp(x / 2) avoids that.
constexpr struct {
  std::string_view name;
  std::string_view body;
} kLargeResults[] = {
    {"exp", "const double y = exp(x > 700.0 ? 0.5 * x : x); return x > 700.0 ? y * y : y;"},
    {"sinh",
     "if (!(fabs(x) > 700.0)) return sinh(x); const double y = exp(0.5 * fabs(x)); return copysign(0.5 * y * "
     "y, x);"},
    {"cosh",
     "if (!(fabs(x) > 700.0)) return cosh(x); const double y = exp(0.5 * fabs(x)); return 0.5 * y * y;"},
};

// The OpenCL C name of a function of the C library, given by its name for double: the same for float and double.
std::string math_name(const std::string& name, const llvm::Type* type, Helpers& helpers) {
  const auto own =
      std::ranges::find(kLargeResults, name, &std::remove_cvref_t<decltype(kLargeResults[0])>::name);
  if (!type->isDoubleTy() || own == std::end(kLargeResults)) return name;
  const std::string full = name + "_to_the_largest";
  helpers[full] = fmt::format("double {}(double x) {{ {} }}\n", full, own->body);
  return full;
}

// Hints for LLVM without effect.
bool is_note(ID id) {
  return id == llvm::Intrinsic::lifetime_start || id == llvm::Intrinsic::lifetime_end ||
         id == llvm::Intrinsic::assume || id == llvm::Intrinsic::experimental_noalias_scope_decl;
}

// `arguments`: the dimension, or the factors.
std::string builtin_text(Builtin which, const std::string& arguments) {
  switch (which) {
    // size_t may have 32 bits.
    case Builtin::kGlobalId: return fmt::format("(ulong)get_global_id({})", arguments);
    case Builtin::kGlobalSize: return fmt::format("(ulong)get_global_size({})", arguments);
    case Builtin::kGroupId: return fmt::format("(ulong)get_group_id({})", arguments);
    case Builtin::kGroupCount: return fmt::format("(ulong)get_num_groups({})", arguments);
    case Builtin::kLocalId: return fmt::format("(ulong)get_local_id({})", arguments);
    case Builtin::kLocalSize: return fmt::format("(ulong)get_local_size({})", arguments);
    case Builtin::kOpaque: return arguments;
    case Builtin::kMulHigh: return fmt::format("mul_hi({})", arguments);
    case Builtin::kBarrier: return "barrier(CLK_LOCAL_MEM_FENCE)";
    case Builtin::kFence: break;
  }
  return "mem_fence(CLK_GLOBAL_MEM_FENCE)";
}

}  // namespace

bool is_sine(const llvm::CallBase& call) {
  const std::string name = spmd::math_function(call);
  return name == "sin" || name == "sinf";
}

bool is_cosine(const llvm::CallBase& call) {
  const std::string name = spmd::math_function(call);
  return name == "cos" || name == "cosf";
}

std::optional<std::string> call_text(const llvm::CallBase& call, std::span<const std::string> arguments,
                                     Helpers& helpers) {
  if (const auto which = builtin_of(call)) {
    return builtin_text(*which, fmt::format("{}", fmt::join(arguments, ", ")));
  }
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr) return std::nullopt;
  const auto list = [&] { return fmt::format("{}", fmt::join(arguments, ", ")); };
  if (callee->isIntrinsic()) {
    const ID id = callee->getIntrinsicID();
    if (is_note(id)) return "";
    if (id == llvm::Intrinsic::fmuladd) {
      return fmt::format("({} * {} + {})", arguments[0], arguments[1], arguments[2]);
    }
    if (const std::string_view name = float_function(id); !name.empty())
      return fmt::format("{}({})", name, list());
    if (auto text = integer_intrinsic(call, id, arguments, helpers)) return text;
  }
  if (!callee->isDeclaration()) return fmt::format("{}({})", callee->getName().str(), list());
  // The same names for float and double.
  std::string name = spmd::math_function(call);
  if (name.empty()) return std::nullopt;
  if (call.getType()->isFloatTy()) name.pop_back();
  return fmt::format("{}({})", math_name(name, call.getType(), helpers), list());
}

}  // namespace dhpvm::codegen::opencl
