// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/unused_imports.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "compiler/check/lexical_walk.h"

namespace dhpvm::compiler {

namespace {

// Every name of a module that may refer to an import or a type of it.
class FreeNames final : public LexicalWalk {
 public:
  std::set<std::string_view> names;

 private:
  void on_free_name(const ast::Name& name) override { names.insert(name.text); }
  void on_type(const ast::Type& type) override {
    names.insert(type.qualifier.empty() ? type.name.text : type.qualifier.text);
  }
  void on_expr(const ast::Expr& expr) override {
    if (expr.kind == ast::ExprKind::kMapLiteral) names.insert("Map");  // what it makes
  }
};

bool declares_one_of(const ast::Module& module, const std::set<std::string_view>& names) {
  return std::any_of(module.types.begin(), module.types.end(),
                     [&](const ast::TypeDecl* type) { return names.contains(type->name.text); });
}

}  // namespace

void warn_of_unused_imports(const ast::Module& module, Diagnostics& diagnostics) {
  FreeNames used;
  used.module(module);
  for (const ast::Import& import : module.imports) {
    if (import.module == nullptr || import.name.text.starts_with('_')) continue;
    if (used.names.contains(import.name.text) || declares_one_of(*import.module, used.names)) continue;
    diagnostics.warning(import.range, "the import '{}' is not used", import.name.text).help("remove it");
  }
}

}  // namespace dhpvm::compiler
