// SPDX-License-Identifier: Apache-2.0
#include "compiler/text/habits.h"

#include <algorithm>
#include <iterator>

namespace dhpvm::compiler {
namespace {

struct Translation {
  std::string_view foreign;
  std::string_view here;
};

constexpr Translation kTypes[] = {
    {"int", "i64"},      {"Int", "i64"},      {"integer", "i64"}, {"long", "i64"},       {"Long", "i64"},
    {"short", "i16"},    {"byte", "u8"},      {"Byte", "u8"},     {"char", "u8"},        {"unsigned", "u32"},
    {"uint", "u32"},     {"size_t", "i64"},   {"usize", "i64"},   {"isize", "i64"},      {"int8_t", "i8"},
    {"int16_t", "i16"},  {"int32_t", "i32"},  {"int64_t", "i64"}, {"uint8_t", "u8"},     {"uint16_t", "u16"},
    {"uint32_t", "u32"}, {"uint64_t", "u64"}, {"int8", "i8"},     {"int16", "i16"},      {"int32", "i32"},
    {"int64", "i64"},    {"uint8", "u8"},     {"uint16", "u16"},  {"uint32", "u32"},     {"uint64", "u64"},
    {"float", "f32"},    {"Float", "f32"},    {"double", "f64"},  {"Double", "f64"},     {"float32", "f32"},
    {"float64", "f64"},  {"string", "str"},   {"String", "str"},  {"boolean", "bool"},   {"Bool", "bool"},
    {"Boolean", "bool"}, {"Vec", "List"},     {"vector", "List"}, {"ArrayList", "List"}, {"HashMap", "Map"},
    {"dict", "Map"},     {"list", "List"},    {"map", "Map"},
};

constexpr Translation kValues[] = {
    {"nullptr", "null"}, {"NULL", "null"},   {"None", "null"},  {"nil", "null"},      {"undefined", "null"},
    {"True", "true"},    {"False", "false"}, {"self", "this"},  {"println", "print"}, {"printf", "print"},
    {"echo", "print"},   {"puts", "print"},  {"panic", "trap"}, {"abort", "trap"},    {"throw", "trap"},
    {"raise", "trap"},   {"int", "i64"},     {"float", "f64"},
};

constexpr Translation kMembers[] = {
    {"length", "len"}, {"size", "len"},    {"count", "len"},  {"Length", "len"},
    {"Count", "len"},  {"height", "rows"}, {"width", "cols"}, {"clone", "copy"},
};

constexpr Translation kLibrary[] = {
    {"array", "array"},   {"atomic", "atomic"}, {"csv", "csv"},     {"image", "image"},  {"io", "io"},
    {"list", "list"},     {"map", "map"},       {"math", "math"},   {"os", "os"},        {"random", "random"},
    {"time", "time"},     {"List", "list"},     {"Map", "map"},     {"Set", "map"},      {"Builder", "str"},
    {"Random", "random"}, {"Table", "csv"},     {"Image", "image"}, {"File", "io"},      {"sqrt", "math"},
    {"sin", "math"},      {"cos", "math"},      {"tan", "math"},    {"atan2", "math"},   {"exp", "math"},
    {"log", "math"},      {"pow", "math"},      {"abs", "math"},    {"min", "math"},     {"max", "math"},
    {"clamp", "math"},    {"floor", "math"},    {"ceil", "math"},   {"round", "math"},   {"pi", "math"},
    {"sort", "array"},    {"reverse", "array"}, {"sum", "array"},   {"read_line", "io"}, {"exit", "os"},
    {"sleep", "time"},
};

constexpr std::string_view kPrimitives[] = {"bool", "i8",  "i16", "i32", "i64", "u8",
                                            "u16",  "u32", "u64", "f32", "f64", "str"};

constexpr std::string_view kFunctionWords[] = {"def", "func", "function", "fun", "proc", "sub"};

constexpr Translation kVariableWords[] = {
    {"auto", "let"}, {"val", "let"}, {"final", "let"}, {"const", "let"},
    {"mut", "var"},  {"my", "let"},  {"local", "let"}, {"dim", "let"},
};

constexpr std::string_view kModifiers[] = {
    "pub",      "public",  "private", "protected", "internal", "export", "static", "abstract", "open",
    "override", "virtual", "final",   "inline",    "async",    "unsafe", "data",   "sealed",   "constexpr",
};

template <std::size_t N>
std::string_view translate(const Translation (&table)[N], std::string_view word) {
  for (const Translation& row : table) {
    if (row.foreign == word) return row.here;
  }
  return {};
}

template <std::size_t N>
bool holds(const std::string_view (&table)[N], std::string_view word) {
  return std::find(std::begin(table), std::end(table), word) != std::end(table);
}

}  // namespace

std::string_view type_for_foreign(std::string_view name) { return translate(kTypes, name); }
std::string_view value_for_foreign(std::string_view name) { return translate(kValues, name); }
std::string_view member_for_foreign(std::string_view name) { return translate(kMembers, name); }
std::string_view library_module_of(std::string_view name) { return translate(kLibrary, name); }
bool is_primitive_type_name(std::string_view name) { return holds(kPrimitives, name); }
bool is_function_word(std::string_view name) { return holds(kFunctionWords, name); }
std::string_view variable_word(std::string_view name) { return translate(kVariableWords, name); }
bool is_modifier_word(std::string_view name) { return holds(kModifiers, name); }

}  // namespace dhpvm::compiler
