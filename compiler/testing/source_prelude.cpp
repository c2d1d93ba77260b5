// SPDX-License-Identifier: Apache-2.0
#include "compiler/testing/source_prelude.h"

namespace dhpvm::compiler::testing {

const char* const kImports = "import list;\nimport map;\n";

// `at` makes a valid index from any number; `some` returns nullables that are not narrowed.
const char* const kPrelude = R"dhp(import atomic;
import bits;
import lazy;
import math;
import queue;
import sorted;
import str;

fn at(i: i64, n: i64) -> i64 {
    let r = i % n;
    return if r < 0 { r + n } else { r };
}
fn some<T>(given: bool, x: T) -> T? {
    if given { return x; }
    return null;
}
type Numbered<T> = Map<i64, T>;
fn map_of<T>(x: T) -> Numbered<T> {
    let m = Numbered<T>();
    m[0] = x;
    return m;
}
fn typed<T>(x: T) -> T => x;
fn cut(s: str, i: i64, j: i64) -> str {
    let low = at(i, s.len + 1);
    return s[low..low + at(j, s.len - low + 1)];
}
fn part<T>(a: [T], i: i64, j: i64) -> [T] {
    let low = at(i, a.len);
    return a[low..=low + at(j, a.len - low)];
}
fn fails<T>(failing: bool, x: T) -> T! {
    if failing { return Error("failed", Malformed()); }
    return x;
}
fn passes<T>(failing: bool, x: T) -> T! => pick(true, try fails(failing, x), x);
const table = [3, 1, 4, 1, 5, 9];
fn countdown(n: i64) -> i64 {
    let down = fn(k: i64) -> i64 => if k <= 0 { n } else { down(k - 1) + k };
    return down(at(n, 8));
}
fn pick<T>(first: bool, a: T, b: T) -> T => if first { a } else { b };
fn weigh<T>(x: T) -> i64 => hash(x);
fn sum_1<T>(a: [T]) -> i64 {
    var h = a.len;
    for i in 0..a.len { h = h * 31 + weigh(a[i]); }
    return h;
}
fn sum_2<T>(a: [T, 2]) -> i64 {
    var h = a.len;
    for i in 0..a.rows { for j in 0..a.cols { h = h * 31 + weigh(a[i, j]); } }
    return h;
}
fn sum_3<T>(a: [T, 3]) -> i64 {
    var h = a.len;
    for i in 0..a.dim(0) { for j in 0..a.dim(1) { for k in 0..a.dim(2) { h = h * 31 + weigh(a[i, j, k]); } } }
    return h;
}
fn fail() -> void! { return Error("fails"); }
interface Sized {
    fn size() -> i64;
    fn twice() -> i64 => 2 * size();
}
class Guard {
    number: i64;
    fn close() { print("closed", number); }
}
interface Maker<T> {
    fn make(i: i64) -> T;
    fn made_twice(i: i64) -> (T, T) => (make(i), make(i + 1));
}
struct Pair<A, B> {
    first: A;
    second: B;
    fn swapped() -> Pair<B, A> => Pair<B, A>(second, first);
    fn with_first<C>(x: C) -> Pair<C, B> => Pair<C, B>(x, second);
}
enum Choice<T> {
    nothing;
    one(T);
    both(T, other: T);
    fn or(x: T) -> T => match this { one(y) | both(_, y) => y, nothing => x };
}
class Box<T> : Maker<T> {
    item: T;
    made: i64 = 0;
    fn make(i: i64) -> T {
        made += i;
        return item;
    }
    fn map<U>(f: fn(T) -> U) -> Box<U> => Box<U>(f(item));
    fn equals(o: Box<T>) -> bool => equal(item, o.item);
    fn hash() -> i64 => hash(item);
    fn to_str() -> str => f"Box({item}, {made})";
}
class Grid<T> {
    cells: [T];
    size: i64;
    fn at(row: i64, col: i64) -> T => cells[row * size + col];
    fn set(row: i64, col: i64, x: T) { cells[row * size + col] = x; }
    fn iterate() -> [T] => cells;
}
enum Level {
    low;
    mid(i64);
    fn plus(n: i64) -> Level => match this { low => Level.mid(n), mid(x) => Level.mid(x + n) };
    fn compare(o: Level) -> i64 => match (this, o) {
        (low, low) => 0,
        (low, _) => -1,
        (_, low) => 1,
        (mid(a), mid(b)) => if a < b { -1 } else if a > b { 1 } else { 0 },
    };
}
struct Step {
    value: i64;
    rest: Down;
}
struct Down {
    left: i64;
    fn has_next() -> bool => left > 0;
    fn next() -> Step => Step(left, Down(left - 1));
}
class Squares {
    n: i64;
    fn len() -> i64 => n;
    fn nth(i: i64) -> i64 => i * i;
    fn iterate_pairs() -> [(i64, str)] => [(n, "n"), (n * n, "square")];
}
fn mixed(a: i64, b: i64 = 3, c: str = "c") -> str => f"{a} {b} {c}";
fn apply<T, U>(f: fn(T) -> U, x: T) -> U => f(x);
fn ask<T>(f: fn() -> T) -> T => f();
fn pop_of<T>(xs: List<T>) -> T? {
    if xs.is_empty() { return null; }
    return xs.pop();
}
fn wrapped<T>(failing: bool, x: T) -> T! {
    return fails(failing, x) catch err { return err.wrap("wrapped") };
}
const rows = [[1, 2, 3], [4, 5, 6]];
const moves = [(0, 1), (1, 0), (-1, 2)];
fn stir(w: [i64; 4], by: i64) { for k in 0..w.len { w[k] = w[(k + 1) & 3] * 3 + by; } }
struct Best {
    value: i64;
    index: i64;
}
fn smaller(a: Best, b: Best) -> Best => if b.value < a.value { b } else { a };
)dhp";

}  // namespace dhpvm::compiler::testing
