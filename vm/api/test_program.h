// SPDX-License-Identifier: Apache-2.0
// A small program in text form, and helpers for the tests of the public API that use it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dhpvm/dhpvm.h"

namespace dhpvm {

inline constexpr std::string_view kTestProgram = R"dasm(
module 1.0
string "test.dhp"
string "out of cheese"
type string str
type resource resource
type array [f64]: f64
type array [f32, 2]: f32 rank 2
type array [u8]: u8
type array [i32]: i32
type array [str]: str
type class Box
  field array: [f64]
  field number: i64
type class Other
  field number: i64
type class Node
  field next: Node
import io.write(str)
import io.write_error(str)
import io.stdin_read_line() -> str
import os.exit(i32)
import host.add(i64, i32) -> i64
import host.scale([f64], f64)
import host.name(bool) -> str
import host.call(i64) -> i64
import host.sum([f64]) -> f64
import host.histogram(str) -> [i32]
import host.make(i64) -> resource
import host.look(resource) -> i64
import host.pair() -> f64, str
import io.open(str, str) -> resource

function empty() registers 0 0 exported
  return
end

function narrow(bool, i8, u8, i16, u16, i32, u32) -> bool, i8, u8, i16, u16, i32, u32 registers 7 0 exported
  return
end

function wide(i64, u64, f32, f64) -> i64, u64, f32, f64 registers 4 0 exported
  add.i64 p0, p0, p0
  add.i64 p1, p1, p1
  add.f32 p2, p2, p2
  add.f64 p3, p3, p3
  return
end

function divide(i64, i64) -> i64 registers 2 0 exported
  line "test.dhp" 12:3
  div.i64 p0, p0, p1
  return
end

function greet(str) -> str registers 0 3 exported
  const.string r1, "Hello, "
  move.r r2, r0
  string.concat r0, r1, 2
  return
end

function maybe(bool) -> str registers 1 1 exported
  null r0
  jump.ifnot p0, L0
  const.string r0, "here"
L0:
  return
end

function sum([f64]) -> f64 registers 4 1 exported
  array.length p0, r0
  imm p1, 0
  imm p2, 0
  jump.le.i64 p0, p1, L1
L0:
  load.f64 p3, r0, p1
  add.f64 p2, p2, p3
  for.i64 p1, p0, L0
L1:
  return.p p2
end

function store([f64], i64, f64) registers 2 1 exported
  store.f64 r0, p0, p1
  return
end

function keep([f64]) -> Box registers 0 2 exported
  move.r r1, r0
  new r0, Box
  put.ref r0, 8, r1
  return
end

function kept_first(Box) -> f64 registers 1 1 exported
  get.ref r0, r0, 8
  imm p0, 0
  load.f64 p0, r0, p0
  return
end

function close([f64]) registers 0 1 exported
  array.close r0
  return
end

function corner([f32, 2]) -> f32, i64 registers 3 1 exported
  array.dim p0, r0, 0
  add.imm.i64 p0, p0, -1
  array.dim p1, r0, 1
  add.imm.i64 p2, p1, -1
  index2 p0, r0, p0, p2
  load.f32 p0, r0, p0
  return
end

function bytes(i64) -> [u8] registers 3 1 exported
  new.array r0, p0, [u8]
  imm p1, 0
  jump.le.i64 p0, p1, L1
L0:
  store.u8 r0, p1, p1
  for.i64 p1, p0, L0
L1:
  return
end

function box(i64) -> Box registers 1 1 exported
  new r0, Box
  put.i64 r0, 16, p0
  return
end

function unbox(Box) -> i64 registers 1 1 exported
  get.i64 p0, r0, 16
  return
end

function other() -> Other registers 0 1 exported
  new r0, Other
  return
end

function spin() registers 0 0 exported
L0:
  line "test.dhp" 40:3
  loop L0
end

function recurse(i64) -> i64 registers 2 0 exported
  add.imm.i64 p1, p0, 1
  call p1, r0, recurse
  return.p p1
end

function fill_heap() registers 0 2 exported
  null r0
L0:
  new r1, Node
  put.ref r1, 8, r0
  move.r r0, r1
  line "test.dhp" 45:3
  loop L0
end

function big(i64) -> i64 registers 1 1 exported
  new.array r0, p0, [f64]
  array.length p0, r0
  return
end

function fail() registers 0 1 exported
  line "test.dhp" 50:3
  const.string r0, "out of cheese"
  trap.message r0
end

function print(str) registers 0 1 exported
  call.native p0, r0, io.write
  return
end

function print_error(str) registers 0 1 exported
  call.native p0, r0, io.write_error
  return
end

function read_line() -> str registers 0 1 exported
  call.native p0, r0, io.stdin_read_line
  return
end

function leave(i32) registers 1 0 exported
  call.native p0, r0, os.exit
  return
end

function host_add(i64, i32) -> i64 registers 2 0 exported
  line "test.dhp" 60:7
  call.native p0, r0, host.add
  return
end

function host_scale([f64], f64) registers 1 1 exported
  call.native p0, r0, host.scale
  return
end

function host_sum([f64]) -> f64 registers 1 1 exported
  call.native p0, r0, host.sum
  return
end

function host_name(bool) -> str registers 1 1 exported
  call.native p0, r0, host.name
  return
end

function host_call(i64) -> i64 registers 1 0 exported
  line "test.dhp" 70:7
  call.native p0, r0, host.call
  return
end

function host_histogram(str) -> [i32] registers 0 1 exported
  call.native p0, r0, host.histogram
  return
end

function host_make(i64) -> resource registers 1 1 exported
  call.native p0, r0, host.make
  return
end

function host_look(resource) -> i64 registers 1 1 exported
  call.native p0, r0, host.look
  return
end

function host_pair() -> f64, str registers 1 1 exported
  call.native p0, r0, host.pair
  return
end

function open(str, str) -> resource registers 0 2 exported
  call.native p0, r0, io.open
  return
end

function main([str]) -> i32 registers 3 2 exported
  array.length p0, r0
  imm p1, 0
  jump.le.i64 p0, p1, L1
L0:
  load.ref r1, r0, p1
  call.native p2, r1, io.write
  for.i64 p1, p0, L0
L1:
  i64.to.i32 p0, p0
  return.p p0
end
entry main
)dasm";

// The value of a result that a test needs to continue.
template <typename T>
T need(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().to_string();
    std::abort();
  }
  return std::move(result).value();
}

struct Dog {
  std::int64_t age = 0;
};

// An engine that defines the program's host functions in the usual way, and collects its output.
struct TestHost {
  TestHost()
      : engine(EngineOptions{.standard_output = collect(&output), .standard_error = collect(&errors)}) {
    define("host.add", [](std::int64_t a, std::int32_t b) { return a + b; });
    define("host.scale", [](std::span<double> numbers, double factor) {
      for (double& number : numbers) number *= factor;
    });
    define("host.sum", [](std::span<const double> numbers) {
      double sum = 0;
      for (const double number : numbers) sum += number;
      return sum;
    });
    define("host.name", [](bool known) { return std::string(known ? "Ada" : "nobody"); });
    define("host.call", [](std::int64_t x) { return x; });
    define("host.histogram", [](std::string_view text) {
      std::vector<std::int32_t> counts(3);
      for (const char c : text) counts[static_cast<unsigned>(c - 'a') % 3] += 1;
      return counts;
    });
    define("host.make", [](std::int64_t age) { return std::make_shared<Dog>(Dog{age}); });
    define("host.look", [](const std::shared_ptr<Dog>& dog) { return dog->age; });
    define("host.pair", [] { return std::tuple<double, std::string>(0.5, "half"); });
  }

  template <typename F>
  void define(std::string_view name, F function) {
    const Status status = engine.define(name, std::move(function));
    if (!status.ok()) ADD_FAILURE() << status.error().to_string();
  }

  Module module() const { return need(Module::assemble(engine, kTestProgram)); }
  Isolate isolate(const IsolateOptions& options = {}) const {
    return need(Isolate::create(module(), options));
  }

  static OutputFunction collect(std::string* into) {
    return [into](std::string_view text) -> Status {
      *into += text;
      return {};
    };
  }

  std::string output, errors;
  Engine engine;
};

}  // namespace dhpvm
