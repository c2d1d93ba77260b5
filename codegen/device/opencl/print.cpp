// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/opencl/print.h"

#include <fmt/format.h>
#include <llvm/IR/InstIterator.h>

#include <map>

#include "base/error.h"
#include "codegen/device/builtins.h"
#include "codegen/device/opencl/c_text.h"
#include "codegen/device/opencl/structure.h"

namespace dhpvm::codegen::opencl {
namespace {

// Arrays and variables, in the order of their names.
std::string declarations(const llvm::Function& function, const Expressions& expressions,
                         const Structure& structure, bool is_kernel) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  std::string text;
  const auto declare_array = [&](const llvm::Value& value, const llvm::Type* type, unsigned space) {
    const ArrayText array = array_text(type, layout);
    text += fmt::format("  {}{} {}[{}];\n", space_name(space), array.type,
                        expressions.variables().name(value), array.count);
  };
  if (is_kernel) {
    for (const llvm::GlobalVariable& global : function.getParent()->globals()) {
      declare_array(global, global.getValueType(), kLocalSpace);
    }
  }
  std::map<std::string, std::string> variables;  // by type
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (const auto* const alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
      declare_array(*alloca, alloca->getAllocatedType(), kPrivateSpace);
      continue;
    }
    if (instruction.getType()->isVoidTy() || instruction.use_empty() ||
        expressions.variables().is_inline(instruction) || structure.is_declared_inside(instruction)) {
      continue;
    }
    const llvm::Type* const type = variable_type(instruction);
    // The star of a pointer belongs to each name.
    std::string name = type_name(type);
    std::string star;
    if (name.ends_with('*')) {
      name.pop_back();
      star = "*";
    }
    std::string& list = variables[name];
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ", star, expressions.variables().name(instruction));
  }
  for (const auto& [type, names] : variables) text += fmt::format("  {} {};\n", type, names);
  text += structure.declaration();
  return text;
}

Result<std::string> function_text(llvm::Function& function, const PrintOptions& options, Helpers& helpers) {
  Expressions expressions(function, helpers);
  Structure structure(function, expressions);
  std::string parameters;
  for (const llvm::Argument& argument : function.args()) {
    parameters +=
        fmt::format("{}{}{} {}", parameters.empty() ? "" : ", ", type_name(argument.getType()),
                    argument.hasNoAliasAttr() ? " RESTRICT" : "", expressions.variables().name(argument));
  }
  const bool is_kernel = &function == options.kernel;
  std::string text = is_kernel ? "kernel " : "";
  text += fmt::format("{} {}({}) {{\n", type_name(function.getReturnType()), function.getName().str(),
                      parameters);
  const std::vector<Line> lines = structure.lines();
  text += declarations(function, expressions, structure, is_kernel);
  for (const Line& line : lines) text += fmt::format("{:{}}{}\n", "", 2 * line.depth, line.text);
  if (!expressions.problem().empty()) return error(ErrorCode::kUnsupported, "{}", expressions.problem());
  return text + "}\n";
}

}  // namespace

Result<std::string> print(llvm::Module& module, const PrintOptions& options) {
  Helpers helpers;
  std::string functions;
  // Callees precede callers; the kernel is the last.
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || &function == options.kernel) continue;
    DHPVM_ASSIGN(const std::string text, function_text(function, options, helpers));
    functions += text + "\n";
  }
  DHPVM_ASSIGN(const std::string kernel,
               function_text(*module.getFunction(options.kernel->getName()), options, helpers));
  std::string text;
  if (options.uses_f64) text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  if (options.uses_atomics_64) text += "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n";
  text += fmt::format("#pragma OPENCL FP_CONTRACT {}\n\n", options.may_contract ? "ON" : "OFF");
  // With -DRESTRICT=, the kernel accepts arrays that overlap.
  if (llvm::any_of(options.kernel->args(), [](const auto& argument) { return argument.hasNoAliasAttr(); }))
    text += "#ifndef RESTRICT\n#define RESTRICT restrict\n#endif\n\n";
  for (const auto& [name, definition] : helpers) text += definition;
  if (!helpers.empty()) text += "\n";
  return text + functions + kernel;
}

}  // namespace dhpvm::codegen::opencl
