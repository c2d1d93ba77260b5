// SPDX-License-Identifier: Apache-2.0
// The cost model of processors for kernels: costs and measured thresholds in one table. Each constant names the
// measurement that it comes from; decisions 10, 12 and 51 have more of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dhpvm::codegen::spmd {

// All costs in cycles, measured on an AMD EPYC with vectors of 512 bits, which it executes as two halves, and the
// differences on one of 2021 with vectors of 256 bits. Throughput is the time without dependences. Operations and
// accesses of one lane are those of unrolled loops (host/unroll_loops.h): looking up an element at a checked index
// takes 1.1 cycles there, and 1.8 by a gather of 256 bits.
struct Throughput {
  double scalar = 0.25;      // an operation on one number
  double half_vector = 0.5;  // the same for each 256 bits
  double shuffle = 2.0;      // of elements of several vectors, for each 512 bits
  double shuffle_in_256 = 8.0;
  double access_to_one = 0.35;
  double access = 0.5;         // contiguous elements, for each 512 bits
  double masked_access = 1.0;  // the same with a mask
  double masked_store_in_256 =
      12.0;               // for each 256 bits: AMD's processors without AVX-512 execute it element by element
  double gather32 = 1.5;  // for each element
  double gather64 = 2.0;
  // For each element, of any size: not measured, but estimated from the remaining instructions of decision 61.
  double gather_in_256 = 1.2;
  double masked_gather_in_256 = 2.0;  // if masks are vectors of 256 bits as well
  // The same for elements of 8 and 16 bits, which are put into their vector one after the other. Two gathers of 16
  // bytes took 2.3 cycles for each, but arithmetic on them is faster in lanes than its estimate: with 2.4, distances of
  // words (Levenshtein) lost their lanes and took twice as long; with 1.2, blocks of 16 x 16 bytes were compared in
  // lanes, in 40 times the time.
  double narrow_gather_in_256 = 1.4;
  double masked_narrow_gather_in_256 = 2.2;
  double scatter = 2.3;
  double lane_by_lane = 4.0;         // an element, with vectors of 128 bits
  double wide_product_in_256 = 3.0;  // of integers of 64 bits, for each 256 bits
  double division = 4.0;             // of one floating-point number, or a root
  double vector_division = 1.0;      // for each 64 bits
  double integer_division = 8.0;
  double integer_division_in_lane = 5.0;
  double integer_division_by_constant = 1.5;  // of an integer, scalar or in a lane
  double function = 40.0;                     // a mathematical function of one number
  double function_in_vector = 2.5;            // for each 64 bits
  double parting = 2.0;  // a branch that iterations take differently: some are mispredicted
  // The same if a loaded value decides about more than a few operations: the misprediction is detected late.
  double parting_on_data = 8.0;
  // The extra cost of each element if every lane walks along its own row: more streams than the hardware prefetches.
  double row_of_lane = 3.0;
};
constexpr Throughput kThroughput;

// The time until the result is available.
struct Latency {
  double integer = 1;
  double floating = 3;
  double division = 13;
  double load = 5;
  double gather = 25;
  double function = 40;
};
constexpr Latency kLatency;

// Sizes and counts that decide whether an optimisation pays.
struct Thresholds {
  double turns = 16;  // assumed for an inner loop with an unknown number
  // The number of operations on a side of a branch up to which a select is used.
  std::size_t chosen_operations = 8;
  // Lanes whose elements are closer share cache lines. Strides of at least this size put each element on its own line,
  // in rows or not.
  std::uint64_t line = 64;
  // Loops of up to this many turns are unrolled, and their loads overlap.
  unsigned short_loop = 8;
  // The number of operations outside inner loops that one lane may have.
  unsigned operations_of_one_lane = 8;
  // In units of cost_of (width.cpp): bodies above this are vectorised with one vector per value, and above the next not
  // at all, because compiling them would take seconds, while the loop is interpreted.
  unsigned large_body = 600;
  unsigned too_large_body = 8000;
  // The number of instructions up to which compiling a body twice pays.
  unsigned second_body = 400;
  // Rows of fewer elements rarely contain all lanes.
  std::uint64_t shortest_row = 64;
};
constexpr Thresholds kThresholds;

}  // namespace dhpvm::codegen::spmd
