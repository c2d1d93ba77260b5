// SPDX-License-Identifier: Apache-2.0
// Words at certain places in other languages: at the beginning of statements, declarations and members, as operators,
// as modules.
#include "compiler/text/habits.h"
#include "compiler/text/word_table.h"

namespace dhpvm::compiler {
namespace {

constexpr Translation kStatements[] = {
    {"del", "`m.remove(key)` removes from a map; a variable ends with its block"},
    {"delete", "objects are freed by themselves; `a.close()` frees a large array at once"},
    {"defer", "`use f = e;` calls `f.close()` at the end of the block"},
    {"go", kThreads},
    {"with", "`use f = try io.open(path);` closes the file at the end of the block"},
    {"using", "`use f = try io.open(path);` closes the file at the end of the block"},
    {"await", "there are no asynchronous calls: remove it, and call the function"},
    {"yield", "collect the values in a `List`, or call a closure with each"},
    {"foreach", "write `for x in xs { ... }`"},
    {"unless", "write `if !condition { ... }`"},
    {"until", "write `while !condition { ... }`"},
    {"repeat", "write `for _i in 0..n { ... }`"},
    {"synchronized", kThreads},
    {"lock", kThreads},
    {"async", "there are no asynchronous calls"},
    {"move", "a closure needs no `move`: it captures a `let` by value, a `var` by reference"},
    {"nonlocal", "a closure sees the variables around it: assign them"},
    {"fallthrough", "an arm has several patterns: `1 | 2 => ...`"},
    {"typeof", "types are known when compiling; `x is C` asks for the class of an object"},
    {"sizeof", "arrays and text have `.len`"},
    {"require", "write `assert(condition, \"message\");`"},
    {"end", "a block ends in `}`"},
    {"global", "there are no global variables: pass them to the functions that need them"},
    {"assert", "write `assert(condition);`"},
    {"unsigned", "write `var x: u32 = ...;`"},
    {"goto", "use loops, `break` and functions"},
    {"except", "an error is handled behind its `try` block: `catch err { ... }`"},
    {"rescue", "an error is handled behind its `try` block: `catch err { ... }`"},
};

constexpr Translation kDeclarations[] = {
    {"from", "write `import name;` and use `name.function`"},
    {"using", "write `import name;` for a module, and `type Name = T;` for a type"},
    {"include", "write `import name;`"},
    {"require", "write `import name;`"},
    {"trait", "write `interface`"},
    {"protocol", "write `interface`"},
    {"impl",
     "write the functions inside the struct or class, and its interfaces behind a colon: `class C : I`"},
    {"extension", "write the functions inside the struct or class"},
    {"typedef", "write `type Name = T;`"},
    {"typealias", "write `type Name = T;`"},
    {"namespace", "each file is a module of its own"},
    {"module", "each file is a module of its own"},
    {"mod", "each file is a module of its own: `import name;`"},
    {"package", "each file is a module of its own"},
    {"template", "type parameters stand behind the name: `fn f<T>(x: T)`, `class C<T>`"},
    {"record", "write `struct`"},
    {"mutable", "write `class`"},
    {"object", "write `class`"},
    {"union", "write `enum`, whose cases have values"},
    {"global", "there are no global variables: pass them to the functions that need them"},
    {"end", "a block ends in `}`"},
    {"macro_rules", "there are no macros: write a function"},
    {"macro", "there are no macros: write a function"},
};

constexpr std::string_view kProperty =
    "write a method, `fn area() -> f64 => side * side;`, and call it: `x.area()`";
constexpr std::string_view kOperator = "an operator calls a method: `fn plus(other: T) -> T` for `+`";

constexpr Translation kMemberWords[] = {
    {"property", kProperty},
    {"get", kProperty},
    {"set", "write a method, `fn set_area(area: f64) { ... }`"},
    {"operator", kOperator},
    {"friend", "remove it: everything that is declared can be used everywhere"},
    {"typedef", "write `type Name = T;` at the top level of the file"},
    {"using", "write `type Name = T;` at the top level of the file"},
    {"companion", "functions without an object stand at the top level of the file"},
    {"delegate", "a field holds a closure: `name: fn(i64) -> i64;`"},
    {"event", "a field holds closures: `name: List<fn()>;`"},
    {"deinit", "write `fn close()`, which `use x = ...;` calls at the end of the block"},
};

constexpr std::string_view kThrows = "a function that can fail gives a result: `-> T!`";
constexpr std::string_view kNeedless = "remove it";

constexpr Translation kClauses[] = {
    {"where", "bounds stand at the type parameters: `fn f<T: Shape>(x: T)`"},
    {"requires", "bounds stand at the type parameters: `fn f<T: Shape>(x: T)`"},
    {"throws", kThrows},
    {"raises", kThrows},
    {"rethrows", kThrows},
    {"noexcept", kNeedless},
    {"override", kNeedless},
    {"final", kNeedless},
    {"async", "there are no asynchronous functions: remove it"},
};

constexpr std::string_view kCompiled =
    "remove it: functions are compiled by themselves, and `parallel for` is fast";

constexpr Translation kAttributes[] = {
    {"property", "remove it: methods are called, `x.area()`"},
    {"staticmethod", "a function without an object stands at the top level of the file"},
    {"classmethod", "a function without an object stands at the top level of the file"},
    {"dataclass", "write `struct`"},
    {"njit", kCompiled},
    {"jit", kCompiled},
    {"cuda", kCompiled},
    {"inline", kCompiled},
    {"Test", "a test is a function whose name begins with `test_`: run it by `dhpvm-run --test`"},
    {"test", "a test is a function whose name begins with `test_`: run it by `dhpvm-run --test`"},
};

constexpr Translation kOperators[] = {
    {"and", "&&"},        {"or", "||"},  {"mod", "%"},  {"xor", "^"},  {"div", "/"},
    {"instanceof", "is"}, {"isa", "is"}, {"shl", "<<"}, {"shr", ">>"},
};

constexpr Translation kModules[] = {
    {"Math", "math"},       {"cmath", "math"},        {"re", "regex"},
    {"Regex", "regex"},     {"JSON", "json"},         {"fs", "io"},
    {"sys", "os"},          {"process", "process"},   {"subprocess", "process"},
    {"argparse", "args"},   {"collections", "queue"}, {"statistics", "stats"},
    {"logging", "log"},     {"hashlib", "hash"},      {"zlib", "compress"},
    {"gzip", "compress"},   {"numpy", "linalg"},      {"rand", "random"},
    {"chrono", "time"},     {"heapq", "queue"},       {"pathlib", "path"},
    {"strings", "str"},     {"string", "str"},        {"iostream", "io"},
    {"vector", "list"},     {"itertools", "lazy"},    {"unittest", "test"},
    {"strconv", "str"},     {"flag", "args"},         {"clap", "args"},
    {"serde_json", "json"}, {"stdio", "io"},
};

constexpr Translation kSpecialMethods[] = {
    {"__init__", "init"},  {"__str__", "to_str"},  {"__repr__", "to_str"},  {"__len__", "len"},
    {"__getitem__", "at"}, {"__setitem__", "set"}, {"__iter__", "iterate"}, {"__hash__", "hash"},
    {"__eq__", "equals"},  {"__lt__", "compare"},  {"__add__", "plus"},     {"__sub__", "minus"},
    {"__mul__", "times"},  {"__neg__", "negated"}, {"__contains__", "has"}, {"__truediv__", "divided_by"},
    {"__exit__", "close"}, {"__del__", "close"},
};

constexpr std::string_view kConstructorWords[] = {"new", "New", "create", "make", "init", "alloc", "default"};

constexpr std::string_view kVisible = "remove it: everything that is declared can be used everywhere";
constexpr std::string_view kOverridden =
    "remove it: a class has the methods of its interfaces by their names";

constexpr Translation kModifiers[] = {
    {"pub", kVisible},
    {"public", kVisible},
    {"private", kVisible},
    {"protected", kVisible},
    {"internal", kVisible},
    {"export", kVisible},
    {"static", "remove it: functions without an object, and constants, stand at the top level of the file"},
    {"abstract", kOverridden},
    {"open", kOverridden},
    {"override", kOverridden},
    {"virtual", kOverridden},
    {"final", kOverridden},
    {"sealed", kOverridden},
    {"inline", "remove it: small functions are compiled into their callers"},
    {"async", "remove it: there are no asynchronous functions"},
    {"unsafe", "remove it"},
    {"data", "remove it: `==`, `hash` and `print` know the fields of a struct"},
    {"constexpr", "remove it: a constant is `const name = value;`"},
    {"readonly", "write `let` before a field that never changes"},
    {"mutating", "remove it; methods of a class change its fields, those of a struct give a new one"},
};

}  // namespace

std::string_view statement_for_foreign(std::string_view name) { return translate(kStatements, name); }
std::string_view modifier_for_foreign(std::string_view name) { return translate(kModifiers, name); }
std::string_view declaration_for_foreign(std::string_view name) { return translate(kDeclarations, name); }
std::string_view member_word_for_foreign(std::string_view name) { return translate(kMemberWords, name); }
std::string_view clause_for_foreign(std::string_view name) { return translate(kClauses, name); }
std::string_view attribute_for_foreign(std::string_view name) { return translate(kAttributes, name); }
std::string_view operator_for_foreign(std::string_view name) { return translate(kOperators, name); }
std::string_view module_for_foreign(std::string_view name) { return translate(kModules, name); }
std::string_view method_for_foreign(std::string_view name) { return translate(kSpecialMethods, name); }
bool is_constructor_word(std::string_view name) { return holds(kConstructorWords, name); }

}  // namespace dhpvm::compiler
