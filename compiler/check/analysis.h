// SPDX-License-Identifier: Apache-2.0
// The state of one check of a whole program: symbols of every module, instances of generics, the queue of bodies that
// remain to be checked. check_body (body.h) checks one body and asks here for everything that lies outside it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/check/checker.h"
#include "compiler/check/constants.h"
#include "compiler/check/enum_types.h"
#include "compiler/check/error_types.h"
#include "compiler/check/host_objects.h"
#include "compiler/check/observer.h"
#include "compiler/check/symbols.h"
#include "compiler/check/tuple_types.h"
#include "compiler/hir/hir.h"
#include "compiler/parse/ast.h"
#include "compiler/text/diagnostics.h"

namespace dhpvm::compiler {

// How messages call a size that must be constant.
inline constexpr std::string_view kFixedArraySize = "the size of a fixed array";

class Analysis {
 public:
  // `observer` may be null.
  Analysis(const ast::Program& source, Diagnostics& diagnostics, hir::Program& program, Observer* observer);

  // Checks the whole program. The results are in the program, errors in the diagnostics.
  void run(HostReach reach);

  hir::Program& program() { return program_; }
  TypeTable& types() { return program_.types; }
  const Type* basic(TypeKind kind) const { return program_.types.basic(kind); }
  Diagnostics& diagnostics() { return diagnostics_; }
  Observer* observer() { return observer_; }
  ErrorTypes& errors() { return errors_; }
  EnumTypes& enums() { return enums_; }
  TupleTypes& tuples() { return tuples_; }
  Constants& constants() { return constant_values_; }

  // Reports an error, with a note for each generic instance that the current body belongs to. A message
  // already given for this place (in another instance of the same source) is swallowed.
  template <typename... Args>
  Diagnostic& error(SourceRange range, fmt::format_string<Args...> format, Args&&... args) {
    return report(range, fmt::format(format, std::forward<Args>(args)...));
  }
  hir::Position position(SourceRange range) const;

  // --- types (resolve.cpp, nominal.cpp)
  // The type that `syntax` means, or the error type after a diagnostic. A null `syntax` means void.
  const Type* resolve(const ast::Type* syntax, const TypeContext& context);
  // The module that `from` knows by this name: imported, or a known module (imports.h). Null if there is none.
  ModuleSymbols* find_module(std::string_view name, const ModuleSymbols& from) const;
  NominalSymbol* find_type(std::string_view qualifier, std::string_view name, SourceRange range,
                           const TypeContext& context, bool report_missing);
  const Type* instantiate(NominalSymbol& symbol, std::vector<const Type*> arguments, SourceRange range);
  // The declaration that an alias, or a chain of aliases, names; null when it names a type without declaration.
  NominalSymbol* behind_alias(NominalSymbol* symbol);
  // Null for types that were not declared.
  Nominal* nominal(const Type* type);
  // Resolves fields, methods and interfaces of a declared type (type_completion.h).
  void complete(Nominal& nominal);
  // Whether the type is a primitive, or a struct or nullable of primitives, which parallel loops may use as values.
  bool is_plain(const Type* type);
  bool implements(const Type* type, const Type* interface);
  // Whether the type has a method `equals` that takes a value of the same type.
  bool has_equals(const Type* type);
  Method find_method(Nominal& nominal, std::string_view name);
  std::vector<std::string_view> names_of_methods(Nominal& nominal);
  const FieldInfo* find_field(const Type* type, std::string_view name, std::uint32_t& index);
  std::vector<std::string> names_of_types(const TypeContext& context);

  // --- functions (functions.cpp)
  FunctionInstance& instantiate(FunctionSymbol& symbol, Nominal* owner, std::vector<const Type*> arguments,
                                SourceRange range);
  // The instance's result; infers it from the body where it was not written.
  const Type* result_of(FunctionInstance& instance, SourceRange range);
  // The function to call: its body will be checked.
  hir::Function* use(FunctionInstance& instance);
  hir::Native* native(const std::string& name, std::vector<const Type*> parameters, const Type* result);
  hir::Native* native(FunctionInstance& instance);
  // The function that wraps a native one used as a value; null until it is made.
  hir::Function*& caller_of(FunctionInstance& instance) { return callers_of_natives_[&instance]; }
  // Checks that `arguments` satisfy the bounds of `parameters`.
  bool check_bounds(const std::vector<ast::TypeParameter>& parameters,
                    const std::vector<const Type*>& arguments, const TypeContext& context, SourceRange range);

  ModuleSymbols& module(const ast::Module& module) { return *modules_by_ast_.at(&module); }
  // The function of the library that is a method of `type`, a type without declaration; or null.
  FunctionSymbol* library_method(const Type* type, std::string_view name);
  std::vector<std::string_view> library_methods(const Type* type);
  hir::Expr* make(hir::ExprKind kind, const Type* type, SourceRange range);
  hir::Stmt* make(hir::StmtKind kind, SourceRange range);

  // The instance whose body or signature is being checked.
  const Origin* current() const { return current_; }

  // Makes `origin` the current instance for its lifetime: errors name it, and it counts as a level of instantiation.
  class Enter {
   public:
    Enter(Analysis& analysis, const Origin& origin) : analysis_(analysis), previous_(analysis.current_) {
      analysis.current_ = &origin;
    }
    ~Enter() { analysis_.current_ = previous_; }
    Enter(const Enter&) = delete;
    Enter& operator=(const Enter&) = delete;

   private:
    Analysis& analysis_;
    const Origin* previous_;
  };

  // Parallel loops whose purity is checked when all functions are known.
  struct PendingKernel {
    hir::Stmt* loop = nullptr;
    const Origin* origin = nullptr;
    SourceRange range;
  };
  void add_kernel(PendingKernel kernel) { kernels_.push_back(kernel); }
  // Notes that the program has closures, function values, or parallel loops that use objects: see specialise.h.
  void loops_call_values() { loops_call_values_ = true; }

  // Native recursion of the checker: expressions in expressions, and bodies checked while another waits for
  // the type of their result.
  static constexpr unsigned kMaxNesting = 1200;
  unsigned nesting = 0;
  // The source of each HIR node, for checks that follow those of the bodies.
  SourceRange range_of(const hir::Expr* expr) const;
  SourceRange range_of(const hir::Stmt* stmt) const;
  SourceRange range_of(const hir::Function& function) const;  // its name

 private:
  Diagnostic& report(SourceRange range, std::string message);
  const Type* resolve_alias(NominalSymbol& symbol, std::vector<const Type*> arguments, SourceRange range);
  void collect(const ast::Module& module);
  void collect_type(ModuleSymbols& symbols, const ast::TypeDecl& declaration);
  void check_declarations(ModuleSymbols& symbols);
  void check_entry(ModuleSymbols& root);
  bool too_deep(const Origin& origin, SourceRange range);
  Origin make_origin(bool generic, SourceRange range, const std::string& name) const;
  void drain();
  void export_objects();
  void drop_unreachable();

  const ast::Program& source_;
  Diagnostics& diagnostics_;
  hir::Program& program_;
  Observer* observer_;
  ErrorTypes errors_{*this};
  EnumTypes enums_{*this};
  TupleTypes tuples_{*this};
  Constants constant_values_{*this};
  HostObjects host_objects_{*this};
  const Origin* current_ = nullptr;

  std::deque<ModuleSymbols> modules_;
  std::deque<FunctionSymbol> functions_;
  std::deque<NominalSymbol> nominal_symbols_;
  std::deque<ConstantSymbol> constants_;
  std::map<const ast::Module*, ModuleSymbols*> modules_by_ast_;
  std::vector<ModuleSymbols*> method_modules_;
  std::vector<ModuleSymbols*> known_modules_;

  std::uint32_t generic_instances_ = 0;
  std::deque<Nominal> nominals_;
  std::map<std::pair<const NominalSymbol*, std::vector<const Type*>>, Nominal*> nominal_cache_;
  std::map<const Type*, Nominal*> nominal_by_type_;
  std::map<std::pair<const NominalSymbol*, std::vector<const Type*>>, const Type*> alias_cache_;
  std::deque<Origin> alias_origins_;
  std::deque<FunctionInstance> instances_;
  std::map<std::pair<const FunctionSymbol*, std::pair<const Nominal*, std::vector<const Type*>>>,
           FunctionInstance*>
      instance_cache_;
  std::deque<FunctionInstance*> bodies_;
  std::deque<Nominal*> incomplete_;
  std::map<std::string, hir::Native*> natives_;
  std::map<const FunctionInstance*, hir::Function*> callers_of_natives_;
  std::set<std::pair<std::pair<std::uint32_t, std::uint32_t>, std::string>> reported_;
  std::deque<Diagnostic> swallowed_;
  std::vector<PendingKernel> kernels_;
  bool loops_call_values_ = false;
  std::unordered_map<const void*, SourceRange> ranges_;
};

// Checks that the body of a parallel loop, and every function it calls, is pure (purity.cpp), and looks for
// provable conflicts between its iterations (conflicts.cpp).
void check_purity(Analysis& analysis, const hir::Stmt& loop);
void check_conflicts(Analysis& analysis, const hir::Stmt& loop);

// Checks that no function with a fixed array as parameter is recursive (fixed_parameters.cpp).
void check_fixed_parameters(Analysis& analysis);
// Where `function`, or one of its callees, assigns an element of its fixed array `array`; nothing if none does.
std::optional<SourceRange> write_of_fixed(const Analysis& analysis, const hir::Function& function,
                                          const hir::Local& array);

}  // namespace dhpvm::compiler
