// SPDX-License-Identifier: Apache-2.0
#include "compiler/text/habits.h"

#include <algorithm>

#include "compiler/text/word_table.h"

namespace dhpvm::compiler {
namespace {

constexpr Translation kTypes[] = {
    {"int", "i64"},
    {"Int", "i64"},
    {"integer", "i64"},
    {"long", "i64"},
    {"Long", "i64"},
    {"short", "i16"},
    {"byte", "u8"},
    {"Byte", "u8"},
    {"char", "u8"},
    {"unsigned", "u32"},
    {"uint", "u32"},
    {"size_t", "i64"},
    {"usize", "i64"},
    {"isize", "i64"},
    {"int8_t", "i8"},
    {"int16_t", "i16"},
    {"int32_t", "i32"},
    {"int64_t", "i64"},
    {"uint8_t", "u8"},
    {"uint16_t", "u16"},
    {"uint32_t", "u32"},
    {"uint64_t", "u64"},
    {"int8", "i8"},
    {"int16", "i16"},
    {"int32", "i32"},
    {"int64", "i64"},
    {"uint8", "u8"},
    {"uint16", "u16"},
    {"uint32", "u32"},
    {"uint64", "u64"},
    {"float", "f32"},
    {"Float", "f32"},
    {"double", "f64"},
    {"error", "Error"},
    {"Exception", "Error"},
    {"Option", "T?"},
    {"Optional", "T?"},
    {"Double", "f64"},
    {"float32", "f32"},
    {"float64", "f64"},
    {"string", "str"},
    {"String", "str"},
    {"boolean", "bool"},
    {"Bool", "bool"},
    {"Boolean", "bool"},
    {"Vec", "List"},
    {"vector", "List"},
    {"ArrayList", "List"},
    {"HashMap", "Map"},
    {"dict", "Map"},
    {"Dict", "Map"},
    {"list", "List"},
    {"map", "Map"},
    {"HashSet", "Set"},
    {"set", "Set"},
    {"number", "f64"},
    {"rune", "u8"},
    {"array", "[T]"},
    {"Array", "[T]"},
    {"Int64", "i64"},
    {"Int32", "i32"},
    {"Float64", "f64"},
    {"Float32", "f32"},
    {"Vector", "[T]"},
    {"Matrix", "[T, 2]"},
    {"ndarray", "[T]"},
    {"object", "T?"},
    {"BTreeMap", "SortedMap"},
    {"TreeMap", "SortedMap"},
    {"VecDeque", "Deque"},
    {"deque", "Deque"},
    {"BinaryHeap", "Heap"},
    {"PriorityQueue", "Heap"},
    {"StringBuilder", "Builder"},
};

constexpr Translation kValues[] = {
    {"nullptr", "null"}, {"NULL", "null"},   {"None", "null"},    {"nil", "null"},      {"undefined", "null"},
    {"True", "true"},    {"False", "false"}, {"self", "this"},    {"println", "print"}, {"printf", "print"},
    {"echo", "print"},   {"puts", "print"},  {"panic", "trap"},   {"abort", "trap"},    {"throw", "trap"},
    {"raise", "trap"},   {"not", "!"},       {"nothing", "null"}, {"missing", "null"},
};

constexpr Translation kTextFunctions[] = {
    {"join", "join"},
    {"toUpperCase", "upper"},
    {"to_upper", "upper"},
    {"to_uppercase", "upper"},
    {"toLowerCase", "lower"},
    {"to_lower", "lower"},
    {"to_lowercase", "lower"},
    {"strip", "trim"},
    {"lstrip", "trim_start"},
    {"trimStart", "trim_start"},
    {"trim_left", "trim_start"},
    {"rstrip", "trim_end"},
    {"trimEnd", "trim_end"},
    {"trim_right", "trim_end"},
    {"split_whitespace", "words"},
    {"splitlines", "lines"},
    {"split_lines", "lines"},
    {"fields", "words"},
    {"substr", "slice"},
    {"substring", "slice"},
    {"startswith", "starts_with"},
    {"startsWith", "starts_with"},
    {"endswith", "ends_with"},
    {"endsWith", "ends_with"},
    {"indexOf", "find"},
    {"index_of", "find"},
    {"index", "find"},
    {"lastIndexOf", "find_last"},
    {"rfind", "find_last"},
    {"padStart", "pad_left"},
    {"rjust", "pad_left"},
    {"padEnd", "pad_right"},
    {"ljust", "pad_right"},
    {"includes", "contains"},
    {"bytes", "to_bytes"},
    {"as_bytes", "to_bytes"},
    {"parse", "parse_int"},
    {"to_int", "parse_int"},
    {"toInt", "parse_int"},
};

constexpr Translation kMembers[] = {
    {"length", "len"},
    {"size", "len"},
    {"count", "len"},
    {"Length", "len"},
    {"Count", "len"},
    {"height", "rows"},
    {"width", "cols"},
    {"clone", "copy"},
    {"append", "push"},
    {"add", "push"},
    {"push_back", "push"},
    {"enqueue", "push"},
    {"append", "add"},
    {"push", "add"},
    {"add", "set"},
    {"push_front", "push_first"},
    {"appendleft", "push_first"},
    {"pop_front", "pop_first"},
    {"popleft", "pop_first"},
    {"dequeue", "pop_first"},
    {"poll", "pop_first"},
    {"poll", "pop"},
    {"peek", "first"},
    {"top", "first"},
    {"insert", "add"},
    {"put", "set"},
    {"insert", "set"},
    {"items", "keys"},
    {"entries", "keys"},
    {"contains", "has"},
    {"containsKey", "has"},
    {"contains_key", "has"},
    {"erase", "remove"},
    {"delete", "remove"},
    {"pop_back", "pop"},
    {"front", "first"},
    {"back", "last"},
    {"includes", "contains"},
    {"forEach", "for_each"},
    {"each", "for_each"},
    {"isEmpty", "is_empty"},
    {"empty", "is_empty"},
    {"getOrDefault", "get_or"},
    {"getOrElse", "get_or"},
    {"indexOf", "index_of"},
    {"dispose", "close"},
    {"setdefault", "get_or_add"},
    {"get_or_insert", "get_or_add"},
    {"get_or_insert_with", "get_or_add"},
    {"entry", "get_or_add"},
};

constexpr Translation kLibrary[] = {
    {"array", "array"},       {"atomic", "atomic"},  {"csv", "csv"},
    {"image", "image"},       {"io", "io"},          {"list", "list"},
    {"map", "map"},           {"math", "math"},      {"os", "os"},
    {"random", "random"},     {"time", "time"},      {"List", "list"},
    {"Map", "map"},           {"Set", "map"},        {"Deque", "queue"},
    {"Heap", "queue"},        {"Builder", "str"},    {"Random", "random"},
    {"Table", "csv"},         {"Image", "image"},    {"File", "io"},
    {"sqrt", "math"},         {"sin", "math"},       {"cos", "math"},
    {"tan", "math"},          {"atan2", "math"},     {"exp", "math"},
    {"log", "math"},          {"pow", "math"},       {"abs", "math"},
    {"min", "math"},          {"max", "math"},       {"clamp", "math"},
    {"floor", "math"},        {"ceil", "math"},      {"round", "math"},
    {"pi", "math"},           {"sort", "array"},     {"reverse", "array"},
    {"sum", "array"},         {"read_line", "io"},   {"exit", "os"},
    {"sleep", "time"},        {"exists", "io"},      {"read_text", "io"},
    {"write_text", "io"},     {"env", "os"},         {"SortedMap", "sorted"},
    {"BitSet", "bits"},       {"Json", "json"},      {"JsonObject", "json"},
    {"Regex", "regex"},       {"Arguments", "args"}, {"Logger", "log"},
    {"Running", "stats"},     {"Date", "datetime"},  {"DateTime", "datetime"},
    {"Duration", "datetime"}, {"Tests", "test"},     {"Check", "test"},
    {"Npz", "npy"},
};

constexpr std::string_view kLibraryModules[] = {
    "args", "array", "atomic", "bits",  "columns", "compress", "csv",    "datetime", "errors",
    "fft",  "hash",  "image",  "io",    "json",    "lazy",     "linalg", "list",     "log",
    "map",  "math",  "npy",    "os",    "path",    "process",  "queue",  "random",   "regex",
    "scan", "sort",  "sorted", "stats", "str",     "test",     "time",   "unicode",
};

constexpr std::string_view kListMethods[] = {"for_each", "zip"};
constexpr std::string_view kPrimitives[] = {"bool", "i8",  "i16", "i32", "i64", "u8",
                                            "u16",  "u32", "u64", "f32", "f64", "str"};

constexpr std::string_view kFunctionWords[] = {"def", "func", "function", "fun", "proc", "sub"};

constexpr Translation kVariableWords[] = {
    {"auto", "let"}, {"val", "let"}, {"final", "let"}, {"const", "let"},
    {"mut", "var"},  {"my", "let"},  {"local", "let"}, {"dim", "let"},
};

}  // namespace

std::string_view type_for_foreign(std::string_view name) { return translate(kTypes, name); }
std::string_view value_for_foreign(std::string_view name) { return translate(kValues, name); }
std::string_view member_for_foreign(std::string_view name, std::span<const std::string_view> members) {
  for (const Translation& row : kMembers) {
    if (row.foreign != name) continue;
    if (std::find(members.begin(), members.end(), row.here) != members.end()) return row.here;
  }
  return {};
}
std::string_view text_function_for(std::string_view name) { return translate(kTextFunctions, name); }
bool is_method_of_lists(std::string_view name) { return holds(kListMethods, name); }
std::string_view library_module_of(std::string_view name) { return translate(kLibrary, name); }
bool is_primitive_type_name(std::string_view name) { return holds(kPrimitives, name); }
bool is_function_word(std::string_view name) { return holds(kFunctionWords, name); }
std::string_view variable_word(std::string_view name) { return translate(kVariableWords, name); }
bool is_library_module(std::string_view name) { return holds(kLibraryModules, name); }

}  // namespace dhpvm::compiler
