// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/ast.h"

namespace dhpvm::compiler::ast {

std::string_view to_string(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNegate: return "-";
    case UnaryOp::kNot: return "!";
    case UnaryOp::kComplement: return "~";
  }
  return "?";
}

std::string_view to_string(BinaryOp op) {
  switch (op) {
    case BinaryOp::kMul: return "*";
    case BinaryOp::kDiv: return "/";
    case BinaryOp::kRem: return "%";
    case BinaryOp::kAdd: return "+";
    case BinaryOp::kSub: return "-";
    case BinaryOp::kShl: return "<<";
    case BinaryOp::kShr: return ">>";
    case BinaryOp::kBitAnd: return "&";
    case BinaryOp::kBitXor: return "^";
    case BinaryOp::kBitOr: return "|";
    case BinaryOp::kCoalesce: return "??";
    case BinaryOp::kEq: return "==";
    case BinaryOp::kNe: return "!=";
    case BinaryOp::kLt: return "<";
    case BinaryOp::kLe: return "<=";
    case BinaryOp::kGt: return ">";
    case BinaryOp::kGe: return ">=";
    case BinaryOp::kAnd: return "&&";
    case BinaryOp::kOr: return "||";
  }
  return "?";
}

std::string_view to_string(ReductionOp op) {
  switch (op) {
    case ReductionOp::kAdd: return "+";
    case ReductionOp::kMul: return "*";
    case ReductionOp::kMin: return "min";
    case ReductionOp::kMax: return "max";
    case ReductionOp::kAnd: return "&";
    case ReductionOp::kOr: return "|";
    case ReductionOp::kXor: return "^";
    case ReductionOp::kFirst: return "first";
    case ReductionOp::kAny: return "any";
    case ReductionOp::kFunction: return "function";
  }
  return "?";
}

}  // namespace dhpvm::compiler::ast
