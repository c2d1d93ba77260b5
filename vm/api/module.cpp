// SPDX-License-Identifier: Apache-2.0
#include "dhpvm/module.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "bytecode/assembler.h"
#include "bytecode/disassembler.h"
#include "bytecode/reader.h"
#include "bytecode/verifier.h"
#include "bytecode/writer.h"
#include "vm/api/state.h"

namespace dhpvm {
namespace {

// Every way to make a module ends here, so that nothing runs that was not verified.
Result<std::shared_ptr<detail::ModuleState>> admit(const Engine& engine, bytecode::Module module) {
  DHPVM_TRY(bytecode::verify(module));
  auto state = std::make_shared<detail::ModuleState>();
  state->engine = engine.state();
  state->module = std::make_shared<const bytecode::Module>(std::move(module));
  return state;
}

}  // namespace

Result<Module> Module::load(const Engine& engine, std::span<const std::byte> bytes) {
  DHPVM_ASSIGN(bytecode::Module module, bytecode::read_module(bytes));
  DHPVM_ASSIGN(auto state, admit(engine, std::move(module)));
  return Module(std::move(state));
}

Result<Module> Module::assemble(const Engine& engine, std::string_view text, std::string_view file_name) {
  Result<bytecode::Module> module = bytecode::assemble(text);
  if (!module.ok()) {
    return error(module.error().code(), "{}: {}", file_name, module.error().message());
  }
  DHPVM_ASSIGN(auto state, admit(engine, std::move(module).value()));
  return Module(std::move(state));
}

std::vector<std::byte> Module::bytes(bool strip) const {
  return bytecode::write_module(*state_->module, {.strip = strip});
}

Status Module::save(const std::string& path, bool strip) const { return write_file(path, bytes(strip)); }

Status Module::save_text(const std::string& path) const {
  const std::string text = disassemble();
  return write_file(path, std::as_bytes(std::span(text)));
}

std::string Module::disassemble() const { return bytecode::disassemble(*state_->module); }

bool Module::has_main() const { return state_->module->entry != bytecode::kNoIndex; }

std::vector<std::string> Module::exports() const {
  const bytecode::Module& module = *state_->module;
  std::vector<std::string> list;
  for (const bytecode::Function& function : module.functions) {
    if (!function.exported) continue;
    list.push_back(std::string(module.name_of(function)) + vm::signature_text(module, function.signature));
  }
  return list;
}

}  // namespace dhpvm
