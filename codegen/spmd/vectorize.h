// SPDX-License-Identifier: Apache-2.0
// Whole-function vectorization: from a function that does one iteration of a data-parallel loop to a function
// that does `width` consecutive iterations at once, one vector lane for each.
//
// Branches on which the lanes agree stay branches; where they may disagree, both sides run under masks. Each
// lane computes exactly what the scalar function computes, bit for bit; only the mathematical functions that
// come from a vector library (SpmdOptions::has_symbol) may differ in the last place.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"

namespace llvm {
class Function;
}

namespace dhpvm::codegen::spmd {

// The way in which an argument of the scalar function differs across the lanes.
enum class ArgShape : std::uint8_t {
  kUniform,    // the same in all lanes; stays a scalar
  kLaneIndex,  // an integer: the scalar argument in lane 0, one more in each following lane, never wrapping
  kVarying,    // anything; becomes <width x T>
};

// An attribute of functions that give nothing back: of lanes that call one at the same time, only the first does.
constexpr const char* kOnceForFirstLane = "once-for-first-lane";

struct SpmdOptions {
  unsigned width = 8;  // lanes: a power of two from 2 to 64
  std::vector<ArgShape> args;
  // False: all lanes are active. True: the result takes a last argument, i64 from 1 to width, and that many
  // leading lanes are; what is returned for the others is unspecified.
  bool tail = false;
  unsigned vector_bits = 128;  // of the target's vectors: 128, 256 (AVX2) or 512 (AVX-512)
  // Whether generated code may call a symbol, asked for names of glibc's libmvec such as _ZGVdN4v_sin.
  // Without it, mathematical functions are called lane by lane.
  std::function<bool(std::string_view)> has_symbol;
};

// Adds to the module of `scalar`, which must have been through prepare, its vector form: the same arguments
// by their shapes, and the result element by element as <width x T>. kUnsupported when something in the
// function cannot be vectorised, with what it is; nothing is added then.
//
// Iterations must not depend on each other, as those of a parallel loop do not: of two lanes that access the
// same memory and not both by loads, the order is unspecified, except that atomic operations happen in the
// order of the lanes and that of several stores to one address by one instruction the last lane's stays.
Result<llvm::Function*> vectorize(llvm::Function& scalar, const SpmdOptions& options);

// The number of lanes that suits the prepared function `scalar` on vectors of `vector_bits`: as many vectors
// of its main element type as fit into registers, up to four, so that there is independent work while one
// waits; up to two for bodies with mathematical functions or with loops that the lanes leave at different
// times; one for large bodies. 1 for a body so large that compiling its vector form would take longer than that could
// save.
unsigned choose_width(const llvm::Function& scalar, const std::vector<ArgShape>& args, unsigned vector_bits);

// Brings a function that does one iteration into the form that vectorize wants: memory in registers, few
// instructions, loops with one entry, one back edge and exits of their own, no switches, no critical edges,
// one return, and each load from addresses that the lanes share. kUnsupported when its control flow is irreducible.
Status prepare(llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
