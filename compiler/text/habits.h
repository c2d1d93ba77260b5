// SPDX-License-Identifier: Apache-2.0
// Words of other languages and their counterparts here. They turn "unknown name" into advice.
#pragma once

#include <span>
#include <string_view>

namespace dhpvm::compiler {

// The type here for a type of another language: "int" -> "i32", "string" -> "str". Empty when unknown.
std::string_view type_for_foreign(std::string_view name);

// The name here for a value, function or literal of another language: "nullptr" -> "null", "self" -> "this".
std::string_view value_for_foreign(std::string_view name);

// Advice for a value or function of another language that has no one-word counterpart: "range" ->
// "write `for i in 0..n`". Functions of modules and methods of types are qualified: "json.loads", "str.format". Empty
// when unknown.
std::string_view advice_for_foreign(std::string_view name);

// Advice for words of other languages
// * at the beginning of a statement, or before a value: "defer", "await",
std::string_view statement_for_foreign(std::string_view name);
// * at the beginning of a declaration of a file: "trait",
std::string_view declaration_for_foreign(std::string_view name);
// * at the beginning of a member of a type: "property",
std::string_view member_word_for_foreign(std::string_view name);
// * behind the head of a function or type: "where",
std::string_view clause_for_foreign(std::string_view name);
// * behind an `@` before a declaration: "property",
std::string_view attribute_for_foreign(std::string_view name);
// * before a declaration, for visibility or storage: "static".
std::string_view modifier_for_foreign(std::string_view name);

// The operator here for a word or sign of another language: "and" -> "&&", "<>" -> "!=". Empty when unknown.
std::string_view operator_for_foreign(std::string_view name);

// The module here for a module of another language: "re" -> "regex", "Math" -> "math". Empty when unknown.
std::string_view module_for_foreign(std::string_view name);

// A word with which other languages construct an object: "new", "create".
bool is_constructor_word(std::string_view name);

// The function of module `str` for a text method of another language: "toUpperCase" -> "upper". Empty when unknown.
std::string_view text_function_for(std::string_view name);

// The member here for a field or method of arrays, text and collections of another language: "length" -> "len". Returns
// only names in `members`.
std::string_view member_for_foreign(std::string_view name, std::span<const std::string_view> members);

// Whether a `List` has this method, which arrays lack: "map", "filter".
bool is_method_of_lists(std::string_view name);

// The library module that has this name, or a type or function of this name: "List" -> "list", "sqrt" -> "math", "math"
// -> "math". Includes functions that are built in in other languages. Empty when unknown.
std::string_view library_module_of(std::string_view name);

// The method here for a special method of another language: "__str__" -> "to_str". Empty when unknown.
std::string_view method_for_foreign(std::string_view name);

// Whether the standard library has a module of this name.
bool is_library_module(std::string_view name);

// The names that can never be shadowed by a type declaration: i8 .. f64, bool, str.
bool is_primitive_type_name(std::string_view name);

// A word that introduces a function elsewhere: def, func, function, fun, proc, sub.
bool is_function_word(std::string_view name);

// A word that introduces a variable elsewhere, and what it is here: "auto" -> "let", "mut" -> "var".
// Empty when unknown.
std::string_view variable_word(std::string_view name);

}  // namespace dhpvm::compiler
