// SPDX-License-Identifier: Apache-2.0
// Source text to modules.
#include <map>
#include <string>
#include <vector>

#include "bytecode/verifier.h"
#include "compiler/compiler.h"
#include "dhpvm/module.h"
#include "stdlib/modules.h"
#include "vm/api/state.h"

namespace dhpvm {
namespace {

// Those of host classes, by name.
std::map<std::string, std::string> modules_of(detail::EngineState& engine) {
  std::map<std::string, std::string> modules;
  const std::lock_guard lock(engine.mutex);
  for (const auto& [module, classes] : engine.host_classes) {
    for (const auto& [name, text] : classes) modules[module] += text;
  }
  return modules;
}

}  // namespace

Result<Module> Module::compile(const Engine& engine, std::string_view source, const CompileOptions& options) {
  compiler::CompileOptions wanted;
  wanted.file_name = options.file_name;
  wanted.import_paths = options.import_paths;
  wanted.read = options.read;
  wanted.colour = options.colour;
  wanted.warnings = options.warnings;
  wanted.all_lines = options.all_lines;
  wanted.host_objects = options.host_objects;
  const std::map<std::string, std::string> host_modules = modules_of(*engine.state());
  std::vector<compiler::BuiltinModule> modules(stdlib::modules().begin(), stdlib::modules().end());
  for (const auto& [name, text] : host_modules)
    modules.push_back({.name = name, .text = text, .is_of_host = true});
  wanted.builtin_modules = modules;
  DHPVM_ASSIGN(bytecode::Module module, compiler::compile(source, wanted));
  // The compiler's output should pass the verifier; it is checked like every module.
  if (Status status = bytecode::verify(module); !status.ok())
    return Error(ErrorCode::kInternal,
                 "the compiler wrote a module that does not verify: " + status.error().message());
  auto state = std::make_shared<detail::ModuleState>();
  state->engine = engine.state();
  state->module = std::make_shared<const bytecode::Module>(std::move(module));
  return Module(std::move(state));
}

}  // namespace dhpvm
