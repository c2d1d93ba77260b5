// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/module.h"

#include <utility>

#include "base/error.h"
#include "bytecode/format.h"
#include "compiler/lower/function.h"

namespace dhpvm::compiler {

namespace bc = bytecode;

namespace {

// A host finds methods by name, even if only the program calls them.
bool is_method(const hir::Function& function) {
  if (function.parameters.empty()) return false;
  const Type& receiver = *function.parameters.front()->type;
  return receiver.is(TypeKind::kClass) && function.name.starts_with(receiver.name + ".");
}

}  // namespace

ModuleLowering::ModuleLowering(const hir::Program& program, LinesOf lines)
    : program_(program), lines_(lines), types_(builder_), inlines_(program, lines) {
  for (const std::string& file : program.files) files_.push_back(builder_.string(file));
}

void ModuleLowering::fail(Error error) {
  if (status_.ok()) status_ = std::move(error);
}

std::uint32_t ModuleLowering::function(const hir::Function& function) {
  if (const auto known = functions_.find(&function); known != functions_.end()) return known->second;
  if (function.closure_type != nullptr) {
    declare_closure(function);
    return functions_.find(&function)->second;
  }
  std::vector<const Type*> parameters;
  for (const hir::Local* parameter : function.parameters) parameters.push_back(parameter->type);
  const bc::Signature signature = types_.signature(parameters, function.result);
  const std::uint32_t id = builder_.declare_function(function.name, signature, function.exported);
  functions_.emplace(&function, id);
  if (function.exported || is_method(function)) name_structs(function);
  waiting_.push_back(&function);
  return id;
}

// For hosts, which can call exported functions, methods of classes and interfaces, and closures.
void ModuleLowering::name_structs(const hir::Function& function) {
  std::vector<const Type*> parameters;
  for (const hir::Local* parameter : function.parameters) parameters.push_back(parameter->type);
  builder_.set_structs(functions_.find(&function)->second, types_.structs(parameters, function.result));
}

// The object of a closure holds its captures: copies, or the cells of boxed variables.
void ModuleLowering::declare_closure(const hir::Function& function) {
  Leaves captures;
  for (const hir::Capture& capture : function.captures) {
    if (capture.inner->boxed) {
      captures.push_back({bc::Kind::kRef, types_.cell(capture.inner->type)});
    } else {
      const Leaves& leaves = types_.leaves(capture.inner->type);
      captures.insert(captures.end(), leaves.begin(), leaves.end());
    }
  }
  const std::uint32_t type = types_.closure_class(function.name, captures);
  closure_classes_.emplace(&function, type);
  const Type* interface = function.closure_type;
  bc::Signature signature = types_.signature(interface->parameters, interface->result);
  signature.parameters.insert(signature.parameters.begin(), bc::ValueType{bc::Kind::kRef, type});
  const std::uint32_t id = builder_.declare_function(function.name, signature);
  functions_.emplace(&function, id);
  builder_.set_structs(id, types_.structs(interface->parameters, interface->result, 1));
  builder_.implement(type, {types_.reference(interface), {id}});
  waiting_.push_back(&function);
}

std::uint32_t ModuleLowering::closure_class(const hir::Function& function) {
  this->function(function);
  return closure_classes_.find(&function)->second;
}

std::uint32_t ModuleLowering::function_value_class(const hir::Function& function, const Type* type) {
  if (const auto known = function_values_.find(&function); known != function_values_.end())
    return known->second;
  const std::uint32_t target = this->function(function);
  const std::uint32_t id = types_.closure_class(function.name, {});
  function_values_.emplace(&function, id);
  bc::Signature signature = types_.signature(type->parameters, type->result);
  signature.parameters.insert(signature.parameters.begin(), bc::ValueType{bc::Kind::kRef, id});
  const std::uint32_t forwarder = builder_.declare_function(function.name, signature);
  builder_.set_structs(forwarder, types_.structs(type->parameters, type->result, 1));
  builder_.implement(id, {types_.reference(type), {forwarder}});
  forward_invoke(forwarder, target, signature);
  return id;
}

// `invoke` of a function value: the arguments are in the function's registers already, except that the references
// follow the receiver.
void ModuleLowering::forward_invoke(std::uint32_t forwarder, std::uint32_t target,
                                    const bc::Signature& signature) {
  bc::FunctionBuilder code(builder_, forwarder);
  code.emit(bc::Op::kCall, 0, 1, static_cast<std::uint16_t>(target));
  std::uint16_t references = 0;
  for (const bc::ValueType& result : signature.results) {
    if (!result.is_ref()) continue;
    code.emit(bc::Op::kMoveR, references, static_cast<std::uint16_t>(references + 1));
    ++references;
  }
  code.emit(bc::Op::kReturn);
  if (Status status = code.finish(); !status.ok()) fail(std::move(status).error());
}

std::uint32_t ModuleLowering::native(const hir::Native& native) {
  return builder_.import_function(native.name, types_.signature(native.parameters, native.result));
}

void ModuleLowering::add_implementations() {
  for (auto classes = types_.take_new_classes(); !classes.empty(); classes = types_.take_new_classes()) {
    for (const Type* type : classes) {
      for (const ImplementationInfo& implementation : type->implementations) {
        bc::Implementation lowered{types_.reference(implementation.interface), {}};
        for (const hir::Function* method : implementation.functions) {
          lowered.functions.push_back(function(*method));
          name_structs(*method);
        }
        builder_.implement(types_.reference(type), std::move(lowered));
      }
    }
  }
}

// Reports exceeded limits in terms of the program, before the verifier would.
void ModuleLowering::check_limits() {
  const bc::Module& module = builder_.module();
  const auto within = [this](std::size_t count, std::size_t most, std::string_view what) {
    if (count > most)
      fail(error(ErrorCode::kUnsupported, "the program has {} {}, and at most {} are allowed", count, what,
                 most));
  };
  // Calls name functions, natives and kernels in 16 bits.
  within(module.functions.size(), bc::kMaxFunctions, "functions");
  within(module.imports.size(), bc::kMaxImports, "native functions");
  within(module.kernels.size(), bc::kMaxKernels, "parallel loops");
  within(module.types.size(), bc::kMaxTypes, "types");
  within(module.strings.size(), bc::kMaxStrings, "names and texts");
  within(module.code.size(), bc::kMaxCodeWords, "words of code");
  for (const bc::Type& type : module.types) {
    if (type.size > bc::kMaxObjectBytes) {
      fail(error(ErrorCode::kUnsupported,
                 "'{}' has fields of {} bytes, and at most {} are allowed: use arrays", type.name, type.size,
                 bc::kMaxObjectBytes));
    }
  }
}

Result<bc::Module> ModuleLowering::run() && {
  // In the program's order, so that the same program always gives the same module.
  for (const hir::Function* f : program_.functions) function(*f);
  if (program_.entry != nullptr) builder_.set_entry(function(*program_.entry));
  add_implementations();
  for (std::size_t next = 0; next < waiting_.size() && status_.ok(); ++next) {
    const hir::Function& f = *waiting_[next];
    lower_function(*this, functions_.find(&f)->second, f);
    add_implementations();
  }
  check_limits();
  if (!status_.ok()) return std::move(status_).error();
  return std::move(builder_).finish();
}

}  // namespace dhpvm::compiler
