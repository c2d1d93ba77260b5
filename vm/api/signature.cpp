// SPDX-License-Identifier: Apache-2.0
#include "vm/api/signature.h"

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {
namespace {

using Shape = HostType::Shape;

static_assert(static_cast<unsigned>(Kind::kRef) == static_cast<unsigned>(bytecode::Kind::kRef) &&
                  static_cast<unsigned>(Kind::kU32) == static_cast<unsigned>(bytecode::Kind::kU32) &&
                  static_cast<unsigned>(Kind::kF64) == static_cast<unsigned>(bytecode::Kind::kF64),
              "the public table of kinds is the module's");

std::string list_text(std::span<const HostType> types) {
  std::string text;
  for (const HostType& type : types) text += (text.empty() ? "" : ", ") + type_text(type);
  return text;
}

bool matches(const bytecode::Module& module, const bytecode::ValueType& program, const HostType& host) {
  const auto kind = static_cast<bytecode::Kind>(host.kind);
  switch (host.shape) {
    case Shape::kPrimitive: return program.kind == kind;
    case Shape::kObject: return program.is_ref();
    case Shape::kString: return program.is_ref() && program.type == bytecode::kStringType;
    case Shape::kResource: return program.is_ref() && program.type == bytecode::kResourceType;
    case Shape::kArray: break;
  }
  if (!program.is_ref()) return false;
  const bytecode::Type& type = module.types[program.type];
  if (type.kind != bytecode::TypeKind::kArray || type.rank != host.rank) return false;
  if (host.lanes > 1) {
    const Lanes lanes = lanes_of(module, type.element);
    return lanes.count == host.lanes && lanes.kind == host.kind;
  }
  return type.element.kind == kind && (!type.element.is_ref() || type.element.type == bytecode::kStringType);
}

bool match_all(const bytecode::Module& module, const std::vector<bytecode::ValueType>& program,
               std::span<const HostType> host) {
  return std::equal(program.begin(), program.end(), host.begin(), host.end(),
                    [&](const auto& p, const auto& h) { return matches(module, p, h); });
}

}  // namespace

Lanes lanes_of(const bytecode::Module& module, const bytecode::ValueType& element) {
  if (!element.is_ref()) return {static_cast<Kind>(element.kind), 1};
  const bytecode::Type& type = module.types[element.type];
  if (type.kind != bytecode::TypeKind::kStruct || type.fields.empty()) return {};
  const bytecode::ValueType& first = type.fields.front().type;
  const bool is_uniform = std::all_of(type.fields.begin(), type.fields.end(), [&](const auto& field) {
    return !field.type.is_ref() && field.type.kind == first.kind;
  });
  if (!is_uniform) return {};
  return {static_cast<Kind>(first.kind), static_cast<unsigned>(type.fields.size())};
}

std::string type_text(const HostType& type) {
  // An object may be null without a mark.
  if (type.nullable && type.shape != Shape::kPrimitive) {
    HostType present = type;
    present.nullable = false;
    return type_text(present) + "?";
  }
  // Texts are the only references in an array of the host's.
  const bool has_texts = type.shape == Shape::kArray && type.kind == Kind::kRef;
  std::string kind(has_texts ? "str" : kKindNames[static_cast<unsigned>(type.kind)]);
  if (type.lanes > 1) {
    // As a tuple of these.
    const std::string one = kind;
    for (unsigned i = 1; i < type.lanes; ++i) kind += ", " + one;
    kind = "(" + kind + ")";
  }
  switch (type.shape) {
    case Shape::kPrimitive: return kind;
    case Shape::kString: return "str";
    case Shape::kResource: return "resource";
    case Shape::kObject: return "object";
    case Shape::kArray: break;
  }
  return type.rank == 1 ? "[" + kind + "]" : "[" + kind + ", " + std::to_string(type.rank) + "]";
}

std::string signature_text(const HostSignature& signature) {
  std::string text = "(" + list_text(signature.parameters) + ")";
  if (signature.results.size() == 1) text += " -> " + type_text(signature.results[0]);
  if (signature.results.size() > 1) text += " -> (" + list_text(signature.results) + ")";
  return text;
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

Result<std::uint32_t> array_type(const vm::LinkedModule& linked, const HostType& wanted) {
  std::optional<std::uint32_t> found;
  if (wanted.lanes == 1)
    found = linked.find_array_type({static_cast<bytecode::Kind>(wanted.kind)}, wanted.rank);
  const std::vector<bytecode::Type>& types = linked.module().types;
  for (std::size_t id = 0; id < types.size() && wanted.lanes > 1; ++id) {
    if (types[id].kind != bytecode::TypeKind::kArray || types[id].rank != wanted.rank) continue;
    const Lanes given = lanes_of(linked.module(), types[id].element);
    if (given.kind != wanted.kind || given.count != wanted.lanes) continue;
    if (found)
      return error(ErrorCode::kInvalidArgument, "the array could be {} and {}: pass it for one call",
                   types[*found].name, types[id].name);
    found = static_cast<std::uint32_t>(id);
  }
  if (!found)
    return error(ErrorCode::kInvalidArgument,
                 "the program has no arrays {}: no function of it deals with them", type_text(wanted));
  return *found;
}

bool matches(const bytecode::Module& module, const bytecode::Signature& program, const HostSignature& host) {
  return match_all(module, program.parameters, host.parameters) &&
         match_all(module, program.results, host.results);
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
