// SPDX-License-Identifier: Apache-2.0
// The rules about everything but code: types, signatures, names, tables and the entry point.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "bytecode/format.h"
#include "bytecode/verify_internal.h"

namespace dhpvm::bytecode::verification {
namespace {

template <typename... Args>
Error refuse(fmt::format_string<Args...> format, Args&&... args) {
  return error(ErrorCode::kUnverified, format, std::forward<Args>(args)...);
}

class TypeVerifier {
 public:
  explicit TypeVerifier(const Module& module) : m_(module) {}

  Status run() {
    DHPVM_TRY(limits());
    DHPVM_TRY(predefined_types());
    for (std::uint32_t id = 0; id < m_.types.size(); ++id) DHPVM_TRY(shape(id));
    for (std::size_t i = 0; i < m_.imports.size(); ++i)
      DHPVM_TRY(signature(m_.imports[i].signature, [&] { return fmt::format("import {}", i); }));
    for (std::uint32_t id = 0; id < m_.functions.size(); ++id) DHPVM_TRY(function(id));
    // This comes last: implementations compare the signatures of interfaces and functions.
    for (std::uint32_t id = 0; id < m_.types.size(); ++id) DHPVM_TRY(implementations(id));
    DHPVM_TRY(exports());
    DHPVM_TRY(code_ranges());
    return entry();
  }

 private:
  Status limits() const {
    const auto within = [](std::size_t count, std::size_t limit, std::string_view what) -> Status {
      if (count <= limit) return {};
      return refuse("{} {}: the most is {}", count, what, limit);
    };
    DHPVM_TRY(within(m_.strings.size(), kMaxStrings, "strings"));
    DHPVM_TRY(within(m_.types.size(), kMaxTypes, "types"));
    DHPVM_TRY(within(m_.imports.size(), kMaxImports, "imports"));
    DHPVM_TRY(within(m_.functions.size(), kMaxFunctions, "functions"));
    DHPVM_TRY(within(m_.kernels.size(), kMaxKernels, "kernels"));
    return within(m_.code.size(), kMaxCodeWords, "words of code");
  }

  Status predefined_types() const {
    if (m_.types.size() < 2 || m_.types[kStringType].kind != TypeKind::kString ||
        m_.types[kResourceType].kind != TypeKind::kResource)
      return refuse("types 0 and 1 must be the string and the resource type");
    return {};
  }

  std::string label(std::uint32_t type) const {
    return fmt::format("type {} ({})", type, printable(m_.types[type].name));
  }

  template <typename Where>
  Status value(const ValueType& type, Where&& where) const {
    if (type.kind > Kind::kRef)
      return refuse("{}: unknown kind {}", where(), static_cast<unsigned>(type.kind));
    if (!type.is_ref()) {
      if (type.type != kNoIndex) return refuse("{}: a primitive has a type", where());
      return {};
    }
    if (type.type >= m_.types.size()) return refuse("{}: type {} does not exist", where(), type.type);
    if (m_.types[type.type].kind == TypeKind::kStruct)
      return refuse("{}: struct {} is not an element of an array", where(), type.type);
    return {};
  }

  template <typename Where>
  Status signature(const Signature& signature, Where&& where) const {
    if (signature.parameters.size() > kMaxMembers || signature.results.size() > kMaxMembers)
      return refuse("{}: too many parameters or results", where());
    for (std::size_t i = 0; i < signature.parameters.size(); ++i)
      DHPVM_TRY(value(signature.parameters[i], [&] { return fmt::format("{}, parameter {}", where(), i); }));
    for (std::size_t i = 0; i < signature.results.size(); ++i)
      DHPVM_TRY(value(signature.results[i], [&] { return fmt::format("{}, result {}", where(), i); }));
    return {};
  }

  // The part of a type that does not depend on functions.
  Status shape(std::uint32_t id) const {
    const Type& type = m_.types[id];
    const bool has_fields = type.kind == TypeKind::kClass || type.kind == TypeKind::kStruct;
    const bool has_element = type.kind == TypeKind::kArray || type.kind == TypeKind::kWeak;
    if (type.kind > TypeKind::kWeak) return refuse("{}: unknown kind of type", label(id));
    if ((type.kind == TypeKind::kString && id != kStringType) ||
        (type.kind == TypeKind::kResource && id != kResourceType))
      return refuse("{}: a second string or resource type", label(id));
    if ((!type.fields.empty() && !has_fields) ||
        (!type.methods.empty() && type.kind != TypeKind::kInterface) ||
        (!type.implementations.empty() && type.kind != TypeKind::kClass) ||
        (type.element != ValueType{} && !has_element) || (type.rank != 1 && type.kind != TypeKind::kArray) ||
        (type.size != 0 && !has_fields))
      return refuse("{}: has members that its kind does not use", label(id));
    switch (type.kind) {
      case TypeKind::kString:
      case TypeKind::kResource: return {};
      case TypeKind::kClass:
      case TypeKind::kStruct: return fields(id);
      case TypeKind::kInterface:
        if (type.methods.size() > kMaxMembers) return refuse("{}: too many methods", label(id));
        for (std::size_t i = 0; i < type.methods.size(); ++i)
          DHPVM_TRY(signature(type.methods[i].signature,
                              [&] { return fmt::format("{}, method {}", label(id), i); }));
        return {};
      case TypeKind::kArray:
        if (type.rank < 1 || type.rank > 3) return refuse("{}: rank {} is not 1 to 3", label(id), type.rank);
        if (type.element.is_ref() && type.element.type < m_.types.size() &&
            m_.types[type.element.type].kind == TypeKind::kStruct)
          return {};
        return value(type.element, [&] { return label(id) + ", element"; });
      case TypeKind::kWeak:
        if (!type.element.is_ref()) return refuse("{}: the target is not a reference", label(id));
        return value(type.element, [&] { return label(id) + ", target"; });
    }
    return {};
  }

  Status fields(std::uint32_t id) const {
    const Type& type = m_.types[id];
    if (type.fields.size() > kMaxMembers) return refuse("{}: too many fields", label(id));
    for (std::size_t i = 0; i < type.fields.size(); ++i)
      DHPVM_TRY(value(type.fields[i].type, [&] { return fmt::format("{}, field {}", label(id), i); }));
    // The executors trust offsets and size, so they are always compared with the rule.
    Type expected;
    expected.kind = type.kind;
    for (const Field& field : type.fields) expected.fields.push_back({{}, field.type, 0});
    layout(expected);
    if (expected.size > kMaxObjectBytes)
      return refuse("{}: {} bytes, the most is {}", label(id), expected.size, kMaxObjectBytes);
    bool same = expected.size == type.size;
    for (std::size_t i = 0; i < type.fields.size(); ++i)
      same &= expected.fields[i].offset == type.fields[i].offset;
    if (!same) return refuse("{}: offsets or size differ from the layout rule", label(id));
    return {};
  }

  Status function(std::uint32_t id) const {
    const Function& function = m_.functions[id];
    if (function.name != kNoIndex && function.name >= m_.strings.size())
      return refuse("function {}: name {} does not exist", id, function.name);
    const auto where = [&] { return function_label(m_, id); };
    DHPVM_TRY(signature(function.signature, where));
    std::uint32_t bytes = 0;
    for (const LocalArray& local : function.locals) {
      if (local.kind >= Kind::kRef) return refuse("{}: a local array of references", where());
      if (local.count == 0 || local.count > kMaxLocalBytes)
        return refuse("{}: a local array of {} elements", where(), local.count);
      bytes += (local.count * size_of(local.kind) + 7) / 8 * 8;
      if (bytes > kMaxLocalBytes)
        return refuse("{}: more than {} bytes of local arrays", where(), kMaxLocalBytes);
    }
    return structs(function, where);
  }

  // Each struct value lies inside the parameters or the results, and its fields are these values.
  template <typename Where>
  Status structs(const Function& function, Where&& where) const {
    const std::size_t parameters = function.signature.parameters.size();
    std::size_t free = 0;
    for (const StructValue& value : function.structs) {
      if (value.type >= m_.types.size() || m_.types[value.type].kind != TypeKind::kStruct)
        return refuse("{}: type {} is no struct", where(), value.type);
      const std::vector<Field>& fields = m_.types[value.type].fields;
      const bool is_result = value.first >= parameters;
      const std::size_t begin = is_result ? value.first - parameters : value.first;
      const std::vector<ValueType>& values =
          is_result ? function.signature.results : function.signature.parameters;
      const bool is_inside = value.first >= free && begin < values.size() && !fields.empty() &&
                             fields.size() <= values.size() - begin;
      if (!is_inside || !std::equal(fields.begin(), fields.end(), values.begin() + begin,
                                    [](const Field& field, const ValueType& v) { return field.type == v; }))
        return refuse("{}: its values from {} on are no {}", where(), value.first, label(value.type));
      free = value.first + fields.size();
    }
    return {};
  }

  Status implementations(std::uint32_t id) const {
    const Type& type = m_.types[id];
    for (std::size_t i = 0; i < type.implementations.size(); ++i) {
      const Implementation& implementation = type.implementations[i];
      if (implementation.interface >= m_.types.size() ||
          m_.types[implementation.interface].kind != TypeKind::kInterface)
        return refuse("{}: implements {}, which is not an interface", label(id), implementation.interface);
      if (i != 0 && type.implementations[i - 1].interface >= implementation.interface)
        return refuse("{}: implementations are not sorted by interface", label(id));
      const Type& interface = m_.types[implementation.interface];
      if (implementation.functions.size() != interface.methods.size())
        return refuse("{}: implements {} of the {} methods of {}", label(id), implementation.functions.size(),
                      interface.methods.size(), label(implementation.interface));
      for (std::size_t m = 0; m < interface.methods.size(); ++m) {
        const std::uint32_t f = implementation.functions[m];
        if (f >= m_.functions.size()) return refuse("{}: function {} does not exist", label(id), f);
        if (!answers(m_.functions[f].signature, interface.methods[m].signature, id))
          return refuse("{}: {} does not match method {} of {}", label(id), function_label(m_, f), m,
                        label(implementation.interface));
      }
    }
    return {};
  }

  static bool answers(const Signature& function, const Signature& method, std::uint32_t receiver) {
    return function.results == method.results && function.parameters.size() == method.parameters.size() + 1 &&
           function.parameters[0] == ValueType{Kind::kRef, receiver} &&
           std::equal(method.parameters.begin(), method.parameters.end(), function.parameters.begin() + 1);
  }

  Status exports() const {
    std::vector<std::pair<std::string_view, std::uint32_t>> names;
    for (std::uint32_t id = 0; id < m_.functions.size(); ++id) {
      const Function& function = m_.functions[id];
      if (!function.exported) continue;
      if (function.name == kNoIndex) return refuse("function {}: exported without a name", id);
      names.emplace_back(m_.strings[function.name], id);
    }
    std::sort(names.begin(), names.end());
    const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
    if (const auto twin = std::adjacent_find(names.begin(), names.end(), same); twin != names.end())
      return refuse("{}: a second export of this name", function_label(m_, std::next(twin)->second));
    return {};
  }

  // Bodies do not overlap: each word is verified as part of one function, which bounds the verifier's work.
  Status code_ranges() const {
    std::vector<std::uint32_t> order(m_.functions.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return m_.functions[a].code_offset < m_.functions[b].code_offset;
    });
    std::uint64_t end = 0;
    for (const std::uint32_t id : order) {
      const Function& function = m_.functions[id];
      if (function.code_size == 0) return refuse("{}: has no code", function_label(m_, id));
      if (function.code_offset < end || function.code_offset > m_.code.size() ||
          function.code_size > m_.code.size() - function.code_offset)
        return refuse("{}: its code overlaps another's or lies outside", function_label(m_, id));
      end = std::uint64_t{function.code_offset} + function.code_size;
    }
    return {};
  }

  Status entry() const {
    if (m_.entry == kNoIndex) return {};
    if (m_.entry >= m_.functions.size()) return refuse("entry: function {} does not exist", m_.entry);
    const Signature& signature = m_.functions[m_.entry].signature;
    const auto is_string_array = [&](const ValueType& value) {
      if (!value.is_ref()) return false;
      const Type& type = m_.types[value.type];
      return type.kind == TypeKind::kArray && type.rank == 1 &&
             type.element == ValueType{Kind::kRef, kStringType};
    };
    const bool parameters = signature.parameters.empty() ||
                            (signature.parameters.size() == 1 && is_string_array(signature.parameters[0]));
    const bool results =
        signature.results.empty() ||
        (signature.results.size() == 1 && signature.results[0] == ValueType{Kind::kI32, kNoIndex});
    if (!parameters || !results)
      return refuse("entry: {} takes other than () or ([str]), or returns other than nothing or i32",
                    function_label(m_, m_.entry));
    return {};
  }

  const Module& m_;
};

}  // namespace

Status verify_types(const Module& module) { return TypeVerifier(module).run(); }

}  // namespace dhpvm::bytecode::verification
