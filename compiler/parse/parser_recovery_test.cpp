// SPDX-License-Identifier: Apache-2.0
// The parser's messages about wrong source: one for each error, with help, and parsing continues.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "compiler/parse/test_support.h"
#include "compiler/parse/token.h"

namespace dhpvm::compiler {
namespace {

using testing::Parsed;

// The one error in a function's body, with its first remedy.
std::string advice(const std::string& statements) {
  const Parsed parsed("fn f() {\n" + statements + "\n}\nfn last() { }\n");
  const auto& all = parsed.diagnostics.all();
  EXPECT_EQ(all.size(), 1u) << statements << "\n" << parsed.diagnostics.render();
  EXPECT_EQ(parsed.module->functions.size(), 2u) << "the function after it is lost: " << statements;
  if (all.empty()) return "";
  return all[0].message + " | " + (all[0].helps.empty() ? "" : all[0].helps[0]);
}

std::string top_level_advice(const std::string& declarations) {
  const Parsed parsed(declarations + "\nfn last() { }\n");
  const auto& all = parsed.diagnostics.all();
  EXPECT_EQ(all.size(), 1u) << declarations << "\n" << parsed.diagnostics.render();
  EXPECT_FALSE(parsed.module->functions.empty()) << declarations;
  if (all.empty()) return "";
  return all[0].message + " | " + (all[0].helps.empty() ? "" : all[0].helps[0]);
}

TEST(RecoveryTest, FirstProgramsOfOthers) {
  EXPECT_EQ(advice("std::cout << x << std::endl;"), "there is no `std::` | write `print(x, y)`");
  EXPECT_EQ(advice("std::string s = x;"),
            "there is no `std::` | write `let x = ...;`; the type is called `str` here");
  EXPECT_EQ(advice("f(std::max(1, 2));"),
            "there is no `std::` | write `import name;` at the top of the file, and `name.function(...)`");
  EXPECT_EQ(advice("Matrix m(2, 2);"),
            "`Matrix` begins no statement | a variable is declared with `let`: `let m = Matrix(...);`");
  EXPECT_EQ(
      advice("x, err := f();"),
      "an assignment has one place, or a tuple of them | a function that can fail gives a `T!`: `let x = "
      "f() catch err { ... };`");
  EXPECT_EQ(advice("v, ok := m[k];"),
            "an assignment has one place, or a tuple of them | what may be missing is null: `if let v = "
            "m.get(key) { ... }`");
  EXPECT_EQ(advice("a, b = b, a;"),
            "an assignment has one place, or a tuple of them | write `(a, b) = (b, a);`, where both are "
            "declared, and `let (a, b) = pair;` where they are not");
  EXPECT_EQ(advice("let f = func(x: i64) -> i64 { return x; };"),
            "a closure begins with `fn` | write `fn(x) => x + 1`, or `fn(x) { ... }`");
  EXPECT_EQ(
      advice("f(a if b else c);"),
      "expected `,` or `)` after the argument, found `if` | a choice is written `if condition { a } else "
      "{ b }`");
  EXPECT_EQ(advice("f(7 // 2);\ng();").substr(0, 6), "expect");
  EXPECT_EQ(
      advice("var xs []int;"),
      "a `var` needs a type or a value | write `var xs: [i64];`, or `let xs = List<i64>();` for one that "
      "grows");
  EXPECT_EQ(advice("for { break; }"), "a `for` goes over something | write `while true { ... }`");
  EXPECT_EQ(advice("let s = `a ${b} c`;"), "text is written in double quotes | write `f\"a {b} c\"`");
  EXPECT_EQ(advice("f(`raw`);"), "text is written in double quotes | write `\"raw\"`");
  EXPECT_EQ(top_level_advice("enum class Color { red, green }"), "an `enum` is no class | remove `class`");
  EXPECT_EQ(top_level_advice("type Point struct { x: f64; y: f64; }"),
            "the declaration of a struct begins with `struct` | write `struct Point { ... }`");
  EXPECT_EQ(top_level_advice("import (\n)\n"),
            "an `import` names one module | write one `import name;` for each");
  EXPECT_EQ(
      top_level_advice("const (\n)\n"),
      "a `const` declares one constant | write `const name = value;` for each; names that are counted are "
      "an `enum`");
  EXPECT_EQ(top_level_advice("class Account:\n    x = 1\n"),
            "the members of a class stand in braces, without `:` | write `class Account { ... }`");
}

TEST(RecoveryTest, MissingSemicolon) {
  EXPECT_EQ(advice("let x = 1\nf(x);"), "expected `;` after the declaration | write `;` here");
  EXPECT_EQ(advice("f(x)"), "expected `;` after the statement | write `;` here");
  EXPECT_EQ(advice("return"), "expected `;` after `return` | write `;` here");
  const Parsed parsed("fn f() {\n  let x = 1\n}\n");
  EXPECT_EQ(parsed.diagnostics.render(),
            "test.dhp:2:12: error: expected `;` after the declaration\n"
            "    2 |   let x = 1\n"
            "      |            ^\n"
            "  help: write `;` here\n");
}

TEST(RecoveryTest, VariablesOfOtherLanguages) {
  EXPECT_EQ(advice("int x = 5;"),
            "a variable is declared with `let` or `var` | write `let x = ...;`, or `var x: i64 = ...;` if it "
            "changes");
  EXPECT_EQ(advice("List<i64> xs;"),
            "a variable is declared with `let` or `var` | write `var xs: List<i64>;`");
  EXPECT_EQ(advice("auto x = 5;"), "a variable is declared with `let` or `var` | write `let x = ...`");
  EXPECT_EQ(advice("let mut x = 5;"), "there is no `let mut` | write `var x`");
  EXPECT_EQ(advice("x := 5;"), "a variable is declared with `let` or `var` | write `let x = ...;`");
  EXPECT_EQ(advice("x: i64 = 5;"), "a variable is declared with `let` or `var` | write `let x: type = ...;`");
  EXPECT_EQ(advice("let x := 5;"), "there is no operator `:=` | write `=`");
  EXPECT_EQ(advice("let x: i64;"),
            "a `let` needs its value at once | write `let x = ...;`, or `var x: type;` and assign later");
  EXPECT_EQ(advice("let x = y else { return; };"),
            "a declaration has no `else` | write `let x = value ?? return;` where it is null");
  EXPECT_EQ(advice("if (let x = y) { }"),
            "expected an expression, found `let` | a declaration is a statement of its own, or begins a "
            "condition: `if let x = value && ...`");
  EXPECT_EQ(
      advice("if let var x = y { }"),
      "the variables of a condition do not change | remove `var`; the body can begin with `var y = x;`");
  EXPECT_EQ(advice("while let x: i64 = y { }"),
            "the variables of a condition have the types of the value | remove the type");
  EXPECT_EQ(advice("var x;"), "a `var` needs a type or a value | write `var x: i64;` or `var x = 0;`");
  EXPECT_EQ(advice("var x i64 = 1;"), "expected `:` before the type | write `var x: i64`");
  EXPECT_EQ(advice("const N = 1;"),
            "`const` stands at the top level of a file only | write `let` for a value that does not change");
}

TEST(RecoveryTest, OperatorsOfOtherLanguages) {
  EXPECT_EQ(advice("x++;"), "there is no operator `++` | write `x += 1;` as a statement");
  EXPECT_EQ(advice("p.x--;"), "there is no operator `--` | write `p.x -= 1;` as a statement");
  EXPECT_EQ(advice("++x;"), "there is no operator `++` | write `x += 1;`");
  EXPECT_EQ(advice("if a and b { }"), "`and` is no operator here | write `&&`");
  EXPECT_EQ(advice("if a or b { }"), "`or` is no operator here | write `||`");
  EXPECT_EQ(advice("if not a { }"), "`not` is no operator here | write `!`");
  EXPECT_EQ(advice("if x = 1 { }"), "`=` assigns, and a condition cannot | write `==` to compare");
  EXPECT_EQ(advice("let y = a < b < c;"), "comparisons do not chain | compare twice: `a < b && b < c`");
  EXPECT_EQ(advice("let y = a === b;"), "`===` is no operator here | write `==`");
  EXPECT_EQ(advice("let y = c ? 1 : 2;"),
            "there is no operator `? :` | write `if condition { a } else { b }`");
  EXPECT_EQ(advice("let y = p->x;"), "members are reached with a dot | write `.`");
  EXPECT_EQ(advice("a::b();"), "members are reached with a dot | write `.`");
  EXPECT_EQ(advice("let y = new Foo(1);"), "objects are made without `new` | write `Foo(...)`");
  EXPECT_EQ(advice("if x is not null { }"), "`is` tests for a type | write `!= null`");
  EXPECT_EQ(advice("a = b = c;"),
            "an assignment has no value, and cannot be assigned | write one statement for each");
  EXPECT_EQ(advice("let y = .5;"), "expected an expression, found `.` | write `0.5`");
}

TEST(RecoveryTest, StatementsOfOtherLanguages) {
  EXPECT_EQ(advice("if a { } elif b { } else { }"), "there is no `elif` | write `else if`");
  EXPECT_EQ(advice("if (a) f();"), "the body of `if` needs braces | write `{ ... }` around it");
  EXPECT_EQ(advice("while a: \n f();"),
            "the body of `while` stands in braces, without `:` | write `{ ... }`");
  EXPECT_EQ(advice("for (int i = 0; i < n; i++) { f(); }"),
            "this is not how a `for` is written here | write `for i in 0..n { ... }`, with `step 2` behind "
            "it where "
            "needed; other loops are `while`");
  EXPECT_EQ(advice("for (x in xs) { }"), "the head of a `for` has no parentheses | write `for x in ... { }`");
  EXPECT_EQ(advice("for x of xs { }"),
            "expected `in` after the loop variable, found `of` | write `for x in ...`");
  EXPECT_EQ(advice("for i in 0...n { }"),
            "there is no operator `...` | write `..=` to include the end, `..` to leave it out");
  EXPECT_EQ(advice("switch (x) { case 1: f(); }"),
            "there is no `switch` | write `match value { 1, 2 => f(); else => g(); }`");
  EXPECT_EQ(advice("match x { case (1, 2): f(); }"),
            "an arm begins with its pattern | write `pattern => ...`, without `case`");
  EXPECT_EQ(advice("loop { f(); }"), "there is no `loop` | write `while true { ... }`");
  EXPECT_EQ(advice("do { f(); } while (x);"),
            "there is no `do` | write `while true { ... if !condition { break; } }`");
  EXPECT_EQ(
      advice("throw x;"),
      "there are no exceptions | write `return Error(\"message\");` in a function that gives a `T!`, or "
      "`trap(\"message\");`");
  EXPECT_EQ(advice("  fn g(x: i64) { }"),
            "functions are declared at the top level of a file, or in a type | write `let g = fn(...) { ... "
            "};` for a "
            "function inside a function");
  EXPECT_EQ(advice("retrun 1;"), "`retrun` begins no statement | write `return`");
  EXPECT_EQ(advice("print x;"), "`print` begins no statement | write `print(...);`");
  EXPECT_EQ(advice(";"), "there is no statement before this `;` | remove it");
}

TEST(RecoveryTest, ValuesOfOtherLanguages) {
  EXPECT_EQ(advice("let s = 'text';"), "single quotes hold one character | write `\"text\"` for a string");
  EXPECT_EQ(
      advice("let v = Vec3 { x: 1 };"),
      "expected `;` after the declaration, found `{` | objects are made by a call, `Name(field: value)`; "
      "closures are arguments, `f(fn(x) => x + 1)`");
  EXPECT_EQ(advice("let g = |x| x + 1;"),
            "expected an expression, found `|` | a closure is written `fn(x) => x + 1`");
  EXPECT_EQ(advice("let g = (x, y) => x;"), "a closure begins with `fn` | write `fn` before the `(`");
  EXPECT_EQ(advice("xs.map(x => x + 1);"), "a closure begins with `fn` | write `fn(x) => ...`");
  EXPECT_EQ(advice("let a = [f64; 3];"), "a fixed array is declared by its type | write `var a: [f64; N];`");
  EXPECT_EQ(advice("let f: (i64, f64) -> i64 = g;"),
            "the type of a function begins with `fn` | write `fn` before the `(`");
  EXPECT_EQ(advice("let f: () -> i64 = g;"),
            "the type of a function begins with `fn` | write `fn` before the `(`");
  EXPECT_EQ(advice("parallel for i in 0..n reduce(sum) { sum += a[i]; }"),
            "a reduction begins with its operation | write for example `reduce(+: sum)`");
  EXPECT_EQ(advice("let a = [0; 10];"),
            "an array of equal elements is made by a call | write `[i64](n, fill: 0)`");
  EXPECT_EQ(advice("return 1, 2;"), "a `return` gives one value | give a tuple: `return (a, b);`");
  EXPECT_EQ(advice("let t = (1,);"), "a tuple has at least two values | remove the `,`");
  EXPECT_EQ(advice("let q = List<i64>;"),
            "a type with arguments is no value | make an object by calling it: `List<i64>()`");
  EXPECT_EQ(advice("let r = a[1:2];"), "a part is written with two points | write `[low..high]`");
  EXPECT_EQ(advice("f(x = 1);"), "named arguments take a colon | write `x: value`");
  EXPECT_EQ(advice("let s = f\"{x=}\";"),
            "expected `}` after the expression, found `=` | write the name into the text: `x = {x}`");
  EXPECT_EQ(advice("let s = f\"{}\";"),
            "there is no expression between the braces | write `{{` and `}}` for braces in the text");
}

TEST(RecoveryTest, DeclarationsOfOtherLanguages) {
  EXPECT_EQ(top_level_advice("def f() { }"), "functions are declared with `fn` | write `fn f`");
  EXPECT_EQ(top_level_advice("int main() { return 0; }"),
            "functions are declared with `fn` | write `fn main(...) -> type { ... }`");
  EXPECT_EQ(top_level_advice("pub fn f() { }"),
            "there is no `pub` | remove it: everything that is declared can be used everywhere");
  EXPECT_EQ(top_level_advice("fn f(int x) { }"),
            "a parameter's type stands behind its name | write `x: i64`");
  EXPECT_EQ(top_level_advice("fn f(x) { }"), "the parameter `x` has no type | write for example `x: i64`");
  EXPECT_EQ(top_level_advice("fn f(x i64) { }"), "expected `:` before the type | write `x: i64`");
  EXPECT_EQ(top_level_advice("fn f() i64 { }"), "expected `->` before the result type | write `-> i64`");
  EXPECT_EQ(top_level_advice("fn f(): i64 { }"), "the result type stands after `->` | write `-> i64`");
  EXPECT_EQ(top_level_advice("fn f() -> void { }"),
            "there is no type `void` | leave `-> void` out: the function gives nothing");
  EXPECT_EQ(top_level_advice("let x = 1;"),
            "there are no global variables | write `const` for a constant; pass variables to the functions "
            "that need them");
  EXPECT_EQ(top_level_advice("print(1);"),
            "statements stand inside functions | a program begins in `fn main() { ... }`");
  EXPECT_EQ(top_level_advice("use std::math;"),
            "modules are imported | write `import name;`, and `name.function` where it is used");
  EXPECT_EQ(top_level_advice("import \"x.dhp\";"),
            "a module is named without quotes | write `import geometry.shapes;` for geometry/shapes.dhp");
  EXPECT_EQ(top_level_advice("enum E { A, B };"), "there is no `;` after the `}` of an enum | remove it");
  EXPECT_EQ(top_level_advice("union U { int a; }"),
            "there is no `union` | write `enum`, whose cases have values");
  EXPECT_EQ(top_level_advice("struct P { x: f64; };"),
            "there is no `;` after the `}` of a struct | remove it");
  EXPECT_EQ(top_level_advice("struct P { x: f64, }"), "a field ends in `;` | write `;`");
  EXPECT_EQ(top_level_advice("struct P { x i64; }"), "expected `:` before the type | write `x: i64;`");
  EXPECT_EQ(top_level_advice("class P { int x; }"),
            "a field's type stands behind its name | write `x: i64;`");
  EXPECT_EQ(top_level_advice("class P { P(x: i64) { } }"),
            "a constructor is called `init` | write `init(...) { ... }`");
  EXPECT_EQ(top_level_advice("class P { def f() { } }"), "functions are declared with `fn` | write `fn f`");
  EXPECT_EQ(
      top_level_advice("class P extends Q { }"),
      "there is no `extends` | classes have no base classes: keep the other object in a field; interfaces "
      "stand behind a colon, `class C : I`");
  EXPECT_EQ(top_level_advice("class P implements Q { }"),
            "there is no `implements` | write `:` and the interfaces");
  EXPECT_EQ(top_level_advice("interface I { x: i64; }"),
            "an interface has no fields | declare a function: `fn x() -> type;`");
}

TEST(RecoveryTest, WordsBehindHeads) {
  constexpr std::string_view kBounds = "bounds stand at the type parameters: `fn f<T: Shape>(x: T)`";
  EXPECT_EQ(top_level_advice("fn f<T>(x: T) -> i64 where T: Shape, T: Other { return 1; }"),
            "there is no `where` | " + std::string(kBounds));
  EXPECT_EQ(top_level_advice("fn f<T>(x: T)\n    where T: Shape {\n}"),
            "there is no `where` | " + std::string(kBounds));
  EXPECT_EQ(top_level_advice("fn f() -> i64 throws IOException { return 1; }"),
            "there is no `throws` | a function that can fail gives a result: `-> T!`");
  EXPECT_EQ(top_level_advice("fn f() noexcept { }"), "there is no `noexcept` | remove it");
  EXPECT_EQ(top_level_advice("fn f<T extends Shape>(x: T) { }"),
            "the bound of a type parameter stands behind a colon | write `T: Shape`");
  EXPECT_EQ(top_level_advice("fn f() -> i64, i64 { return (1, 2); }"),
            "expected `{` or `=>` before the body of `f` | several results are a tuple: `-> (A, B)`");
}

TEST(RecoveryTest, MembersOfOtherLanguages) {
  constexpr std::string_view kMethod =
      "write a method, `fn area() -> f64 => side * side;`, and call it: `x.area()`";
  EXPECT_EQ(top_level_advice("class P {\n  property area: f64 { get { return 1.0; } }\n  x: i64;\n}"),
            "there is no `property` | " + std::string(kMethod));
  EXPECT_EQ(top_level_advice("class P {\n  get area() { return 1.0; }\n  x: i64;\n}"),
            "there is no `get` | " + std::string(kMethod));
  EXPECT_EQ(top_level_advice("class P {\n  @property\n  fn area() -> f64 { return 1.0; }\n}"),
            "declarations have no attributes | remove it: methods are called, `x.area()`");
  EXPECT_EQ(top_level_advice("@numba.njit(parallel: true)\nfn f() { }"),
            "declarations have no attributes | remove it");
  EXPECT_EQ(top_level_advice("class P { fn __str__(self) -> str { return \"\"; } }"),
            "the language calls no method `__str__` | write `to_str`");
  EXPECT_EQ(top_level_advice("struct P { x: f64, y: f64, z: f64 }"), "a field ends in `;` | write `;`");
  EXPECT_EQ(top_level_advice("struct P { data: [f64], open: bool }"), "a field ends in `;` | write `;`");
  EXPECT_EQ(top_level_advice("class P {\n  private:\n  x: i64;\n}"),
            "there is no `private:` | remove it: all members can be used everywhere");
  EXPECT_EQ(top_level_advice("class P { int x; int y; }"),
            "a field's type stands behind its name | write `x: i64;`");
  EXPECT_EQ(
      top_level_advice("enum E { red = 1, green = 2 }"),
      "a case has no number of its own | `as i64` gives its position; for other numbers write a method with "
      "a `match`");
  EXPECT_EQ(
      top_level_advice("class P { static fn f() { } }"),
      "there is no `static` | remove it: functions without an object, and constants, stand at the top level "
      "of the file");
}

TEST(RecoveryTest, TypesOfOtherLanguages) {
  constexpr std::string_view kElement = "array types are written with the element type in brackets | ";
  EXPECT_EQ(top_level_advice("fn f(xs: []i64) { }"), std::string(kElement) + "write `[i64]`");
  EXPECT_EQ(top_level_advice("fn f(xs: [3]i64) { }"),
            std::string(kElement) + "write `[i64]`, or `[i64; 3]` for a fixed array");
  EXPECT_EQ(top_level_advice("fn f(xs: i64[3]) { }"),
            std::string(kElement) + "write `[i64]`, or `[i64; 3]` for a fixed array");
  constexpr std::string_view kArguments = "the arguments of a type stand between `<` and `>` | ";
  EXPECT_EQ(top_level_advice("fn f(xs: array[i32]) { }"),
            std::string(kArguments) + "an array type is written `[i32]`");
  EXPECT_EQ(top_level_advice("fn f(xs: list[i64]) { }"), std::string(kArguments) + "write `List<i64>`");
  EXPECT_EQ(top_level_advice("fn f(xs: dict[str, i64]) -> i64 { return 0; }"),
            std::string(kArguments) + "write `Map<str, i64>`");
}

TEST(RecoveryTest, SignsAndWordsOfOtherLanguages) {
  EXPECT_EQ(advice("let c = a @ b;"),
            "there is no operator `@` | write `linalg.gemm(a, b)`, with `import linalg;` at the top");
  EXPECT_EQ(advice("if a <> b { }"), "there is no operator `<>` | write `!=`");
  EXPECT_EQ(advice("let c = a mod b;"), "`mod` is no operator here | write `%`");
  EXPECT_EQ(advice("if b instanceof C { }"), "`instanceof` is no operator here | write `is`");
  EXPECT_EQ(advice("let y = await f();"),
            "there is no `await` | there are no asynchronous calls: remove it, and call the function");
  EXPECT_EQ(advice("foreach (x in xs) { f(x); }"), "there is no `foreach` | write `for x in xs { ... }`");
  EXPECT_EQ(advice("unless (a) { f(); }"), "there is no `unless` | write `if !condition { ... }`");
  EXPECT_EQ(advice("try { f(); } except ValueError as e { g(e); }"),
            "there is no `except` | an error is handled behind its `try` block: `catch err { ... }`");
  EXPECT_EQ(advice("let a = new int[10];"), "an array is made by a call | write `[i64](n)` for n elements");
  EXPECT_EQ(
      advice("let [a, b] = pair();"),
      "a `let` declares one variable, or those of a tuple | write `let (a, b) = pair;`, or take elements one "
      "by one: `let a = xs[0];`");
  EXPECT_EQ(
      advice("let {x, y} = p;"),
      "a `let` declares one variable, or those of a tuple | write `let p = ...;`, and use its fields, `p.x`");
}

TEST(RecoveryTest, WordsOfOtherLanguagesAreNames) {
  for (const std::string_view body : {
           "for i in 0..end step 2 { }",
           "for i in 0..new step n { }",
           "for i in 0..not step 2 { }",
           "parallel for i in 0..end reduce(+: sum) { }",
           "parallel for i in 0..lock step 2 reduce(max: sum) { }",
           "\n  end\n    .push(1);\n",
           "\n  end\n    = 2;\n",
       })
    EXPECT_FALSE(Parsed("fn f() { " + std::string(body) + " }").diagnostics.has_errors()) << body;
  EXPECT_FALSE(Parsed("class P { fn __len__() -> i64 { return 0; } }").diagnostics.has_errors());
  EXPECT_FALSE(Parsed("fn __add__(self: i64, y: i64) -> i64 { return self + y; }").diagnostics.has_errors());
}

TEST(RecoveryTest, HeadsOfOtherLanguages) {
  constexpr std::string_view kClauses =
      "this is not how a `for` is written here | write `for i in 0..n { ... }`, with `step 2` behind it "
      "where "
      "needed; other loops are `while`";
  EXPECT_EQ(advice("for i := 0; i < n; i++ { f(i); }"), kClauses);
  EXPECT_EQ(advice("for var i = 0; i < n; i += 1 { f(i); }"), kClauses);
  EXPECT_EQ(advice("for i in 1:10 { f(i); }"),
            "a range is written with two points | write `low..=high`, or `low..end`");
  EXPECT_EQ(advice("match x { case 1: f(); case 2: g(); case _: h(); }"),
            "an arm begins with its pattern | write `pattern => ...`, without `case`");
  EXPECT_EQ(advice("match x { 1 -> f(); 2 -> g(); else -> h(); }"),
            "an arm is written with `=>` | write `=>`");
  EXPECT_EQ(advice("match x { Shape::circle(r) => f(r); else => g(); }"),
            "members are reached with a dot | write `.`");
  EXPECT_EQ(advice("for x in xs:\n    f(x);\n    g(x);\nh();"),
            "the body of `for` stands in braces, without `:` | write `{ ... }`");
  // The indented lines are the body.
  const Parsed parsed("fn f() {\n  for x in xs:\n    g(x);\n    h(x);\n  k();\n}\n");
  ASSERT_EQ(parsed.module->functions[0]->body->body.size(), 2u);
  EXPECT_EQ(parsed.module->functions[0]->body->body[0]->body[0]->body.size(), 2u);
}

TEST(RecoveryTest, FindsSeveralMistakesInOneRun) {
  const Parsed parsed(
      "fn a() {\n"
      "  let x = ;\n"
      "  foo(1, 2;\n"
      "  if { }\n"
      "  bar(]);\n"
      "  let y = 1;\n"
      "}\n"
      "fn b( {\n"
      "  baz(;\n"
      "}\n"
      "struct S { a: ; b: i64; }\n"
      "const N = ;\n"
      "fn c() { return 1 }\n");
  EXPECT_EQ(parsed.errors(),
            "2: expected an expression, found `;`\n"
            "3: expected `,` or `)` after the argument, found `;`\n"
            "4: expected an expression, found `{`\n"
            "5: expected an expression, found `]`\n"
            "8: expected the name of a parameter, found `{`\n"
            "9: expected an expression, found `;`\n"
            "11: expected a type, found `;`\n"
            "12: expected an expression, found `;`\n"
            "13: expected `;` after the value\n");
  EXPECT_EQ(parsed.module->functions.size(), 3u);
  EXPECT_EQ(parsed.module->functions[0]->body->body.size(), 5u);
  EXPECT_FALSE(parsed.module->is_complete);
}

TEST(RecoveryTest, KnowsWhenNoDeclarationIsLost) {
  EXPECT_TRUE(Parsed("fn a() { let x = ; }").module->is_complete);
  EXPECT_TRUE(Parsed("fn a(int x) { }").module->is_complete);
  EXPECT_TRUE(Parsed("class C { fn a() { foo(; } }").module->is_complete);
  EXPECT_FALSE(Parsed("fn a(x: ) { }").module->is_complete);
  EXPECT_FALSE(Parsed("fn a() { ").module->is_complete);
  EXPECT_FALSE(Parsed("class C { x: ; }").module->is_complete);
}

// The checker requires it: every function that must have a body has one, even if it is an error node.
TEST(RecoveryTest, FillsMissingBodies) {
  EXPECT_EQ(dump(*Parsed("fn f();").module), "(fn f (params) _ (block error))\n");
  EXPECT_EQ(dump(*Parsed("class C { fn f(x: i64) -> i64; }").module),
            "(class C (fn f (params (x i64)) i64 (block error)))\n");
  EXPECT_EQ(dump(*Parsed("fn f() { let g = fn(x) -> ; }").module),
            "(fn f (params) _ (block (let g _ error)))\n");
  EXPECT_EQ(dump(*Parsed("interface I { fn f(); }").module), "(interface I (fn f (params) _))\n");
}

TEST(RecoveryTest, BlamesTheBraceThatIsNotClosed) {
  const Parsed parsed("fn a() {\n  if x {\n    f();\n}\n\nfn b() { }\nfn c() {\n  let x = ;\n}\n");
  EXPECT_EQ(parsed.errors(), "1: this `{` is not closed\n8: expected an expression, found `;`\n");
  EXPECT_EQ(parsed.module->functions.size(), 3u);
}

TEST(RecoveryTest, OneBrokenStringIsOneError) {
  EXPECT_EQ(Parsed("fn f() {\n  print(\"abc);\n  g(;\n  print(f\"{x\");\n}").errors(),
            "2: this string is not closed before the line ends\n"
            "4: this `{` of a formatted string is not closed\n"
            "3: expected an expression, found `;`\n");
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

TEST(RecoveryTest, SaysWhatIsTooDeep) {
  const std::string sum = "const c = 1" + repeated(" + 1", 600) + ";";
  EXPECT_EQ(Parsed(sum).errors(), "1: this is nested more than 500 levels deep\n");
  EXPECT_FALSE(Parsed("const c = 1" + repeated(" + 1", 450) + ";").diagnostics.has_errors());
  EXPECT_FALSE(
      Parsed("const c = " + repeated("(", 200) + "1" + repeated(")", 200) + ";").diagnostics.has_errors());
  EXPECT_EQ(Parsed("const c = " + repeated("(", 600) + "1" + repeated(")", 600) + ";").errors(),
            "1: this is nested more than 500 levels deep\n");
}

TEST(RecoveryTest, LimitsDepth) {
  constexpr std::size_t kMany = 20'000;
  const std::string texts[] = {
      "const c = " + repeated("(", kMany),
      "const c = " + repeated("-", kMany) + "1;",
      "const c = " + repeated("!", kMany),
      "const c = " + repeated("[", kMany),
      "const c = " + repeated("a[", kMany),
      "const c = " + repeated("a(", kMany),
      "const c = " + repeated("a<", kMany),
      "const c = a" + repeated(".a", kMany) + ";",
      "const c = a" + repeated("()", kMany) + ";",
      "const c = a" + repeated("!", kMany) + ";",
      "const c = a" + repeated(" as b", kMany) + ";",
      "const c = 1" + repeated(" + 1", kMany) + ";",
      "const c = 1" + repeated(" ?? 1", kMany) + ";",
      "const c = " + repeated("(1" + repeated(" + 1", 400) + ") + ", 300) + "1;",
      "const c = " + repeated("if a { ", kMany),
      "const c = " + repeated("if a { 1 } else ", kMany),
      "const c = " + repeated("match a { b => ", kMany),
      "const c = " + repeated("fn() => ", kMany),
      "const c = " + repeated("fn() { return ", kMany),
      "const c = " + repeated("f\"{", kMany),
      "const c = " + repeated("a ? ", kMany),
      "const c: " + repeated("[", kMany),
      "const c: " + repeated("A<", kMany),
      "const c: " + repeated("fn(", kMany),
      "const c: " + repeated("fn() -> ", kMany),
      "const c: " + repeated("(", kMany),
      "const c: " + repeated("&", kMany) + "i64;",
      "const c: i64" + repeated("[]", kMany) + ";",
      "fn f() " + repeated("{", kMany),
      "fn f() { " + repeated("if a { ", kMany),
      "fn f() { " + repeated("if a { } else ", kMany),
      "fn f() { " + repeated("while a ", kMany),
      "fn f() { " + repeated("for i in a ", kMany),
      "fn f() { " + repeated("for (;;) ", kMany),
      "fn f() { " + repeated("match a { b => ", kMany),
      "fn f() { " + repeated("else { ", kMany),
      "fn f() { " + repeated("fn g() { ", kMany),
      "fn f() { " + repeated("@batch(", kMany),
      "class C { " + repeated("fn f() { class C { ", kMany),
  };
  for (const std::string& text : texts) {
    const Parsed parsed(text);
    EXPECT_TRUE(parsed.diagnostics.has_errors()) << text.substr(0, 60);
    // The tree that is left can be walked by recursion.
    EXPECT_LT(dump(*parsed.module).size(), 10'000'000u);
  }
}

// Quadratic time would be 16 times as much for 4 times as many loops.
TEST(RecoveryTest, ManyLoopsOnALineTakeLinearTime) {
  const auto seconds = [](int count) {
    std::string text = "fn f() { ";
    for (int n = 0; n < count; ++n) text += "for a in b c; for a of b c; ";
    text += "}";
    const std::clock_t begin = std::clock();
    EXPECT_TRUE(Parsed(text).diagnostics.has_errors());
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  constexpr int kFew = 1000;
  double few = 100;
  double many = 100;
  for (int turn = 0; turn < 3; ++turn) {
    few = std::min(few, seconds(kFew));
    many = std::min(many, seconds(4 * kFew));
  }
  EXPECT_LT(many, 10 * few);
}

// Random tokens: the parser must terminate with either a complete tree or an error.
TEST(RecoveryTest, SurvivesRandomTokens) {
  std::vector<std::string> words{"x",          "y",   "List", "i64", "1",  "2.5", "\"s\"",
                                 "f\"{x:3}\"", "'a'", "f\"",  "\"",  "\n", "/*"};
#define X(name, text, ...) words.emplace_back(text);
  DHPVM_KEYWORDS(X)
  DHPVM_PUNCTUATION(X)
#undef X
  for (const char* foreign : {"def", "end", "case", "except", "new", "get", "where", "extends", "instanceof",
                              "foreach", "lambda", "static", "self", "step", "reduce"})
    words.emplace_back(foreign);
  std::mt19937 random(12345);
  for (int round = 0; round < 3000; ++round) {
    std::string text = round % 2 == 0 ? "fn f() { " : "";
    const std::size_t length = random() % 60;
    for (std::size_t i = 0; i < length; ++i)
      text += words[random() % words.size()] + (random() % 4 == 0 ? "" : " ");
    const Parsed parsed(text);
    const std::string tree = dump(*parsed.module);
    const bool silent_loss = !parsed.diagnostics.has_errors() && tree.find("error") != std::string::npos;
    EXPECT_FALSE(silent_loss) << text << "\n" << tree;
  }
}

// Every prefix of a program is either complete or refused.
TEST(RecoveryTest, SurvivesTruncation) {
  const std::string text =
      "import a.b as c; const N: i64 = 1; class A<T> : B { x: [T, 2]; init() { } fn f() -> T? => null; }\n"
      "fn main(args: [str]) -> i32 { let s = f\"{args[0]:>8}\"; match s { \"a\" => { } else => f<i64>(1); }\n"
      "  @batch(2) parallel for i in 0..N reduce(+: s) { if i == 0 { continue; } } return if a { 1 } else { "
      "2 }; }\n";
  ASSERT_FALSE(Parsed(text).diagnostics.has_errors()) << Parsed(text).diagnostics.render();
  for (std::size_t length = 0; length < text.size(); ++length) {
    const Parsed parsed(text.substr(0, length));
    dump(*parsed.module);
  }
}

}  // namespace
}  // namespace dhpvm::compiler
