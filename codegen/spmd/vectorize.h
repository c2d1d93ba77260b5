// SPDX-License-Identifier: Apache-2.0
// Whole-function vectorisation: turns a function that runs one iteration of a data-parallel loop into one that runs
// `width` consecutive iterations, one vector lane for each.
//
// Uniform branches stay branches; at divergent ones both sides run under masks. Each lane computes exactly the result
// of the scalar function, bit for bit; only the mathematical functions of a vector library (SpmdOptions::has_symbol)
// may differ in the last place.
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

// The shape of an argument of the scalar function.
enum class ArgShape : std::uint8_t {
  kUniform,    // the same in all lanes; stays a scalar
  kLaneIndex,  // an integer: the scalar argument in lane 0, increasing by one per lane, never wrapping
  kVarying,    // anything; becomes <width x T>
};

// An attribute of void functions: if several lanes call one together, only the first lane's call is executed.
constexpr const char* kOnceForFirstLane = "once-for-first-lane";

struct SpmdOptions {
  unsigned width = 8;  // lanes: a power of two from 2 to 64
  std::vector<ArgShape> args;
  // False: all lanes are active. True: the result takes a last argument, i64 from 1 to width: the number of active
  // leading lanes; the results of the others are unspecified.
  bool tail = false;
  unsigned vector_bits = 128;  // of the target's vectors: 128, 256 (AVX2) or 512 (AVX-512)
  // Whether generated code may call a symbol, queried for names of glibc's libmvec such as _ZGVdN4v_sin. Without it,
  // mathematical functions are called lane by lane.
  std::function<bool(std::string_view)> has_symbol;
};

// Adds to the module of `scalar`, which must have been through prepare, its vector form: the same arguments by their
// shapes, and the result element by element as <width x T>. kUnsupported, with the reason, if the function cannot
// be vectorised; nothing is added then.
//
// Iterations must be independent, as those of a parallel loop are: if two lanes access the same memory and not both by
// loads, the order is unspecified, except that atomic operations execute in lane order, and of several stores to one
// address by one instruction the last lane's remains.
Result<llvm::Function*> vectorize(llvm::Function& scalar, const SpmdOptions& options);

// The number of lanes for the prepared function `scalar` on vectors of `vector_bits`: as many vectors of its main
// element type as fit into registers, up to four, so that independent work hides latency; up to two for bodies with
// mathematical functions or with loops that lanes leave at different times; one for large bodies. 1 for a body so large
// that compiling its vector form would take longer than it could save.
unsigned choose_width(const llvm::Function& scalar, const std::vector<ArgShape>& args, unsigned vector_bits);

// Brings a function that runs one iteration into the form that vectorize requires: memory promoted to registers, few
// instructions, loops with one entry, one back edge and dedicated exits, no switches, no critical edges, one return,
// and separate loads for chosen addresses (chosen_loads.h). kUnsupported if its control flow is irreducible.
Status prepare(llvm::Function& scalar, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
