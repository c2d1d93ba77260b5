// SPDX-License-Identifier: Apache-2.0
#include "vm/api/records.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/spelling.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {
namespace {

constexpr char kPoint = '.';
// The deepest nesting of structs. Names in a module that no compiler wrote may nest deeper.
constexpr unsigned kMostDepth = 200;

std::string_view rest_of(const bytecode::Field& field, std::size_t skip) {
  return std::string_view(field.name).substr(std::min(skip, field.name.size()));
}

// Whether `name` is the leaf itself, or leads to it.
bool leads_to(std::string_view name, std::string_view leaf) {
  return leaf.starts_with(name) && (leaf.size() == name.size() || leaf[name.size()] == kPoint);
}

bool is_flag(std::string_view name) { return name.ends_with(bytecode::kFlagSuffix); }

// The part that begins at `first`, among leaves before `end`. Its name begins after `skip` characters.
Part part_at(Fields fields, std::size_t first, std::size_t end, std::size_t skip) {
  Part part;
  const std::string_view begin = rest_of(fields[first], skip);
  part.name = begin.substr(0, begin.find(kPoint));
  part.has_flag = is_flag(part.name);
  if (part.has_flag) {
    part.name.remove_suffix(1);
    ++first;
  }
  part.first = first;
  // The whole struct has no name.
  const auto belongs = [&](std::size_t leaf) {
    return part.name.empty() || leads_to(part.name, rest_of(fields[leaf], skip));
  };
  while (first != end && belongs(first)) ++first;
  part.end = first;
  part.is_leaf = part.end - part.first == 1 && rest_of(fields[part.first], skip) == part.name;
  part.skip = part.name.empty() ? skip : skip + part.name.size() + 1;
  return part;
}

std::vector<Part> members(Fields fields, const Part& whole) {
  std::vector<Part> parts;
  for (std::size_t next = whole.first; next < whole.end; next = parts.back().end) {
    Part part = part_at(fields, next, whole.end, whole.skip);
    // Names such as "x..y", or "x" twice, lead nowhere: each leaf is then a member of its own.
    if (part.name.empty() || whole.depth == kMostDepth)
      part = {.name = rest_of(fields[next], whole.skip), .first = next, .end = next + 1, .is_leaf = true};
    part.depth = whole.depth + 1;
    parts.push_back(part);
  }
  return parts;
}

// The value of a leaf of a null struct: the same for each kind, so that nulls are equal leaf by leaf.
Value zero_of(bytecode::Kind kind) {
  switch (kind) {
    case bytecode::Kind::kRef: return {};
    case bytecode::Kind::kBool: return false;
    default: return std::int64_t{0};
  }
}

Record read_record(Fields fields, const Part& part, const ReadLeaf& read) {
  Record record;
  for (const Part& member : members(fields, part))
    record.fields.push_back({std::string(member.name), read_part(fields, member, read)});
  return record;
}

Error unknown_field(const std::vector<Part>& parts, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Part& part : parts) names.push_back(part.name);
  const std::string_view near = nearest_name(name, names);
  if (near.empty()) return error(ErrorCode::kNotFound, "the struct has no field '{}'", name);
  return error(ErrorCode::kNotFound, "the struct has no field '{}'; did you mean '{}'?", name, near);
}

Status write_record(Fields fields, const Part& whole, const Record& record, const WriteLeaf& write) {
  const std::vector<Part> parts = members(fields, whole);
  for (const RecordField& given : record.fields) {
    if (std::ranges::find(parts, given.name, &Part::name) == parts.end())
      return unknown_field(parts, given.name);
  }
  if (record.fields.size() > parts.size())
    return Error(ErrorCode::kInvalidArgument, "the record has a field more than once");
  for (const Part& part : parts) {
    const Value* const value = record.find(part.name);
    if (value == nullptr)
      return error(ErrorCode::kInvalidArgument, "the record has no field '{}', which the struct has",
                   part.name);
    if (Status status = write_part(fields, part, *value, write); !status.ok())
      return std::move(status).error().with_context(fmt::format("field '{}' cannot be set", part.name));
  }
  return {};
}

}  // namespace

Part whole(Fields fields) {
  Part part;
  part.end = fields.size();
  // A value that may be null, or a single number, is a part without a name.
  if (!fields.empty() &&
      (fields[0].name.empty() || fields[0].name == std::string_view(&bytecode::kFlagSuffix, 1)))
    part = part_at(fields, 0, fields.size(), 0);
  return part;
}

std::optional<Part> find_part(Fields fields, std::string_view path) {
  Part part;
  part.end = fields.size();
  if (path.ends_with(kPoint)) return std::nullopt;
  while (!path.empty()) {
    if (part.is_leaf) return std::nullopt;
    const std::string_view name = path.substr(0, path.find(kPoint));
    const std::vector<Part> parts = members(fields, part);
    const auto found = std::ranges::find(parts, name, &Part::name);
    if (found == parts.end()) return std::nullopt;
    part = *found;
    path.remove_prefix(std::min(path.size(), name.size() + 1));
  }
  return part;
}

Value read_part(Fields fields, const Part& part, const ReadLeaf& read) {
  if (part.has_flag && read(part.first - 1) != Value(true)) return {};
  if (part.is_leaf) return read(part.first);
  return read_record(fields, part, read);
}

Value read_struct(const bytecode::Type& type, const ReadLeaf& read) {
  Value value = read_part(type.fields, whole(type.fields), read);
  const auto* const record = std::get_if<Record>(&value.content());
  if (record == nullptr) return value;
  Record named = *record;
  named.type = type.name;
  if (is_flag(named.type)) named.type.pop_back();
  return named;
}

Status write_part(Fields fields, const Part& part, const Value& value, const WriteLeaf& write) {
  if (part.has_flag) {
    DHPVM_TRY(write(part.first - 1, !value.is_null()));
    if (value.is_null()) {
      for (std::size_t leaf = part.first; leaf < part.end; ++leaf)
        DHPVM_TRY(write(leaf, zero_of(fields[leaf].type.kind)));
      return {};
    }
  }
  if (part.is_leaf) return write(part.first, value);
  const auto* const record = std::get_if<Record>(&value.content());
  if (record == nullptr) return Error(ErrorCode::kBadCast, "the value is no record, and a struct is wanted");
  return write_record(fields, part, *record, write);
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
