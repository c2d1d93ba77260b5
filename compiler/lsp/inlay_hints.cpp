// SPDX-License-Identifier: Apache-2.0
// textDocument/inlayHint: types that the source leaves out.
#include "compiler/check/lexical_walk.h"
#include "compiler/lsp/features.h"
#include "compiler/lsp/positions.h"
#include "compiler/lsp/uri.h"

namespace dhpvm::compiler::lsp {

namespace {

constexpr int kType = 1;
constexpr std::size_t kMaxShown = 40;  // of the name of a type

class Hints final : private LexicalWalk {
 public:
  Hints(const View& view, std::uint32_t begin, std::uint32_t end) : view_(view), begin_(begin), end_(end) {}

  Json run() {
    for (const ast::Function* function : view_->module().functions) add_result(*function);
    for (const ast::TypeDecl* type : view_->module().types) {
      for (const ast::Function* method : type->methods) add_result(*method);
    }
    module(view_->module());
    return std::move(found_);
  }

 private:
  bool enters(const ast::Function& function) const override {
    return function.range.begin <= end_ && begin_ <= function.range.end;
  }
  void on_declare(const Local& local) override {
    if (local.role == Role::kReduction || local.role == Role::kPattern) return;
    if (local.role != Role::kParameter || closures() != 0) add_variable(local.name, local.name.range.end);
  }
  void on_statement(const ast::Stmt& statement) override {
    if (statement.type != nullptr) typed_ = statement.name.range;
  }
  void on_expr(const ast::Expr& expr) override {
    if (expr.kind != ast::ExprKind::kClosure || expr.closure == nullptr) return;
    for (const ast::Parameter& parameter : expr.closure->parameters) {
      if (parameter.type != nullptr) typed_parameters_.push_back(parameter.name.range.begin);
    }
  }

  void add_variable(const ast::Name& name, std::uint32_t at) {
    if (name.range == typed_) return;
    for (const std::uint32_t typed : typed_parameters_) {
      if (typed == name.range.begin) return;
    }
    if (const Type* type = view_->facts().type_of_variable(name.range); type != nullptr && name.text != "_")
      add(at, ": " + type->name);
  }

  void add_result(const ast::Function& function) {
    if (function.result != nullptr || function.expression == nullptr || !enters(function)) return;
    const Type* const type = view_->facts().type_of(function.expression->range);
    if (type == nullptr || type->is(TypeKind::kVoid) || type->is(TypeKind::kNever)) return;
    const std::string_view text = view_->file().text();
    const std::size_t bracket = text.rfind(')', function.expression->range.begin);
    if (bracket != std::string_view::npos && bracket > function.range.begin)
      add(static_cast<std::uint32_t>(bracket) + 1, " -> " + type->name);
  }

  void add(std::uint32_t offset, const std::string& label) {
    if (offset < begin_ || offset > end_ || label.size() > kMaxShown) return;
    found_.push_back({{"position", position_of(view_->file(), offset)}, {"label", label}, {"kind", kType}});
  }

  const View& view_;
  std::uint32_t begin_;
  std::uint32_t end_;
  SourceRange typed_;  // the variable of the last declaration with a type
  std::vector<std::uint32_t> typed_parameters_;
  Json found_ = Json::array();
};

}  // namespace

Result<Json> inlay_hints(Workspace& workspace, const Json& params) {
  const std::shared_ptr<const Parsed> parsed =
      workspace.parsed(path_of(params.at("textDocument").at("uri").get<std::string>()));
  if (parsed == nullptr) return Json();
  const Json& range = params.at("range");
  const std::uint32_t begin = offset_of(parsed->file(), range.at("start"));
  const std::uint32_t end = offset_of(parsed->file(), range.at("end"));
  const std::optional<View> view = workspace.view(params, {begin, end, {}, false});
  return view.has_value() ? Hints(*view, begin, end).run() : Json();
}

}  // namespace dhpvm::compiler::lsp
