// SPDX-License-Identifier: Apache-2.0
// The checker's knowledge of declarations: one symbol per declaration in the source, and one instance per use of a
// declaration with particular type arguments (exactly one if it is not generic).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/hir/hir.h"
#include "compiler/hir/types.h"
#include "compiler/parse/ast.h"

namespace dhpvm::compiler {

struct ModuleSymbols;
struct NominalSymbol;

struct FunctionSymbol {
  const ast::Function* declaration = nullptr;
  ModuleSymbols* module = nullptr;
  NominalSymbol* owner = nullptr;  // of methods and `init`
  std::string_view name() const { return declaration->name.text; }
  bool is_generic() const;
};

// A declared type, or an alias of a type.
struct NominalSymbol {
  enum class Recursion : std::uint8_t { kUnknown, kNone, kContainsItself };
  const ast::TypeDecl* declaration = nullptr;
  ModuleSymbols* module = nullptr;
  Recursion recursion = Recursion::kUnknown;  // of enums
  std::map<std::string_view, FunctionSymbol*> methods;
  FunctionSymbol* init = nullptr;
  bool in_work = false;  // of aliases: the type is being resolved
  bool is_alias() const { return declaration->kind == ast::TypeDeclKind::kAlias; }
  std::string_view name() const { return declaration->name.text; }
};

struct ConstantSymbol {
  enum class State : std::uint8_t { kNew, kBusy, kDone };
  const ast::Constant* declaration = nullptr;
  ModuleSymbols* module = nullptr;
  State state = State::kNew;
  const hir::Expr* value = nullptr;  // null when the constant is wrong
  hir::Function* maker = nullptr;    // makes the value if it is not a number, bool or text literal
};

struct ModuleSymbols {
  const ast::Module* module = nullptr;
  std::string name;  // "geometry.shapes"; empty for the root
  std::map<std::string_view, FunctionSymbol*> functions;
  std::map<std::string_view, ConstantSymbol*> constants;
  std::map<std::string_view, NominalSymbol*> types;
  std::map<std::string_view, ModuleSymbols*> imports;
};

// Type parameters and their arguments, the innermost last.
using Bindings = std::vector<std::pair<std::string_view, const Type*>>;

inline const Type* find_binding(const Bindings& bindings, std::string_view name) {
  for (auto entry = bindings.rbegin(); entry != bindings.rend(); ++entry) {
    if (entry->first == name) return entry->second;
  }
  return nullptr;
}

// The names that a piece of source can refer to.
struct TypeContext {
  ModuleSymbols* module = nullptr;
  Bindings bindings;
};

// The request for a generic instance: errors inside it list this chain. Non-generic instances have no `name` and are
// left out of the chain.
struct Origin {
  const Origin* parent = nullptr;
  SourceRange range;
  std::string name;
  std::uint32_t depth = 0;
};

// A case of an enum: each of its values lies in a field of the enum's type.
struct CaseInfo {
  const ast::EnumCase* declaration = nullptr;
  std::vector<FieldInfo> values;
  std::vector<std::uint32_t> fields;
  std::string_view name() const { return declaration->name.text; }
};

// A struct, class, interface or enum with its type arguments.
struct Nominal {
  enum class State : std::uint8_t { kDeclared, kBusy, kComplete };
  Type* type = nullptr;
  NominalSymbol* symbol = nullptr;
  std::vector<const Type*> arguments;
  TypeContext context;
  Origin origin;
  State state = State::kDeclared;
  std::vector<const Type*> interfaces;
  std::vector<CaseInfo> cases;  // of a complete enum
  std::uint32_t values = 0;     // of a complete struct: how many primitives and references it flattens to
};

// A method of a type: its own, or an interface's method with a body.
struct Method {
  FunctionSymbol* symbol = nullptr;  // null: no such method
  Nominal* owner = nullptr;          // the type that declares it
};

struct FunctionInstance {
  // Signature being resolved; signature known; body to be checked, being checked, checked.
  enum class State : std::uint8_t { kSignature, kDeclared, kQueued, kBusy, kDone };
  FunctionSymbol* symbol = nullptr;
  Nominal* owner = nullptr;
  TypeContext context;
  Origin origin;
  State state = State::kSignature;
  std::vector<const Type*> parameters;  // without `this`
  const Type* result = nullptr;         // null until inferred from the body
  hir::Function* function = nullptr;    // null for natives and intrinsics
};

inline bool FunctionSymbol::is_generic() const {
  return !declaration->type_parameters.empty() ||
         (owner != nullptr && !owner->declaration->type_parameters.empty());
}

}  // namespace dhpvm::compiler
