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

constexpr std::string_view kList = "write `let xs: List<i64> = [1, 2];` or `List<T>()`";
constexpr std::string_view kMap = "write `[\"a\": 1]` or `Map<K, V>()`";
constexpr std::string_view kClosure = "a closure is written `fn(x) => x + 1`";
constexpr std::string_view kPrint = "write `print(x, y)`";
constexpr std::string_view kReadText = "write `io.read_text(path)!`";
constexpr std::string_view kParseJson = "write `json.parse(text)!`";
constexpr std::string_view kFormatJson = "write `json.format(value)!`";
constexpr std::string_view kRandom = "write `let r = Random(seed);` and `r.uniform()`";
constexpr std::string_view kRegex = "write `regex.compile(expression)!.find(text)`";
constexpr std::string_view kFormat = "write a formatted string: `f\"{x:.3f}\"`";
constexpr std::string_view kPrintFormat =
    "write `print(x, y)`, or with values in the text `print(f\"x = {x}\")`";
constexpr std::string_view kCast = "write `x as T` for a number, `o as C` or `o as? C` for an object";
constexpr std::string_view kZeros = "write `[f64](n)`, whose elements are 0, or `[f64](n, fill: 1.0)`";
constexpr std::string_view kMatrices =
    "arrays have methods, `a.sum()`; `[f64](n)` makes one; products of matrices are in module `linalg`";
constexpr std::string_view kFilter = "write `xs.filter(fn(x) => x > 0)` and `xs.map(fn(x) => x + 1)`";

constexpr std::string_view kSwap = "write `(xs[i], xs[j]) = (xs[j], xs[i]);`";
constexpr std::string_view kUnique =
    "a set has each once, in the order of the first: `map.set_of(array).keys()`";
constexpr std::string_view kRetain = "write `xs.filter(fn(x) => ...)`, which gives a list of those that stay";
constexpr std::string_view kPairs = "write `for key, value in m`";
constexpr std::string_view kCodePoints =
    "`for c in text` goes over bytes, and `unicode.code_points(text)` gives code points, with `import "
    "unicode;`";
constexpr std::string_view kSplitOnce =
    "write `let at = text.find(\"=\");`, and for the parts `text[..at]` and `text[at + 1..]`";

constexpr Translation kAdvice[] = {
    {"range", "write `for i in 0..n`, with `step 2` behind it where needed"},
    {"len", "write `x.len`, or `x.len()` of a list or map"},
    {"enumerate", "write `for i, x in xs`"},
    {"zip", "write `for x, y in xs.zip(ys)` of lists, `for i in 0..a.len` of arrays"},
    {"sorted", "`a.sorted()` is a sorted copy, and `a.sort()` sorts in place"},
    {"unreachable", "write `trap(\"...\")`, which fits every type"},
    {"todo", "write `trap(\"...\")`, which fits every type"},
    {"reversed", "`a.reversed()` is a reversed copy, and `a.reverse()` reverses in place"},
    {"input", "write `io.read_line()`, with `import io;` at the top"},
    {"int", "write `x as i64` for a number, `text.parse_int()` for text"},
    {"float", "write `x as f64` for a number, `text.parse_float()` for text"},
    {"string", "write `str(x)`"},
    {"String", "write `str(x)`"},
    {"chr", "write `str.from_code_point(n)`"},
    {"ord", "a character is a number already: `'a'`, `text[0]`"},
    {"isinstance", "write `x is C`"},
    {"append", "arrays keep their size; a `List` grows: `xs.push(x)`"},
    {"Array", "write `[T](n)` for an array of n elements"},
    {"make", "write `[T](n)` for an array, `Map<K, V>()` for a map"},
    {"malloc", "write `[T](n)` for an array of n elements"},
    {"sizeof", "arrays and text have `.len`"},
    {"vec", kList},
    {"Vec", kList},
    {"vector", kList},
    {"ArrayList", kList},
    {"listOf", kList},
    {"list", kList},
    {"mutableListOf", kList},
    {"HashMap", kMap},
    {"dict", kMap},
    {"Dict", kMap},
    {"mapOf", kMap},
    {"mutableMapOf", kMap},
    {"Some", "a value is a `T?` as it is: leave out `Some`"},
    {"lambda", kClosure},
    {"function", kClosure},
    {"console", kPrint},
    {"System", kPrint},
    {"fmt", kPrint},
    {"std", kPrint},
    {"cout", kPrint},
    {"cin", "write `io.read_line()`, with `import io;` at the top"},
    {"sprintf", kFormat},
    {"format", kFormat},
    {"str.format", kFormat},
    {"printf", kPrintFormat},
    {"println", kPrintFormat},
    {"np", kMatrices},
    {"numpy", kMatrices},
    {"torch", kMatrices},
    {"static_cast", kCast},
    {"dynamic_cast", kCast},
    {"reinterpret_cast", kCast},
    {"zeros", kZeros},
    {"ones", kZeros},
    {"empty", kZeros},
    {"linspace", "fill an array in a loop: `for i in 0..n { a[i] = low + i as f64 * step; }`"},
    {"arange", "write `array.range(low, high)`"},
    {"filter", kFilter},
    {"map", kFilter},
    {"reduce", "write `xs.fold(first, fn(sum, x) => sum + x)`"},
    {"any", "write `xs.any(fn(x) => x > 0)`"},
    {"all", "write `xs.all(fn(x) => x > 0)`"},
    {"type", "types are known when compiling; `x is C` asks for the class of an object"},
    {"typeof", "types are known when compiling; `x is C` asks for the class of an object"},
    {"array.enumerate", "write `for i, x in xs`"},
    {"array.take", "write `xs[..n]`"},
    {"array.skip", "write `xs[n..]`"},
    {"array.reduce", "write `xs.fold(first, fn(sum, x) => sum + x)`"},
    {"array.swap", kSwap},
    {"array.unique", kUnique},
    {"array.mean", "write `stats.mean(xs)`, with `import stats;` at the top"},
    {"List.enumerate", "write `for i, x in xs`"},
    {"List.extend", "write `xs.append(list)`, or `xs.append_array(a)` of an array"},
    {"List.addAll", "write `xs.append(list)`, or `xs.append_array(a)` of an array"},
    {"List.take", "write `xs[..n]`"},
    {"List.skip", "write `xs[n..]`"},
    {"List.drop", "write `xs[n..]`"},
    {"List.reduce", "write `xs.fold(first, fn(sum, x) => sum + x)`"},
    {"List.group_by",
     "write `for x in xs { groups.get_or_add(key, fn() => List<T>()).push(x); }` with a map `groups`"},
    {"List.swap", kSwap},
    {"List.unique", kUnique},
    {"List.distinct", kUnique},
    {"List.remove_if", kRetain},
    {"List.removeIf", kRetain},
    {"List.retain", kRetain},
    {"Map.items", kPairs},
    {"Map.entries", kPairs},
    {"Map.iter", kPairs},
    {"Map.update", "write `for key, value in other { m[key] = value; }`"},
    {"Map.putAll", "write `for key, value in other { m[key] = value; }`"},
    {"Map.filter", "write a loop: `for key, value in m { if ... { kept[key] = value; } }`"},
    {"Map.map_values", "write a loop: `for key, value in m { out[key] = f(value); }`"},
    {"Map.pop", "write `m.get(key)` for its value, and `m.remove(key);`"},
    {"Map.get/2", "write `m.get_or(key, otherwise)`"},
    {"Set.map", "write `s.keys().map(f)`"},
    {"Set.filter", "write `s.keys().filter(f)`"},
    {"Set.to_array", "write `s.keys()`"},
    {"Set.to_list", "write `list.of(s.keys())`"},
    {"str.reverse", "write `unicode.reverse(text)`, with `import unicode;` at the top"},
    {"str.chars", kCodePoints},
    {"str.code_points", kCodePoints},
    {"str.runes", kCodePoints},
    {"str.partition", kSplitOnce},
    {"str.split_once", kSplitOnce},
    {"str.capitalize", "write `text[..1].upper() + text[1..]`"},
    {"swap", "write `(a, b) = (b, a);`"},
    {"divmod", "write `(a / b, a % b)`"},
    {"setattr", "fields are declared in their type: `o.name = value;`"},
    {"getattr", "fields are declared in their type: `o.name`"},
    {"pass", "leave the block empty: `{ }`"},
    {"assert_eq", "write `assert(a == b)`"},
    {"Ok", "a value is a `T!` as it is: leave out `Ok`"},
    {"Err", "write `Error(\"message\")`"},
    {"super", "classes have no base classes: keep the other object in a field"},
    {"sum", "write `xs.sum()` of an array or a list"},
    {"Mutex", kThreads},
    {"Thread", kThreads},
    {"thread", kThreads},
    {"spawn", kThreads},
    {"atomic_add", "write `atomic.add(a[i], x)`, with `import atomic;` at the top"},
    {"atomicAdd", "write `atomic.add(a[i], x)`, with `import atomic;` at the top"},
    {"Queue", "write `Deque<T>()`, or `Heap<T>()` for the smallest element, with `import queue;` at the top"},
    // Functions of modules.
    {"atomic.sub", "write `atomic.add(a[i], -x)`"},
    {"atomic.fetch_add", "write `atomic.add(a[i], x)`, which gives the old value"},
    {"atomic.increment", "write `atomic.add(a[i], 1)`"},
    {"atomic.cas", "write `atomic.compare_exchange(a[i], expected, x)`"},
    {"atomic.swap", "write `atomic.exchange(a[i], x)`"},
    {"atomic.and", "write `atomic.and_(a[i], x)`"},
    {"atomic.or", "write `atomic.or_(a[i], x)`"},
    {"io.read", kReadText},
    {"io.read_file", kReadText},
    {"io.read_to_string", kReadText},
    {"io.read_lines",
     "write `io.read_text(path)!.lines()`, or read line by line: `io.open(path)!.read_line()!`"},
    {"io.lines", "write `io.read_text(path)!.lines()`"},
    {"io.input", "write `print(\"name?\");` and `io.read_line()`"},
    {"io.readline", "write `io.read_line()`"},
    {"io.println", kPrint},
    {"io.print", kPrint},
    {"io.list_dir", "write `os.list_dir(path)!`, with `import os;` at the top"},
    {"io.remove", "write `os.remove(path)!`, with `import os;` at the top"},
    {"json.loads", kParseJson},
    {"json.decode", kParseJson},
    {"json.load", "write `json.read(path)!`"},
    {"json.dump", "write `json.write(path, value)!`"},
    {"json.dumps", kFormatJson},
    {"json.stringify", kFormatJson},
    {"json.encode", kFormatJson},
    {"json.to_string", kFormatJson},
    {"math.inf", "write `f64.infinity`"},
    {"math.infinity", "write `f64.infinity`"},
    {"math.nan", "write `f64.nan`"},
    {"random.random", kRandom},
    {"random.rand", kRandom},
    {"random.randint", "write `let r = Random(seed);` and `r.range(low, high)`"},
    {"random.shuffle", "write `let r = Random(seed);` and `r.shuffle(a)`"},
    {"regex.match", kRegex},
    {"regex.search", kRegex},
    {"regex.find", kRegex},
    {"regex.findall", "write `regex.compile(expression)!.find_all(text)`"},
    {"regex.sub", "write `regex.compile(expression)!.replace(text, with)!`"},
    {"regex.split", "write `regex.compile(expression)!.split(text)`"},
    {"os.getenv", "write `os.env(name)`"},
    {"os.listdir", "write `os.list_dir(path)!`"},
    {"os.args", "declare `fn main(args: [str])`"},
    {"os.path", "write `import path;` at the top, and `path.join(base, name)`"},
    {"time.time", "write `time.now()`"},
    {"time.perf_counter", "write `time.monotonic()`"},
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
std::string_view advice_for_foreign(std::string_view name) { return translate(kAdvice, name); }
std::string_view text_function_for(std::string_view name) { return translate(kTextFunctions, name); }
bool is_method_of_lists(std::string_view name) { return holds(kListMethods, name); }
std::string_view library_module_of(std::string_view name) { return translate(kLibrary, name); }
bool is_primitive_type_name(std::string_view name) { return holds(kPrimitives, name); }
bool is_function_word(std::string_view name) { return holds(kFunctionWords, name); }
std::string_view variable_word(std::string_view name) { return translate(kVariableWords, name); }
bool is_library_module(std::string_view name) { return holds(kLibraryModules, name); }

}  // namespace dhpvm::compiler
