// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/analysis.h"

#include <algorithm>

#include "compiler/check/body.h"
#include "compiler/check/checker.h"
#include "compiler/check/part_observer.h"
#include "compiler/check/specialise.h"
#include "compiler/check/type_completion.h"
#include "compiler/hir/hir_walk.h"
#include "compiler/parse/imports.h"

namespace dhpvm::compiler {

namespace {

bool is_library(const ast::Program& source, std::uint32_t file) {
  return std::any_of(source.modules.begin(), source.modules.end(),
                     [&](const auto& module) { return module->is_stdlib && module->file == file; });
}

// The use of the generic library code that contains `range`; null if `range` is not in the library.
const Origin* use_of_library(const ast::Program& source, const Origin* origin, SourceRange range) {
  if (!is_library(source, range.file)) return nullptr;
  while (origin != nullptr && (origin->name.empty() || is_library(source, origin->range.file))) {
    origin = origin->parent;
  }
  return origin;
}

}  // namespace

Analysis::Analysis(const ast::Program& source, Diagnostics& diagnostics, hir::Program& program,
                   Observer* observer)
    : source_(source), diagnostics_(diagnostics), program_(program), observer_(observer) {}

void Analysis::run(HostReach reach) {
  for (const auto& module : source_.modules) {
    ModuleSymbols& symbols = modules_.emplace_back();
    symbols.module = module.get();
    symbols.name = module->path;
    modules_by_ast_[module.get()] = &symbols;
    if (module->is_stdlib && module->path == "errors") errors_.set_module(symbols);
    if (module->is_stdlib && is_known_module(module->path)) known_modules_.push_back(&symbols);
    if (module->is_stdlib && (module->path == "str" || module->path == "array"))
      method_modules_.push_back(&symbols);
  }
  for (const auto& module : source_.modules) collect(*module);
  for (ModuleSymbols& symbols : modules_) {
    if (!symbols.module->is_stdlib) check_declarations(symbols);
  }
  if (!modules_.empty()) check_entry(modules_.front());
  drain();
  // The signatures of all functions are known now, also where they were inferred.
  if (reach == HostReach::kObjects && !diagnostics_.has_errors()) export_objects();
  // Purity analyses whole functions: it needs them all, checked and without errors.
  const bool all_checked = std::ranges::none_of(instances_, [](const FunctionInstance& instance) {
    return instance.state == FunctionInstance::State::kQueued;
  });
  if (diagnostics_.has_errors() || !all_checked) return;
  if (loops_call_values_ && !kernels_.empty()) specialise_loops(*this, kernels_);
  check_fixed_parameters(*this);
  if (diagnostics_.has_errors()) return;
  for (const PendingKernel& kernel : kernels_) {
    const Origin none;
    Enter enter(*this, kernel.origin != nullptr ? *kernel.origin : none);
    check_purity(*this, *kernel.loop);
    check_conflicts(*this, *kernel.loop);
  }
  if (!diagnostics_.has_errors()) drop_unreachable();
}

Diagnostic& Analysis::report(SourceRange range, std::string message) {
  if (const Origin* use = use_of_library(source_, current_, range); use != nullptr) {
    // The error is in the argument, not in the library. It is reported once for each use.
    const std::string whole = use->name + ": " + message;
    if (!reported_.insert({{use->range.file, use->range.begin}, whole}).second)
      return swallowed_.emplace_back();
    return diagnostics_.add(Severity::kError, use->range, whole).note(range, "the library needs it here");
  }
  if (!reported_.insert({{range.file, range.begin}, message}).second) return swallowed_.emplace_back();
  Diagnostic& diagnostic = diagnostics_.add(Severity::kError, range, std::move(message));
  // A runaway instantiation repeats the same steps; the ends of its chain are enough.
  constexpr unsigned kShown = 4;
  unsigned shown = 0;
  for (const Origin* origin = current_; origin != nullptr; origin = origin->parent) {
    if (origin->name.empty()) continue;
    if (++shown > kShown) break;
    diagnostic.note(origin->range, "in instantiation of {}", origin->name);
  }
  return diagnostic;
}

hir::Position Analysis::position(SourceRange range) const {
  const LineColumn place = diagnostics_.sources().position(range);
  return {range.file, place.line, place.column};
}

hir::Expr* Analysis::make(hir::ExprKind kind, const Type* type, SourceRange range) {
  hir::Expr& expr = program_.expr_arena.emplace_back();
  expr.kind = kind;
  expr.type = type;
  expr.position = position(range);
  ranges_[&expr] = range;
  if (observer_ != nullptr) observer_->on_expression(range, type);
  return &expr;
}

hir::Stmt* Analysis::make(hir::StmtKind kind, SourceRange range) {
  hir::Stmt& stmt = program_.stmt_arena.emplace_back();
  stmt.kind = kind;
  stmt.position = position(range);
  ranges_[&stmt] = range;
  return &stmt;
}

SourceRange Analysis::range_of(const hir::Expr* expr) const { return ranges_.at(expr); }
SourceRange Analysis::range_of(const hir::Stmt* stmt) const { return ranges_.at(stmt); }
SourceRange Analysis::range_of(const hir::Function& function) const {
  const SourceFile& file = diagnostics_.sources().file(function.position.file);
  const std::uint32_t begin = file.line_start(function.position.line) + function.position.column - 1;
  return {function.position.file, begin, begin + 1};
}

// Bodies create instances, and instances create bodies, so this repeats until the queue is empty.
void Analysis::drain() {
  const auto* const part = dynamic_cast<const PartObserver*>(observer_);
  while (!bodies_.empty() || !incomplete_.empty()) {
    if (!incomplete_.empty()) {
      Nominal* nominal = incomplete_.front();
      incomplete_.pop_front();
      complete(*nominal);
      TypeCompletion(*this, *nominal).implement_interfaces();
      continue;
    }
    FunctionInstance* instance = bodies_.front();
    bodies_.pop_front();
    const bool wanted = part == nullptr || part->wants(*instance->symbol->declaration);
    if (wanted && instance->state == FunctionInstance::State::kQueued) check_body(*this, *instance);
  }
}

void Analysis::export_objects() {
  for (const ast::TypeDecl* declaration : modules_.front().module->types) {
    NominalSymbol& symbol = *modules_.front().types.at(declaration->name.text);
    if (declaration->type_parameters.empty() && !symbol.is_alias())
      host_objects_.add(instantiate(symbol, {}, declaration->name.range));
  }
  const std::vector<hir::Function*> functions = program_.functions;
  for (const hir::Function* function : functions) {
    if (!function->exported) continue;
    for (const hir::Local* parameter : function->parameters) host_objects_.add(parameter->type);
    host_objects_.add(function->result);
  }
  drain();
}

// Generic code and modules contain more than a program uses; only callable functions go on to lowering.
void Analysis::drop_unreachable() {
  std::set<const hir::Function*> reached;
  std::vector<const hir::Function*> open;
  const auto reach = [&](const hir::Function* function) {
    if (function == nullptr || !reached.insert(function).second) return;
    open.push_back(function);
    if (!function->is_template) return;
    error(range_of(*function),
          "'{}' calls a parameter of its own in a parallel loop: it can neither be used as a value nor be a "
          "method "
          "of an interface",
          function->name)
        .help("call it by its name, or write an ordinary `for` in it");
  };
  for (const hir::Function* function : program_.functions) {
    if (function->exported) reach(function);
  }
  reach(program_.entry);
  for (const Nominal& nominal : nominals_) {
    for (const ImplementationInfo& implementation : nominal.type->implementations) {
      for (const hir::Function* function : implementation.functions) reach(function);
    }
  }
  while (!open.empty()) {
    const hir::Function* function = open.back();
    open.pop_back();
    hir::walk(
        function->body,
        [&](const hir::Expr& expr) {
          reach(expr.function);
          return true;
        },
        [](const hir::Stmt&) { return true; });
  }
  // A function that takes fixed arrays is inlined into its callers.
  std::erase_if(program_.functions, [&](const hir::Function* function) {
    return !reached.contains(function) || hir::is_part_of_callers(*function);
  });
}

namespace {

std::unique_ptr<hir::Program> analyse(const ast::Program& source, Diagnostics& diagnostics,
                                      Observer* observer, HostReach reach) {
  auto program = std::make_unique<hir::Program>();
  for (std::uint32_t file = 0; file < diagnostics.sources().file_count(); ++file) {
    program->files.push_back(diagnostics.sources().file(file).name());
  }
  Analysis analysis(source, diagnostics, *program, observer);
  analysis.run(reach);
  return program;
}

}  // namespace

std::unique_ptr<hir::Program> check(const ast::Program& source, Diagnostics& diagnostics, HostReach reach) {
  std::unique_ptr<hir::Program> program = analyse(source, diagnostics, nullptr, reach);
  if (diagnostics.has_errors()) return nullptr;
  return program;
}

std::unique_ptr<hir::Program> check_observed(const ast::Program& source, Diagnostics& diagnostics,
                                             Observer& observer) {
  return analyse(source, diagnostics, &observer, HostReach::kFunctions);
}

}  // namespace dhpvm::compiler
