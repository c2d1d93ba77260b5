// SPDX-License-Identifier: Apache-2.0
// The syntax tree as s-expressions, for the parser's tests: short, without places, one declaration per line.
#pragma once

#include <string>

#include "compiler/parse/ast.h"

namespace dhpvm::compiler {

// (fn add (params (a i64) (b i64 1)) i64 (block (return (+ a b))))
std::string dump(const ast::Module& module);

std::string dump(const ast::Expr& expr);
std::string dump(const ast::Stmt& stmt);
std::string dump(const ast::Type& type);

}  // namespace dhpvm::compiler
