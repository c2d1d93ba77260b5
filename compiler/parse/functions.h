// SPDX-License-Identifier: Apache-2.0
// Functions, and the parameters and results that closures share with them.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

// Only the functions of interfaces have no body.
enum class FunctionBody : std::uint8_t { kRequired, kOptional };
// The types of a closure's parameters may be left to inference.
enum class ParameterTypes : std::uint8_t { kRequired, kInferred };

class FunctionParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Function* function(FunctionBody expected);
  ast::Function* function_after_word(ast::Function& node, FunctionBody expected);
  ast::Function* native_function(ast::Linkage linkage);
  std::vector<ast::Parameter> parameters(ParameterTypes types);
  void result_type(ast::Function& function);

 private:
  void signature(ast::Function& function);
  void foreign_clauses();
  void foreign_head(ast::Function& function);
  void foreign_parameters(ast::Function& function, std::uint32_t close);
  void function_body(ast::Function& function, FunctionBody expected);
  bool parameter(std::vector<ast::Parameter>& list, ParameterTypes types);
};

}  // namespace dhpvm::compiler
