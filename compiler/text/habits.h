// SPDX-License-Identifier: Apache-2.0
// Words that people bring along from other languages, and what they are called here. Used to turn "unknown
// name" into advice.
#pragma once

#include <span>
#include <string_view>

namespace dhpvm::compiler {

// The name here of a type of another language: "int" -> "i32", "string" -> "str". Empty when unknown.
std::string_view type_for_foreign(std::string_view name);

// The name here of a value, function or literal of another language: "nullptr" -> "null",
// "self" -> "this".
std::string_view value_for_foreign(std::string_view name);

// The advice for a value or function of another language that has no counterpart of one word: "range" ->
// "write `for i in 0..n`". Empty when unknown.
std::string_view advice_for_foreign(std::string_view name);

// The same for a word that begins a statement elsewhere: "defer", "del".
std::string_view statement_for_foreign(std::string_view name);

// The function of module `str` that a method of text is elsewhere: "toUpperCase" -> "upper". Empty when unknown.
std::string_view text_function_for(std::string_view name);

// The name here of a field or method of arrays, text and collections of another language: "length" -> "len".
// Only what is among `members` is given.
std::string_view member_for_foreign(std::string_view name, std::span<const std::string_view> members);

// Whether a `List` has this method, which arrays lack: "map", "filter".
bool is_method_of_lists(std::string_view name);

// The module of the standard library that has a type or function, or is called, `name`: "List" -> "list",
// "sqrt" -> "math", "math" -> "math". Functions count that are built in elsewhere. Empty when unknown.
std::string_view library_module_of(std::string_view name);

// The names that can never be shadowed by a type declaration: i8 .. f64, bool, str.
bool is_primitive_type_name(std::string_view name);

// A word that introduces a function elsewhere: def, func, function, fun, proc, sub.
bool is_function_word(std::string_view name);

// A word that introduces a variable elsewhere, and what it is here: "auto" -> "let", "mut" -> "var".
// Empty when unknown.
std::string_view variable_word(std::string_view name);

// A word that elsewhere says who may use a declaration, or how it is stored: pub, static, override.
bool is_modifier_word(std::string_view name);

}  // namespace dhpvm::compiler
