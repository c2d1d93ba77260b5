// SPDX-License-Identifier: Apache-2.0
#include "bytecode/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bytecode/names.h"

namespace dhpvm::bytecode {

ModuleBuilder::ModuleBuilder() {
  add_type(TypeKind::kString, "str");
  add_type(TypeKind::kResource, "resource");
}

std::uint32_t ModuleBuilder::string(std::string_view text) {
  if (const auto known = string_ids_.find(text); known != string_ids_.end()) return known->second;
  const auto id = static_cast<std::uint32_t>(module_.strings.size());
  module_.strings.emplace_back(text);
  interned_.emplace_back(text);
  string_ids_.emplace(interned_.back(), id);
  return id;
}

std::uint32_t ModuleBuilder::add_type(TypeKind kind, std::string name) {
  const auto id = static_cast<std::uint32_t>(module_.types.size());
  Type& type = module_.types.emplace_back();
  type.kind = kind;
  type.name = std::move(name);
  layout(type);
  return id;
}

std::uint32_t ModuleBuilder::declare_class(std::string name) {
  return add_type(TypeKind::kClass, std::move(name));
}
std::uint32_t ModuleBuilder::declare_interface(std::string name) {
  return add_type(TypeKind::kInterface, std::move(name));
}
std::uint32_t ModuleBuilder::declare_struct(std::string name) {
  return add_type(TypeKind::kStruct, std::move(name));
}

void ModuleBuilder::define_fields(std::uint32_t type, std::vector<Field> fields) {
  module_.types[type].fields = std::move(fields);
  layout(module_.types[type]);
}

void ModuleBuilder::define_methods(std::uint32_t interface, std::vector<Method> methods) {
  module_.types[interface].methods = std::move(methods);
}

void ModuleBuilder::implement(std::uint32_t type, Implementation implementation) {
  std::vector<Implementation>& all = module_.types[type].implementations;
  const auto at = std::lower_bound(
      all.begin(), all.end(), implementation.interface,
      [](const Implementation& known, std::uint32_t wanted) { return known.interface < wanted; });
  if (at != all.end() && at->interface == implementation.interface) {
    *at = std::move(implementation);
  } else {
    all.insert(at, std::move(implementation));
  }
}

std::string ModuleBuilder::describe(ValueType type) const {
  return type.is_ref() ? module_.types[type.type].name : std::string(name_of(type.kind));
}

std::uint32_t ModuleBuilder::array_type(ValueType element, std::uint8_t rank) {
  const auto key =
      std::pair(std::uint64_t{element.type} << 8 | static_cast<std::uint8_t>(element.kind), rank);
  if (const auto known = array_ids_.find(key); known != array_ids_.end()) return known->second;
  const std::string name =
      rank == 1 ? fmt::format("[{}]", describe(element)) : fmt::format("[{}, {}]", describe(element), rank);
  const std::uint32_t id = add_type(TypeKind::kArray, name);
  module_.types[id].element = element;
  module_.types[id].rank = rank;
  array_ids_.emplace(key, id);
  return id;
}

std::uint32_t ModuleBuilder::weak_type(std::uint32_t target) {
  if (const auto known = weak_ids_.find(target); known != weak_ids_.end()) return known->second;
  const std::uint32_t id = add_type(TypeKind::kWeak, fmt::format("weak {}", module_.types[target].name));
  module_.types[id].element = {Kind::kRef, target};
  weak_ids_.emplace(target, id);
  return id;
}

std::uint32_t ModuleBuilder::import_function(std::string_view name, Signature signature) {
  if (const auto known = import_ids_.find(name); known != import_ids_.end()) return known->second;
  const auto id = static_cast<std::uint32_t>(module_.imports.size());
  module_.imports.push_back({std::string(name), std::move(signature)});
  import_ids_.emplace(name, id);
  return id;
}

std::uint32_t ModuleBuilder::declare_function(std::string_view name, Signature signature, bool exported) {
  const std::uint32_t name_id = name.empty() ? kNoIndex : string(name);
  const auto id = static_cast<std::uint32_t>(module_.functions.size());
  Function& function = module_.functions.emplace_back();
  function.name = name_id;
  function.signature = std::move(signature);
  function.exported = exported;
  return id;
}

void ModuleBuilder::set_structs(std::uint32_t function, std::vector<StructValue> structs) {
  module_.functions[function].structs = std::move(structs);
}

std::uint32_t ModuleBuilder::add_kernel(KernelRecord kernel) {
  module_.kernels.push_back(std::move(kernel));
  return static_cast<std::uint32_t>(module_.kernels.size() - 1);
}

Module ModuleBuilder::finish() && {
  // Bodies were appended in the order in which they were finished; a file holds them in function order.
  std::vector<Word> code;
  code.reserve(module_.code.size());
  for (Function& function : module_.functions) {
    const auto begin = module_.code.begin() + function.code_offset;
    function.code_offset = static_cast<std::uint32_t>(code.size());
    code.insert(code.end(), begin, begin + function.code_size);
  }
  module_.code = std::move(code);
  return std::move(module_);
}

}  // namespace dhpvm::bytecode
