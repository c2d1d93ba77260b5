// SPDX-License-Identifier: Apache-2.0
#include "vm/native.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "vm/signature_words.h"

namespace dhpvm::vm {
namespace {

// Natives and their texts have no deeper array types. The limit also ends the text of an array type that contains
// itself.
constexpr unsigned kMaximumDepth = 8;
constexpr std::size_t kLongestName = 80;

// Reads a signature and writes it back in normal form.
class SignatureParser {
 public:
  explicit SignatureParser(std::string_view text) : words_(text) {}

  std::optional<NativeRegistry::Entry> parse() {
    NativeRegistry::Entry entry;
    entry_ = &entry;
    if (!parse_list(true)) return std::nullopt;
    if (words_.accept("->")) {
      text_ += " -> ";
      if (words_.peek('(') ? !parse_list(false) : !parse_type(0, false)) return std::nullopt;
      // One result is written without parentheses, none without an arrow.
      if (entry.results.empty()) text_.resize(text_.rfind(" -> "));
      if (entry.results.size() == 1 && text_.back() == ')') {
        text_.pop_back();
        text_.erase(text_.rfind('('), 1);
      }
    }
    if (!words_.at_end()) return std::nullopt;
    entry.signature = std::move(text_);
    return entry;
  }

 private:
  bool parse_list(bool parameters) {
    if (!words_.accept("(")) return false;
    text_ += '(';
    for (bool first = true; !words_.peek(')'); first = false) {
      if (!first) {
        if (!words_.accept(",")) return false;
        text_ += ", ";
      }
      if (!parse_type(0, parameters)) return false;
    }
    text_ += ')';
    return words_.accept(")");
  }

  bool parse_type(unsigned depth, bool parameter) {
    const std::size_t begin = text_.size();
    bool reference = true;
    bool any = false;
    if (words_.accept("[")) {
      if (depth == kMaximumDepth) return false;
      text_ += '[';
      if (!(words_.peek('(') ? parse_numbers() : parse_type(depth + 1, false))) return false;
      if (words_.accept(",")) {
        if (words_.accept("2")) {
          text_ += ", 2";
        } else if (words_.accept("3")) {
          text_ += ", 3";
        } else if (!words_.accept("1")) {
          return false;
        }
      }
      if (!words_.accept("]")) return false;
      text_ += ']';
    } else {
      const std::string_view word = words_.take_word();
      if (word == "str" || word == "resource" || (word == kAnyReference && depth == 0)) {
        any = word == kAnyReference;
        text_ += word;
      } else {
        reference = false;
        if (std::ranges::find(kNumberNames, word) == kNumberNames.end()) return false;
        text_ += word;
      }
    }
    // Nullability is for the caller of the native; signatures are compared without it.
    const bool nullable = reference && (words_.accept("?") || any);
    if (parameter && reference) entry_->nullable.push_back(nullable);
    if (depth == 0) (parameter ? entry_->parameters : entry_->results).push_back(text_.substr(begin));
    return true;
  }

  // The fields of a struct: "(f64, f64)".
  bool parse_numbers() {
    std::string_view first;
    for (bool is_first = true; words_.accept(is_first ? "(" : ","); is_first = false) {
      const std::string_view word = words_.take_word();
      if (is_first) first = word;
      if (word != first || std::ranges::find(kNumberNames, word) == kNumberNames.end()) return false;
      text_ += is_first ? "(" : ", ";
      text_ += word;
    }
    text_ += ')';
    return words_.accept(")");
  }

  SignatureWords words_;
  std::string text_;
  NativeRegistry::Entry* entry_ = nullptr;
};

void append_type(std::string& text, const bytecode::Module& module, bytecode::ValueType type,
                 unsigned depth) {
  if (!type.is_ref()) {
    text += kNumberNames[static_cast<unsigned>(type.kind)];
    return;
  }
  if (type.type == bytecode::kStringType) {
    text += "str";
    return;
  }
  if (type.type == bytecode::kResourceType) {
    text += "resource";
    return;
  }
  const bytecode::Type& description = module.types[type.type];
  if (description.kind == bytecode::TypeKind::kArray && depth < kMaximumDepth) {
    text += '[';
    append_type(text, module, description.element, depth + 1);
    if (description.rank > 1) text += ", " + std::to_string(description.rank);
    text += ']';
    return;
  }
  // The quotes keep a class that its author named `str` apart from the type str. The name is cut short, because a
  // module may use a long one many times.
  text += "class \"" + description.name.substr(0, kLongestName) + '"';
}

}  // namespace

Status NativeRegistry::define(std::string name, std::string_view signature, NativeFunction function,
                              NativeFastPath fast_path) {
  std::optional<Entry> entry = SignatureParser(signature).parse();
  if (!entry) {
    return error(
        ErrorCode::kInvalidArgument,
        "the signature '{}' of native function '{}' does not parse; write it like \"(str, i64) -> [u8]\"",
        signature, name);
  }
  entry->function = std::move(function);
  entry->fast_path = fast_path;
  entries_.insert_or_assign(std::move(name), std::move(*entry));
  return {};
}

const NativeRegistry::Entry* NativeRegistry::find(std::string_view name) const {
  const auto found = entries_.find(std::string(name));
  return found == entries_.end() ? nullptr : &found->second;
}

std::string number_array_text(const bytecode::Module& module, const bytecode::ValueType& type) {
  if (!type.is_ref() || module.types[type.type].kind != bytecode::TypeKind::kArray) return {};
  const bytecode::Type& array = module.types[type.type];
  if (!array.element.is_ref() || module.types[array.element.type].kind != bytecode::TypeKind::kStruct)
    return {};
  const std::vector<bytecode::Field>& fields = module.types[array.element.type].fields;
  std::string text;
  for (const bytecode::Field& field : fields) {
    if (field.type.is_ref() || field.type.kind != fields.front().type.kind) return {};
    text += (text.empty() ? "" : ", ") + std::string(kNumberNames[static_cast<unsigned>(field.type.kind)]);
  }
  if (fields.empty()) return {};
  return "[(" + text + ")" + (array.rank > 1 ? ", " + std::to_string(array.rank) : "") + "]";
}

std::string type_text(const bytecode::Module& module, const bytecode::ValueType& type) {
  std::string text;
  append_type(text, module, type, 0);
  return text;
}

std::string signature_text(const bytecode::Module& module, const bytecode::Signature& signature) {
  std::string text = "(";
  for (const bytecode::ValueType& parameter : signature.parameters) {
    if (text.size() > 1) text += ", ";
    append_type(text, module, parameter, 0);
  }
  text += ')';
  if (signature.results.empty()) return text;
  text += " -> ";
  if (signature.results.size() > 1) text += '(';
  for (std::size_t i = 0; i < signature.results.size(); ++i) {
    if (i != 0) text += ", ";
    append_type(text, module, signature.results[i], 0);
  }
  if (signature.results.size() > 1) text += ')';
  return text;
}

}  // namespace dhpvm::vm
