// SPDX-License-Identifier: Apache-2.0
// The syntax trees of correct source, as s-expressions.
#include "compiler/parse/parser.h"

#include <gtest/gtest.h>

#include "compiler/parse/test_support.h"

namespace dhpvm::compiler {
namespace {

using testing::body_of;
using testing::expression_of;
using testing::Parsed;
using testing::type_of;

TEST(ParserTest, Types) {
  EXPECT_EQ(type_of("i64"), "i64");
  EXPECT_EQ(type_of("list.List<i64>"), "list.List<i64>");
  EXPECT_EQ(type_of("Map<str, List<List<T>>>"), "Map<str List<List<T>>>");
  EXPECT_EQ(type_of("[f32]"), "(array f32 1)");
  EXPECT_EQ(type_of("[f32, 3]"), "(array f32 3)");
  EXPECT_EQ(type_of("[f32; N * 2]"), "(fixed f32 (* N 2))");
  EXPECT_EQ(type_of("[f32; N, 2]"), "(fixed f32 N 2)");
  EXPECT_EQ(type_of("[T?]?"), "(array T? 1)?");
  EXPECT_EQ(type_of("fn()"), "(fn -> _)");
  EXPECT_EQ(type_of("fn(A, fn(B) -> C) -> D?"), "(fn A (fn B -> C) -> D?)");
  EXPECT_EQ(type_of("(fn(A) -> D)?"), "(fn A -> D)?");
}

TEST(ParserTest, TypeArgumentsEndBeforeAnEqualSign) {
  const Parsed parsed("fn f() { var a: List<List<i64>>= g(); var b: List<i64>= h(); }");
  EXPECT_EQ(parsed.tree(),
            "(fn f (params) _ (block (var a List<List<i64>> (call g)) (var b List<i64> (call h))))\n");
}

TEST(ParserTest, Literals) {
  EXPECT_EQ(expression_of("5u8"), "5u8");
  EXPECT_EQ(expression_of("2.5f32"), "2.5f32");
  EXPECT_EQ(expression_of("'a'"), "'97'");
  EXPECT_EQ(expression_of("[true, false, null,]"), "(list true false null)");
  EXPECT_EQ(expression_of("[]"), "(list)");
  EXPECT_EQ(expression_of("[a: 1, b: 2,]"), "(map a 1 b 2)");
  EXPECT_EQ(expression_of("[:]"), "(map)");
  EXPECT_EQ(expression_of("a[1..n]"), "(slice a 1 n)");
  EXPECT_EQ(expression_of("a[..=n]"), "(slice= a 0 n)");
  EXPECT_EQ(expression_of("a[1..]"), "(slice a 1)");
  EXPECT_EQ(expression_of("\"a\\n\\\"\""), "\"a\\x0a\\\"\"");
}

TEST(ParserTest, Precedence) {
  EXPECT_EQ(expression_of("a || b && c == d"), "(|| a (&& b (== c d)))");
  EXPECT_EQ(expression_of("a == b ?? c"), "(== a (?? b c))");
  EXPECT_EQ(expression_of("a ?? b ?? c"), "(?? a (?? b c))") << "groups to the right";
  EXPECT_EQ(expression_of("a | b ^ c & d << e + f * g"), "(| a (^ b (& c (<< d (+ e (* f g))))))");
  EXPECT_EQ(expression_of("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(expression_of("a * b / c % d"), "(% (/ (* a b) c) d)");
  EXPECT_EQ(expression_of("(a + b) * c"), "(* (+ a b) c)");
  EXPECT_EQ(expression_of("a & b == c"), "(== (& a b) c)") << "unlike C";
  EXPECT_EQ(expression_of("-x as i64"), "(- (as x i64))") << "`as` binds more tightly than a sign";
  EXPECT_EQ(expression_of("-x.y"), "(- (. x y))");
  EXPECT_EQ(expression_of("!a && ~b == -c"), "(&& (! a) (== (~ b) (- c)))");
  EXPECT_EQ(expression_of("a - -b"), "(- a (- b))");
  EXPECT_EQ(expression_of("a--b"), "(- a (- b))");
  EXPECT_EQ(expression_of("x as T < y"), "(< (as x T) y)");
  EXPECT_EQ(expression_of("x as i64 < y && z > (w)"), "(&& (< (as x i64) y) (> z w))");
  EXPECT_EQ(expression_of("x as? C ?? y"), "(?? (as? x C) y)");
  EXPECT_EQ(expression_of("x is C && y"), "(&& (is x C) y)");
  EXPECT_EQ(expression_of("x as List<i64>"), "(as x List<i64>)");
}

TEST(ParserTest, PostfixChains) {
  EXPECT_EQ(expression_of("a.b(c)[d, e].f!"), "(!! (. (index (call (. a b) c) d e) f))");
  EXPECT_EQ(expression_of("o?.m?.n(1) ?? 2"), "(?? (call (?. (?. o m) n) 1) 2)");
  EXPECT_EQ(expression_of("x! != y"), "(!= (!! x) y)");
  EXPECT_EQ(expression_of("f(b: 2, a: 1)"), "(call f b: 2 a: 1)");
  EXPECT_EQ(expression_of("f64.max"), "(. f64 max)");
}

TEST(ParserTest, TellsTypeArgumentsFromComparisons) {
  EXPECT_EQ(expression_of("map<i64, str>(xs, f)"), "(call map <i64> <str> xs f)");
  EXPECT_EQ(expression_of("List<i64>()"), "(call List <i64>)");
  EXPECT_EQ(expression_of("List<List<[f32, 2]?>>()"), "(call List <List<(array f32 2)?>>)");
  EXPECT_EQ(expression_of("list.List<fn(i64) -> str>()"), "(call (. list List) <(fn i64 -> str)>)");
  EXPECT_EQ(expression_of("o.map<str>(f)"), "(call (. o map) <str> f)");
  EXPECT_EQ(expression_of("a < b && c > d"), "(&& (< a b) (> c d))");
  EXPECT_EQ(expression_of("f(a < b, c > d)"), "(call f (< a b) (> c d))");
  EXPECT_EQ(expression_of("a < b >> c"), "(< a (>> b c))");
  EXPECT_EQ(expression_of("(a < b)"), "(< a b)");
}

TEST(ParserTest, Arrays) {
  EXPECT_EQ(expression_of("[f32](n)"), "(new (array f32 1) n)");
  EXPECT_EQ(expression_of("[f32, 2](rows, cols)"), "(new (array f32 2) rows cols)");
  EXPECT_EQ(expression_of("[str](n, fill: \"\")"), "(new (array str 1) n fill: \"\")");
  EXPECT_EQ(expression_of("[List<i64>?](n)"), "(new (array List<i64>? 1) n)");
  EXPECT_EQ(expression_of("[[f32]](n)"), "(new (array (array f32 1) 1) n)");
  EXPECT_EQ(expression_of("[a, b][0]"), "(index (list a b) 0)");
  EXPECT_EQ(expression_of("[a < b, c > d]"), "(list (< a b) (> c d))");
}

TEST(ParserTest, Closures) {
  EXPECT_EQ(expression_of("fn(x: i64) -> i64 { return x; }"), "(fn (params (x i64)) i64 (block (return x)))");
  EXPECT_EQ(expression_of("fn(x) => x + 1"), "(fn (params (x _)) _ => (+ x 1))");
  EXPECT_EQ(expression_of("f(fn() => 1, 2)"), "(call f (fn (params) _ => 1) 2)");
  EXPECT_EQ(expression_of("fn(a, b: T) -> U => a"), "(fn (params (a _) (b T)) U => a)");
}

TEST(ParserTest, IfAndMatchExpressions) {
  EXPECT_EQ(expression_of("if a { b } else if c { d } else { e }"), "(if a b (if c d e))");
  EXPECT_EQ(expression_of("match x { 1, -2 => a, 3..10 => b, 'a'..='z' => c, else => d }"),
            "(match x (arm 1 (- 2) => a) (arm (.. 3 10) => b) (arm (..= '97' '122') => c) (arm else => d))");
  EXPECT_EQ(
      expression_of(
          "match x { Circle c => 1; Square => 2; g.Oval => 3; List<i64> xs => 4; g.Box b => 5; null => 6; }"),
      "(match x (arm (type Circle c) => 1) (arm (name Square) => 2) (arm (name g.Oval) => 3) "
      "(arm (type List<i64> xs) => 4) (arm (type g.Box b) => 5) (arm null => 6))");
  EXPECT_EQ(expression_of("match x { List<i64> => 1, \"a\" => 2, N + 1 => 3, true => fn(y) => y }"),
            "(match x (arm (type List<i64> _) => 1) (arm \"a\" => 2) (arm (+ N 1) => 3) "
            "(arm true => (fn (params (y _)) _ => y)))");
  EXPECT_EQ(expression_of("match x { 1 | 2..3 | f(a | (b | 0), _) => p | q, else => r }"),
            "(match x (arm 1 (.. 2 3) (case f (either (name a) (either (name b) 0)) else) => (| p q)) "
            "(arm else => r))");
}

TEST(ParserTest, BlocksThatGiveValues) {
  EXPECT_EQ(expression_of("{ let t = 1; t }"), "(block (let t _ 1) (value t))");
  EXPECT_EQ(expression_of("if a { f(); b } else { c }"), "(if a (block (call f) (value b)) c)");
  EXPECT_EQ(expression_of("match x { 1 => { f(); if a { b } else { c } } else => d }"),
            "(match x (arm 1 => (block (call f) (value (if a b c)))) (arm else => d))");
  EXPECT_EQ(expression_of("f() catch { if a { b; } if c { return 1; } else { 2 } }"),
            "(catch (call f) _ (block (if a (block b)) (value (if c (block (return 1)) 2))))");
}

TEST(ParserTest, FormattedStrings) {
  EXPECT_EQ(expression_of("f\"\""), "(format)");
  EXPECT_EQ(expression_of("f\"x = {x}, {y + 1:8.3f}{{}}\\n\""),
            "(format \"x = \" x \", \" {(+ y 1):8.3f} \"{}\\x0a\")");
  EXPECT_EQ(expression_of("f\"{f(a: \"b\")}{f\"{c}\"}\""), "(format (call f a: \"b\") (format c))");
  EXPECT_EQ(expression_of("f\"{match x { 1 => 2, else => 3 }:d}\""),
            "(format {(match x (arm 1 => 2) (arm else => 3)):d})");
}

TEST(ParserTest, SimpleStatements) {
  EXPECT_EQ(body_of("let x = 1; var y: f64; var z: T? = null;"),
            "(block (let x _ 1) (var y f64 _) (var z T? null))");
  EXPECT_EQ(body_of("x = 1; a[i, j] *= 2; p.x >>= 3; f(x); { }"),
            "(block (= x 1) (*= (index a i j) 2) (>>= (. p x) 3) (call f x) (block))");
  EXPECT_EQ(body_of("return; return 1 + 2; break; continue;"),
            "(block return (return (+ 1 2)) break continue)");
  EXPECT_EQ(body_of("use file = io.open(\"x\", \"r\");"),
            "(block (use file (call (. io open) \"x\" \"r\")))");
  EXPECT_EQ(body_of("fn(x) { }(1);"), "(block (call (fn (params (x _)) _ (block)) 1))");
}

TEST(ParserTest, WordsThatAreNamesElsewhere) {
  EXPECT_EQ(
      body_of("let step = 1; let reduce = 2; let fill = step + reduce; for i in 0..step step step { }"),
      "(block (let step _ 1) (let reduce _ 2) (let fill _ (+ step reduce)) (for i .. 0 step step (block)))");
  EXPECT_EQ(body_of("switch = loop; do(match_); attempt.grab(and, or, not); default[0] = new + auto;"),
            "(block (= switch loop) (call do match_) (call (. attempt grab) and or not) "
            "(= (index default 0) (+ new auto)))");
}

TEST(ParserTest, Branches) {
  EXPECT_EQ(body_of("if c { } else if d { } else { }"), "(block (if c (block) (if d (block) (block))))");
  EXPECT_EQ(body_of("if (a) { f(); }"), "(block (if a (block (call f))))");
  EXPECT_EQ(
      body_of("match v { 1, 2 => f(); 3..10 => { g(); } Circle c => h(c); null => return; else => x = 1; }"),
      "(block (match v (arm 1 2 => (call f)) (arm (.. 3 10) => (block (call g))) "
      "(arm (type Circle c) => (call h c)) (arm null => return) (arm else => (= x 1))))");
}

TEST(ParserTest, Loops) {
  EXPECT_EQ(body_of("while x != null { }"), "(block (while (!= x null) (block)))");
  EXPECT_EQ(body_of("for i in 0..n { }"), "(block (for i .. 0 n _ (block)))");
  EXPECT_EQ(body_of("for i in 0..=n { }"), "(block (for i ..= 0 n _ (block)))");
  EXPECT_EQ(body_of("for i in n - 1..-1 step -1 { }"), "(block (for i .. (- n 1) (- 1) (- 1) (block)))");
  EXPECT_EQ(body_of("for x in xs { } for i, x in f(xs) { }"),
            "(block (each _ x xs (block)) (each i x (call f xs) (block)))");
  EXPECT_EQ(body_of("for (a, b), c in m { }"), "(block (each (tuple (name a) (name b)) c m (block)))");
}

TEST(ParserTest, ParallelLoops) {
  EXPECT_EQ(body_of("parallel for i in 0..n { }"), "(block (parallel (i .. 0 n) (block)))");
  EXPECT_EQ(
      body_of("@device(\"gpu\") @batch(1 << 20) @fastmath\n"
              "parallel for i in 0..n, j in 1..=m, k in a..b reduce(+: s, max: top, ^: bits) { s += 1; }"),
      "(block (parallel @device \"gpu\" @batch (<< 1 20) @fastmath (i .. 0 n) (j ..= 1 m) (k .. a b) "
      "(reduce + s) (reduce max top) (reduce ^ bits) (block (+= s 1))))");
  EXPECT_EQ(
      body_of(
          "parallel for i in 9..=0 step -k, j in 0..n step 2 reduce(min: low[], first: a, m.join: b) { }"),
      "(block (parallel (i ..= 9 0 step (- k)) (j .. 0 n step 2) (reduce min low []) (reduce first a) "
      "(reduce function (. m join) b) (block)))");
}

TEST(ParserTest, Declarations) {
  EXPECT_EQ(Parsed("import math; import geometry.shapes as sh; import a.b;").tree(),
            "(import math math)\n(import geometry.shapes sh)\n(import a.b b)\n");
  EXPECT_EQ(Parsed("const N: i64 = 1 << 20; const S = \"x\";").tree(),
            "(const N i64 (<< 1 20))\n(const S _ \"x\")\n");
  EXPECT_EQ(Parsed("fn add(a: i64, b: i64 = 1) -> i64 { return a + b; }").tree(),
            "(fn add (params (a i64) (b i64 1)) i64 (block (return (+ a b))))\n");
  EXPECT_EQ(Parsed("fn square(x: f64) -> f64 => x * x;").tree(),
            "(fn square (params (x f64)) f64 => (* x x))\n");
  EXPECT_EQ(Parsed("extern fn log(x: f64); extern \"io.write\" fn write(text: str);").tree(),
            "(fn extern log (params (x f64)) _)\n(fn extern \"io.write\" write (params (text str)) _)\n");
  EXPECT_EQ(Parsed("intrinsic fn sqrt<T>(x: T) -> T;").tree(), "(fn intrinsic sqrt<T> (params (x T)) T)\n");
  EXPECT_EQ(Parsed("fn map<T, U: Shape>(xs: List<T>, f: fn(T) -> U) { }").tree(),
            "(fn map<T U: Shape> (params (xs List<T>) (f (fn T -> U))) _ (block))\n");
}

TEST(ParserTest, TypeDeclarations) {
  EXPECT_EQ(
      Parsed("struct Vec3 { x: f32; z: f32 = 0.0; fn dot(o: Vec3) -> f32 => x * o.x; }").tree(),
      "(struct Vec3 (field x f32) (field z f32 0.0) (fn dot (params (o Vec3)) f32 => (* x (. o x))))\n");
  EXPECT_EQ(Parsed("class A<T> : Named, list.Printable<T> { owner: str; let id: i64 = 0; init(o: str) { "
                   "owner = o; } }")
                .tree(),
            "(class A<T> : Named list.Printable<T> (field owner str) (let id i64 0) "
            "(fn init (params (o str)) _ (block (= owner o))))\n");
  EXPECT_EQ(
      Parsed("interface Named { fn name() -> str; fn rename(to: str); fn twice() -> str => name(); }").tree(),
      "(interface Named (fn name (params) str) (fn rename (params (to str)) _) "
      "(fn twice (params) str => (call name)))\n");
  EXPECT_EQ(Parsed("type Table<V> = Map<str, V>; type Real = f64;").tree(),
            "(type Table<V> Map<str V>)\n(type Real f64)\n");
}

TEST(ParserTest, RangesCoverWhatWasWritten) {
  const std::string text = "fn f() -> i64 { let x = (a + b) * c; return g(x)[1]; }";
  const Parsed parsed(text);
  ASSERT_FALSE(parsed.diagnostics.has_errors()) << parsed.diagnostics.render();
  const ast::Function& f = *parsed.module->functions.at(0);
  EXPECT_EQ(parsed.sources.text(f.range), text);
  const ast::Stmt& let = *f.body->body.at(0);
  EXPECT_EQ(parsed.sources.text(let.range), "let x = (a + b) * c;");
  EXPECT_EQ(parsed.sources.text(let.name.range), "x");
  EXPECT_EQ(parsed.sources.text(let.value->range), "(a + b) * c");
  EXPECT_EQ(parsed.sources.text(let.value->operator_range), "*");
  EXPECT_EQ(parsed.sources.text(let.value->operands.at(0)->range), "(a + b)");
  const ast::Stmt& result = *f.body->body.at(1);
  EXPECT_EQ(parsed.sources.text(result.value->range), "g(x)[1]");
}

TEST(ParserTest, MeasuresHeight) {
  const Parsed parsed("const c = a + b * (c + d);");
  const ast::Expr& sum = *parsed.module->constants.at(0)->value;
  EXPECT_EQ(sum.height, 4u);
}

}  // namespace
}  // namespace dhpvm::compiler
