// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bytecode/verify_internal.h"

namespace dhpvm::bytecode::verification {
namespace {

Banks banks_of(const std::vector<ValueType>& values) {
  Banks banks;
  for (const ValueType& value : values) {
    if (value.is_ref())
      banks.references.push_back(value.type);
    else
      ++banks.primitives;
  }
  return banks;
}

Shape shape_of(const Signature& signature) {
  return {banks_of(signature.parameters), banks_of(signature.results)};
}

}  // namespace

Facts::Facts(const Module& m) : module(m) {
  functions.reserve(m.functions.size());
  for (const Function& function : m.functions) functions.push_back(shape_of(function.signature));
  imports.reserve(m.imports.size());
  for (const Import& import : m.imports) imports.push_back(shape_of(import.signature));

  methods.resize(m.types.size());
  first_slot_.reserve(m.types.size() + 1);
  for (std::uint32_t id = 0; id < m.types.size(); ++id) {
    const Type& type = m.types[id];
    const std::size_t first = slots_.size();
    first_slot_.push_back(static_cast<std::uint32_t>(first));
    for (const Field& field : type.fields) slots_.push_back({field.offset, field.type});
    std::sort(slots_.begin() + static_cast<std::ptrdiff_t>(first), slots_.end(),
              [](const FieldSlot& a, const FieldSlot& b) { return a.offset < b.offset; });
    for (const Method& method : type.methods) {
      Shape shape = shape_of(method.signature);
      shape.in.references.insert(shape.in.references.begin(), id);
      methods[id].push_back(std::move(shape));
    }
  }
  first_slot_.push_back(static_cast<std::uint32_t>(slots_.size()));
}

const FieldSlot* Facts::field_at(std::uint32_t type, std::uint32_t offset) const {
  const auto begin = slots_.begin() + first_slot_[type];
  const auto end = slots_.begin() + first_slot_[type + 1];
  const auto at =
      std::lower_bound(begin, end, offset, [](const FieldSlot& a, std::uint32_t o) { return a.offset < o; });
  return at == end || at->offset != offset ? nullptr : &*at;
}

bool implements(const Module& module, std::uint32_t type, std::uint32_t interface) {
  const std::vector<Implementation>& all = module.types[type].implementations;
  const auto at =
      std::lower_bound(all.begin(), all.end(), interface,
                       [](const Implementation& i, std::uint32_t wanted) { return i.interface < wanted; });
  return at != all.end() && at->interface == interface;
}

bool Facts::assignable(RefState from, std::uint32_t to) const {
  if (from == to || from == kNullRef) return true;
  return module.types[to].kind == TypeKind::kInterface && implements(module, from, to);
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    if (c >= ' ' && c <= '~')
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text.size() > kLongest ? out + "..." : out;
}

std::string Facts::type_name(RefState state) const {
  if (state == kNullRef) return "null";
  return printable(module.types[state].name);
}

std::string function_label(const Module& module, std::uint32_t function) {
  return fmt::format("function {} ({})", function, printable(module.name_of(module.functions[function])));
}

}  // namespace dhpvm::bytecode::verification
