// SPDX-License-Identifier: Apache-2.0
// Functions full of parallel loops, for tests that run them on devices and compare with the interpreter. Each
// takes a size and returns a hash of every bit that it has computed; arithmetic is such that all executors
// agree exactly.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace dhpvm {

inline constexpr std::string_view kDevicePrograms = R"dhp(
import atomic;
import math;
import random;

fn mix(h: i64, v: i64) -> i64 { return (h ^ v) * 1099511628211 + (h >> 29); }
fn hash32(h: i64, a: [f32]) -> i64 {
    var r = h;
    for i in 0..a.len { r = mix(r, math.bits_f32(a[i]) as i64); }
    return r;
}
fn hash64(h: i64, a: [f64]) -> i64 {
    var r = h;
    for i in 0..a.len { r = mix(r, math.bits(a[i]) as i64); }
    return r;
}
fn hash_i32(h: i64, a: [i32]) -> i64 {
    var r = h;
    for i in 0..a.len { r = mix(r, a[i] as i64); }
    return r;
}
fn ramp(n: i64) -> [f32] {
    let a = [f32](n);
    for i in 0..n { a[i] = ((i * 7919) % 1000) as f32 * 0.37 - 100.0; }
    return a;
}

// One to one, in place and out of place, several times.
fn saxpy(n: i64) -> i64 {
    let x = ramp(n);
    let y = ramp(n);
    let z = [f32](n);
    for round in 0..3 {
        let a = 1.5 + (round as f32);
        parallel for i in 0..n { y[i] = a * x[i] + y[i]; }
        parallel for i in 0..n { z[i] = y[i] * x[i]; }
    }
    return hash32(hash32(hash32(1, x), y), z);
}
// Elements of other sizes, other lengths, two outputs.
fn mixed(n: i64) -> i64 {
    let bytes = [u8](n);
    let words = [i32](2 * n + 3);
    let doubles = [f64](n);
    let halves = [i16](3 * n);
    for i in 0..words.len { words[i] = (i * 31 - 1000) as i32; }
    for i in 0..n { bytes[i] = (i % 251) as u8; }
    parallel for i in 0..n {
        doubles[i] = (words[2 * i + 3] as f64) / ((bytes[i] as f64) + 1.0);
        halves[3 * i] = (words[2 * i] + (bytes[i] as i32)) as i16;
        halves[3 * i + 2] = (bytes[i] as i16) - 77;
    }
    var h = hash64(2, doubles);
    for i in 0..halves.len { h = mix(h, halves[i] as i64); }
    return h;
}
// Neighbours on both sides, 0 to 3 away, and the edges left alone.
fn halo(n: i64) -> i64 {
    var h = 3;
    for reach in 0..4 {
        let a = ramp(n);
        let b = ramp(n);
        let r = reach;
        for pass in 0..2 {
            parallel for i in r..n - r {
                var s: f32 = 0.0;
                for k in 0 - r..r + 1 { s += a[i + k] * ((k + 4) as f32); }
                b[i] = s * 0.125;
            }
            parallel for i in r..n - r { a[i] = b[i - r] + b[i + r]; }
        }
        h = hash32(hash32(h, a), b);
    }
    return h;
}
// Rows of a matrix.
fn rows(n: i64) -> i64 {
    let columns = 37;
    let a = [f32, 2](n, columns);
    let b = [f32, 2](n, columns);
    let c = [f32](n);
    for i in 0..n { for j in 0..columns { a[i, j] = ((i * 13 + j * 7) % 101) as f32; } }
    parallel for i in 1..n - 1, j in 1..columns - 1 {
        b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]);
    }
    parallel for i in 0..n {
        var s: f32 = 0.0;
        for j in 0..columns { s += b[i, j]; }
        c[i] = s;
    }
    var h = hash32(4, c);
    for i in 0..n { for j in 0..columns { h = mix(h, math.bits_f32(b[i, j]) as i64); } }
    return h;
}
// A cube.
fn planes(n: i64) -> i64 {
    let m = 5;
    let a = [i32, 3](n, m, m);
    let b = [i32, 3](n, m, m);
    parallel for z in 0..n, y in 0..m, x in 0..m { a[z, y, x] = ((z * 17 + y * 5 + x) % 97) as i32; }
    parallel for z in 1..n - 1, y in 0..m, x in 0..m { b[z, y, x] = a[z - 1, y, x] - a[z + 1, m - 1 - y, x]; }
    var h = 5;
    for z in 0..n { for y in 0..m { for x in 0..m { h = mix(h, b[z, y, x] as i64); } } }
    return h;
}
// Every chunk reads all of an array, and some read anywhere.
fn broadcast(n: i64) -> i64 {
    let table = ramp(100);
    let where = [i32](n);
    let source = ramp(n);
    let out = [f32](n);
    for i in 0..n { where[i] = ((i * 7907) % n) as i32; }
    parallel for i in 0..n {
        var s: f32 = 0.0;
        for k in 0..100 { s += table[k] * (k as f32); }
        out[i] = s + source[where[i] as i64];
    }
    return hash32(6, out);
}
// Results all over the place, each once.
fn scatter(n: i64) -> i64 {
    let out = [i32](n);
    let where = [i32](n);
    for i in 0..n { where[i] = ((n - 1 - i)) as i32; }
    parallel for i in 0..n { out[where[i] as i64] = (i * 3) as i32; }
    parallel for i in 0..n { if i % 3 == 1 { out[i] = out[i] + 1; } }
    return hash_i32(7, out);
}
// Columns first: chunks write everywhere.
fn transpose(n: i64) -> i64 {
    let columns = 19;
    let a = [i32, 2](n, columns);
    let b = [i32, 2](columns, n);
    parallel for i in 0..n, j in 0..columns { a[i, j] = (i * columns + j) as i32; }
    parallel for i in 0..n, j in 0..columns { b[j, i] = a[i, j]; }
    var h = 8;
    for j in 0..columns { for i in 0..n { h = mix(h, b[j, i] as i64); } }
    return h;
}
// Reductions of every kind, one and two dimensions, with and without arrays that change.
fn reduce(n: i64) -> i64 {
    let a = ramp(n);
    let d = [f64](n);
    var sum: f64 = 0.5;
    var least: f32 = 1000.0;
    var most = -5;
    var bits = 0;
    parallel for i in 0..n reduce(+: sum) { sum += (a[i] as f64) * 0.001; }
    parallel for i in 0..n reduce(min: least) { least = math.min(least, a[i]); }
    parallel for i in 0..n reduce(max: most, ^: bits) {
        most = math.max(most, (i * 7919) % 10007);
        bits ^= i * i;
    }
    parallel for i in 0..n reduce(+: sum) { d[i] = (i as f64) * 0.5; sum += 1.0 / ((i + 1) as f64); }
    var rows: f64 = 0.0;
    parallel for i in 0..n / 10 + 1, j in 0..13 reduce(+: rows) { rows += ((i * 13 + j) as f64) * 0.1; }
    var h = mix(9, math.bits(sum) as i64);
    h = mix(h, math.bits_f32(least) as i64);
    h = mix(mix(h, most), bits);
    return hash64(mix(h, math.bits(rows) as i64), d);
}
// Updated from all sides.
fn histogram(n: i64) -> i64 {
    let counts = [i32](64);
    let wide = [i64](70000);
    parallel for i in 0..n {
        atomic.add(counts[(i * 7919) % 64], 1);
        atomic.add(wide[(i * 31) % 70000], i);
    }
    var h = hash_i32(10, counts);
    for i in 0..wide.len { h = mix(h, wide[i]); }
    return h;
}
// The host looks, and writes, between the loops.
fn turns(n: i64) -> i64 {
    let a = ramp(n);
    let b = [f32](n);
    var h = 11;
    for round in 0..4 {
        parallel for i in 0..n { b[i] = a[i] * 0.5 + (round as f32); }
        h = mix(h, math.bits_f32(b[n / 2]) as i64);
        b[n - 1] = round as f32;
        a[0] = b[n - 1] + b[0];
        parallel for i in 0..n { a[i] = a[i] - b[i] * 0.25; }
    }
    return hash32(hash32(h, a), b);
}
// The same arrays again and again, one from the other.
fn ping_pong(n: i64) -> i64 {
    var now = ramp(n);
    var next = ramp(n);
    for step in 0..6 {
        let from = now;
        let to = next;
        parallel for i in 1..n - 1 { to[i] = (from[i - 1] + from[i + 1]) * 0.5; }
        now = to;
        next = from;
    }
    return hash32(hash32(12, now), next);
}
// One array under two names.
fn twins(n: i64) -> i64 {
    let a = ramp(n);
    let b = a;
    parallel for i in 0..n { a[i] = b[i] + 1.0; }
    return hash32(13, a);
}
// Arrays come and go while loops are in flight.
fn churn(n: i64) -> i64 {
    var h = 14;
    for round in 0..8 {
        let a = [f32](n);
        let b = [f32](n);
        parallel for i in 0..n { a[i] = (i + round) as f32; }
        parallel for i in 0..n { b[i] = a[n - 1 - i] * 2.0; }
        if round % 3 == 0 { h = hash32(h, b); }
        if round % 3 == 1 { a.close(); }
    }
    return h;
}
// Three loops, each on what the last one made; only the last result is looked at.
fn chain(n: i64) -> i64 {
    let a = ramp(n);
    let b = [f32](n);
    let c = [f32](n);
    let d = [f32](n);
    for round in 0..3 {
        parallel for i in 0..n { b[i] = a[i] * 0.5 + (round as f32); }
        parallel for i in 0..n { c[i] = b[i] * a[i]; }
        parallel for i in 0..n { d[i] = c[i] - b[i]; }
        a[0] = d[n - 1];
    }
    return hash32(16, d);
}
// Random numbers, a local array, and calls.
fn philox(n: i64) -> i64 {
    let out = [f64](n);
    parallel for i in 0..n {
        var last: [f64; 4];
        for k in 0..16 { last[k % 4] = (random.philox(42, i * 16 + k) >> 11) as f64; }
        out[i] = math.sqrt(last[0] * last[0] + last[3]);
    }
    return hash64(15, out);
}
// The loops need only the sizes of one array, and only some chunks need elements of another.
fn sizes(n: i64) -> i64 {
    let a = [f32](n + 3);
    let m = [i32, 2](n, 3);
    let few = ramp(n);
    let b = [i64](n);
    parallel for i in 0..n { b[i] = a.len * 3 + m.rows - i; }
    parallel for i in 0..n { if i < n / 5 { b[i] = b[i] + (few[i] as i64); } }
    var h = 17;
    for i in 0..n { h = mix(h, b[i]); }
    return h;
}
// Chunks cannot tell what is theirs of an array, and leave elements between them alone.
fn gaps(n: i64) -> i64 {
    let m = [f64, 2](n / 4 + 2, 48);
    let counts = [i64](2 * n + 1);
    for i in 0..m.rows { for j in 0..m.cols { m[i, j] = (i - j) as f64; } }
    for i in 0..counts.len { counts[i] = i; }
    parallel for i in 0..n { m[i / 4, i % 4] += 0.5; }
    parallel for i in 0..n { atomic.add(counts[i / 4 * 8 + 1], i); }
    var h = 18;
    for i in 0..m.rows { for j in 0..m.cols { h = mix(h, math.bits(m[i, j]) as i64); } }
    for i in 0..counts.len { h = mix(h, counts[i]); }
    return h;
}
// Later chunks read elements on both sides of those that earlier ones have written, under two names.
fn astride(n: i64) -> i64 {
    let a = [i64](3 * n);
    let b = a;
    for i in 0..a.len { a[i] = i; }
    parallel for i in 0..n {
        var x = a[2 * n + i];
        if i >= n / 2 { x += a[i - n / 2]; }
        a[n + i] = x;
        b[n + i] = x + 1;
    }
    var h = 19;
    for i in 0..a.len { h = mix(h, a[i]); }
    return h;
}
// Red and black cells in turn: what a chunk reads lies among what its neighbours write.
fn checkers(n: i64) -> i64 {
    let rows = n / 100 + 2;
    let a = [i64, 2](rows, 100);
    for i in 0..rows { for j in 0..100 { a[i, j] = i * 7 + j * 13; } }
    for turn in 0..4 {
        parallel for i in 1..rows - 1, j in 1..49 {
            let c = 2 * j + (i + turn) % 2;
            var x = a[i, c];
            for k in 0..20 { x = x * 3 + a[i - 1, c] + a[i + 1, c] + a[i, c - 1] - a[i, c + 1]; }
            a[i, c] = x;
        }
    }
    var h = 20;
    for i in 0..rows { for j in 0..100 { h = mix(h, a[i, j]); } }
    return h;
}
// Traps at its first bad element.
fn trap(n: i64) -> i64 {
    let a = ramp(n);
    let where = [i32](n);
    for i in 0..n { where[i] = i as i32; }
    where[n - n / 3] = (n + 5) as i32;
    where[n - 1] = -1;
    parallel for i in 0..n { a[where[i] as i64] = 1.0; }
    return hash32(16, a);
}
)dhp";

inline constexpr std::array<std::string_view, 20> kDeviceFunctions = {
    "saxpy",     "mixed",  "halo",      "rows",  "planes",    "broadcast", "scatter",
    "transpose", "reduce", "histogram", "turns", "ping_pong", "twins",     "churn",
    "chain",     "philox", "sizes",     "gaps",  "astride",   "checkers"};

// The functions for test number `test`: all of them, or under sanitizers, where each takes several times as long, every
// third; other tests take the other thirds.
inline std::vector<std::string_view> device_functions([[maybe_unused]] std::size_t test) {
#ifdef DHPVM_SANITIZED
  std::vector<std::string_view> some;
  for (std::size_t i = test % 3; i < kDeviceFunctions.size(); i += 3) some.push_back(kDeviceFunctions[i]);
  return some;
#else
  return {kDeviceFunctions.begin(), kDeviceFunctions.end()};
#endif
}

}  // namespace dhpvm
