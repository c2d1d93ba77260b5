// SPDX-License-Identifier: Apache-2.0
// Classes of the host: the source of their modules.
#include "dhpvm/host_class.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "compiler/parse/token.h"
#include "stdlib/modules.h"
#include "vm/api/host_definitions.h"
#include "vm/api/signature.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {
namespace {

// The field of a class in its module.
constexpr std::string_view kHandle = "handle";

constexpr std::string_view kKeywords[] = {
#define X(enumerator, text, ...) text,
    DHPVM_KEYWORDS(X)
#undef X
};

bool is_name(std::string_view text) {
  if (std::ranges::find(kKeywords, text) != std::end(kKeywords)) return false;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, is_part);
}

}  // namespace

namespace detail {

std::string language_text(const HostType& type) { return type_text(type); }

void add_member(HostClassParts& parts, bool is_method, std::string_view name,
                const std::vector<std::string>& parameters, const std::string& result) {
  std::string declared;
  std::string given;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto letter = static_cast<char>('a' + static_cast<char>(i % 26));
    const std::string parameter = std::string(1, letter) + (i < 26 ? "" : std::to_string(i / 26));
    declared += fmt::format("{}{}: {}", i == 0 ? "" : ", ", parameter, parameters[i]);
    given += fmt::format("{}{}", i == 0 ? "" : ", ", parameter);
  }
  // The size distinguishes A.b_c from A_b.c.
  const std::string native = fmt::format("{}_{}_{}", parts.class_name, name, parts.class_name.size());
  const std::string comma = parameters.empty() ? "" : ", ";
  const std::string gives = result.empty() ? "" : " -> " + result;
  if (is_method) {
    parts.methods += fmt::format("    fn {}({}){} {{ {}{}(handle{}{}); }}\n", name, declared, gives,
                                 result.empty() ? "" : "return ", native, comma, given);
    parts.functions += fmt::format("extern \"{}.{}.{}\" fn {}(handle: resource{}{}){};\n", parts.module,
                                   parts.class_name, name, native, comma, declared, gives);
  } else {
    parts.functions +=
        fmt::format("fn {}({}) -> {} => {}({}({}));\nextern \"{}.{}.{}\" fn {}({}) -> resource;\n", name,
                    declared, parts.class_name, parts.class_name, native, given, parts.module,
                    parts.class_name, name, native, declared);
  }
}

}  // namespace detail

Status Engine::define_class(const detail::HostClassParts& parts) {
  if (!is_name(parts.module) || !is_name(parts.class_name)) {
    return error(ErrorCode::kInvalidArgument,
                 "'{}.{}' cannot be the name of a host class: use a name like studio.Camera", parts.module,
                 parts.class_name);
  }
  if (stdlib::source(parts.module)) {
    return error(ErrorCode::kInvalidArgument,
                 "'{}' is a module of the standard library: choose another one for a host class",
                 parts.module);
  }
  std::set<std::string_view> names = {kHandle};
  for (const detail::HostMember& member : parts.members) {
    const std::string_view name = std::string_view(member.name).substr(member.name.rfind('.') + 1);
    if (!is_name(name))
      return error(ErrorCode::kInvalidArgument, "'{}' cannot be the name of a method", name);
    if (!names.insert(name).second) {
      return error(
          ErrorCode::kInvalidArgument,
          "host class '{}' has '{}' twice: its methods, properties, constructors and '{}', which holds the "
          "host's object, need different names",
          parts.class_name, name, kHandle);
    }
  }
  for (const detail::HostMember& member : parts.members) {
    DHPVM_TRY(detail::define_function(*state_, member.name, member.signature, member.function, member.thunk));
  }
  const std::lock_guard lock(state_->mutex);
  state_->host_classes[parts.module][parts.class_name] = fmt::format(
      "class {} {{\n    {}: resource;\n{}}}\n{}", parts.class_name, kHandle, parts.methods, parts.functions);
  return {};
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
