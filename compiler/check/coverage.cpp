// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace dhpvm::compiler {

using Kind = CheckedPattern::Kind;

namespace {

bool takes_all(const CheckedPattern& pattern) {
  return pattern.kind == Kind::kAny || pattern.kind == Kind::kWrong ||
         (pattern.kind == Kind::kEither && std::ranges::any_of(pattern.parts, takes_all));
}

std::string text_of(const hir::Expr* constant) {
  return fmt::format("{} {} {}", constant->integer, constant->number, constant->text);
}

}  // namespace

// All constructors of the type; none if there are too many to list.
const std::vector<Coverage::Constructor>& Coverage::constructors_of(const Type* type) {
  auto [entry, fresh] = constructors_.try_emplace(type);
  std::vector<Constructor>& all = entry->second;
  if (!fresh) return all;
  if (type->is(TypeKind::kBool)) {
    all = {{"false", "0", {}}, {"true", "1", {}}};
  } else if (type->is(TypeKind::kNullable)) {
    all = {{"null", "0", {}}, {"", "1", {type->element}}};
  } else if (tuples_.is_tuple(type)) {
    all.push_back({"(", "0", {}});
    for (const FieldInfo& field : type->fields) all[0].parts.push_back(field.type);
  } else if (type->is_enum) {
    for (const CaseInfo& option : enums_.cases(type)) {
      Constructor made{std::string(option.name()), std::to_string(all.size()), {}};
      for (const FieldInfo& value : option.values) made.parts.push_back(value.type);
      all.push_back(std::move(made));
    }
  }
  return all;
}

// The key of the constructor that a pattern names.
std::string Coverage::key_of(const CheckedPattern& pattern) {
  switch (pattern.kind) {
    case Kind::kTuple:
    case Kind::kNull: return "0";
    case Kind::kPresent: return "1";
    case Kind::kCase: return std::to_string(pattern.index);
    case Kind::kConstant:
      return pattern.type->is(TypeKind::kBool) ? std::to_string(pattern.low->integer) : text_of(pattern.low);
    case Kind::kRange:
      return text_of(pattern.low) + (pattern.inclusive ? "..=" : "..") + text_of(pattern.high);
    case Kind::kObject: return pattern.tested->name;
    default: return "";
  }
}

Coverage::Constructor Coverage::constructor_of(const CheckedPattern& pattern) {
  const std::string key = key_of(pattern);
  for (const Constructor& known : constructors_of(pattern.type)) {
    if (known.key == key) return known;
  }
  return {"_", key, {}};
}

// The row for values of `constructor`, with columns for its parts in place of the first; false if it matches no such
// value.
bool Coverage::specialise(const Constructor& constructor, const Row& row, Row& out) {
  out.clear();
  if (takes_all(*row[0])) {
    out.assign(constructor.parts.size(), &anything_);
  } else {
    if (key_of(*row[0]) != constructor.key) return false;
    for (const CheckedPattern& part : row[0]->parts) out.push_back(&part);
    out.resize(constructor.parts.size(), &anything_);
  }
  out.insert(out.end(), row.begin() + 1, row.end());
  return true;
}

std::vector<Coverage::Example> Coverage::with(const Constructor& constructor, const std::vector<Row>& rows,
                                              const Row& candidate, const std::vector<const Type*>& types) {
  Row next;
  if (!specialise(constructor, candidate, next)) return {};
  std::vector<Row> remaining;
  Row row;
  for (const Row& known : rows) {
    if (specialise(constructor, known, row)) remaining.push_back(row);
  }
  std::vector<const Type*> columns = constructor.parts;
  columns.insert(columns.end(), types.begin() + 1, types.end());
  std::vector<Example> found;
  const auto parts = static_cast<std::ptrdiff_t>(constructor.parts.size());
  for (const Example& inner : examples(std::move(remaining), next, columns)) {
    std::string text;
    bool all = true;
    for (auto part = inner.begin(); part != inner.begin() + parts; ++part) {
      text += (text.empty() ? "" : ", ") + *part;
      all = all && *part == "_";
    }
    if (constructor.name.empty()) {
      // A value that is not null is written without a constructor.
    } else if (constructor.name == "(") {
      text = all ? "_" : fmt::format("({})", text);
    } else if (parts == 0 || all) {
      text = constructor.name;
    } else {
      text = fmt::format("{}({})", constructor.name, text);
    }
    Example whole{text};
    whole.insert(whole.end(), inner.begin() + parts, inner.end());
    found.push_back(std::move(whole));
  }
  return found;
}

// Replaces rows whose first pattern has alternatives by one row for each.
void Coverage::split_alternatives(std::vector<Row>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    while (rows[i][0]->kind == Kind::kEither) {
      const CheckedPattern& either = *rows[i][0];
      for (std::size_t part = 1; part < either.parts.size(); ++part) {
        rows.push_back(rows[i]);
        rows.back()[0] = &either.parts[part];
      }
      rows[i][0] = either.parts.data();
    }
  }
}

// Values that match `candidate` and none of the rows.
std::vector<Coverage::Example> Coverage::examples(std::vector<Row> rows, const Row& candidate,
                                                  const std::vector<const Type*>& types) {
  gave_up_ = gave_up_ || ++steps_ > kMaxSteps;
  if (gave_up_) return {};
  if (types.empty()) return rows.empty() ? std::vector<Example>{{}} : std::vector<Example>{};
  split_alternatives(rows);
  if (candidate[0]->kind == Kind::kEither) {
    std::vector<Example> found;
    Row one = candidate;
    for (const CheckedPattern& alternative : candidate[0]->parts) {
      one[0] = &alternative;
      for (Example& example : examples(rows, one, types)) found.push_back(std::move(example));
    }
    return found;
  }
  if (!takes_all(*candidate[0])) return with(constructor_of(*candidate[0]), rows, candidate, types);
  const std::vector<Constructor>& all = constructors_of(types[0]);
  std::set<std::string> named;
  for (const Row& row : rows) {
    if (!takes_all(*row[0])) named.insert(key_of(*row[0]));
  }
  // Only rows that match every value match a constructor that no row names.
  std::vector<Constructor> unnamed;
  for (const Constructor& constructor : all) {
    if (!named.contains(constructor.key)) unnamed.push_back({constructor.name, constructor.key, {}});
  }
  if (all.empty()) unnamed.push_back({"_", "", {}});
  if (!all.empty() && unnamed.size() == all.size()) unnamed = {{"_", "", {}}};
  std::vector<Example> found;
  if (!unnamed.empty()) {
    std::vector<Row> rest;
    for (const Row& row : rows) {
      if (takes_all(*row[0])) rest.emplace_back(row.begin() + 1, row.end());
    }
    const std::vector<Example> behind =
        examples(std::move(rest), {candidate.begin() + 1, candidate.end()}, {types.begin() + 1, types.end()});
    for (const Constructor& constructor : unnamed) {
      for (const Example& tail : behind) {
        Example whole{constructor.name.empty() ? "_" : constructor.name};
        whole.insert(whole.end(), tail.begin(), tail.end());
        if (found.size() <= kMaxExamples) found.push_back(std::move(whole));
      }
    }
  }
  for (const Constructor& constructor : all) {
    if (found.size() > kMaxExamples) break;
    if (!named.contains(constructor.key)) continue;
    for (Example& example : with(constructor, rows, candidate, types)) found.push_back(std::move(example));
  }
  return found;
}

void Coverage::add(CheckedPattern pattern) {
  is_certain_ = is_certain_ && pattern.kind != Kind::kWrong;
  takes_everything_ = takes_everything_ || takes_all(pattern);
  rows_.push_back({&patterns_.emplace_back(std::move(pattern))});
}

bool Coverage::is_reached(const CheckedPattern& pattern) {
  steps_ = 0;
  return !examples(rows_, {&pattern}, {type_}).empty() || gave_up();
}

std::vector<std::string> Coverage::left_out() {
  std::vector<std::string> found;
  steps_ = 0;
  for (const Example& example : examples(rows_, {&anything_}, {type_})) found.push_back(example[0]);
  if (found.size() == 1 && found[0] == "_" && type_->is_enum && rows_.empty()) {
    found.clear();
    for (const CaseInfo& option : enums_.cases(type_)) found.emplace_back(option.name());
  }
  if (found.size() > kMaxExamples) {
    found.resize(kMaxExamples);
    found.emplace_back("others");
  }
  return found;
}

}  // namespace dhpvm::compiler
