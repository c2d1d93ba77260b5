// SPDX-License-Identifier: Apache-2.0
// The cost model of processors for kernels: costs, and thresholds that were found by measurement, in one table.
// A constant that belongs here names the measurement that it comes from; decisions 10, 12 and 51 have more of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dhpvm::codegen::spmd {

// All that the estimate knows of processors, in cycles, as measured on an AMD EPYC with vectors of 512 bits, which it
// works off as two halves, and what differs on one of 2021 with vectors of 256 bits. Throughput is the time where
// nothing waits for anything. The operations and accesses of one lane are those of unrolled loops
// (host/unroll_loops.h): looking up an element at a checked index takes 1.1 cycles there, and 1.8 by a gather of 256
// bits.
struct Throughput {
  double scalar = 0.25;      // an operation on one number
  double half_vector = 0.5;  // the same on each 256 bits
  double shuffle = 2.0;      // of elements of several vectors, for each 512 bits
  double shuffle_in_256 = 8.0;
  double access_to_one = 0.35;
  double access = 0.5;         // of neighbouring elements, for each 512 bits
  double masked_access = 1.0;  // the same where some are left out
  double masked_store_in_256 =
      12.0;               // for each 256 bits: AMD's processors without AVX-512 do it element by element
  double gather32 = 1.5;  // for each element
  double gather64 = 2.0;
  // For each element, of any size: not measured, but what the instructions come to that decision 61 leaves.
  double gather_in_256 = 1.2;
  double masked_gather_in_256 = 2.0;  // where masks are vectors of 256 bits as well
  double scatter = 2.3;
  double lane_by_lane = 4.0;         // an element, with vectors of 128 bits
  double wide_product_in_256 = 3.0;  // of integers of 64 bits, for each 256 bits
  double division = 4.0;             // of one floating-point number, or a root
  double vector_division = 1.0;      // for each 64 bits
  double integer_division = 8.0;
  double integer_division_in_lane = 5.0;
  double integer_division_by_constant = 1.5;  // of an integer, in a lane or not
  double function = 40.0;                     // a mathematical function of one number
  double function_in_vector = 2.5;            // for each 64 bits
  double parting = 2.0;  // a branch that iterations take differently: some are foretold wrongly
  // The same where what is read decides about more than a few operations: the processor learns late that it was wrong.
  double parting_on_data = 8.0;
  // The extra cost of each element where every lane goes along a row of its own: a stream for each lane is more than
  // the hardware prefetches.
  double row_of_lane = 3.0;
};
constexpr Throughput kThroughput;

// And until the result is there.
struct Latency {
  double integer = 1;
  double floating = 3;
  double division = 13;
  double load = 5;
  double gather = 25;
  double function = 40;
};
constexpr Latency kLatency;

// Sizes and counts from which on something pays.
struct Thresholds {
  double turns = 16;  // of an inner loop, of which the number is not known
  // Operations on a side of a branch up to which the processor does both sides and chooses.
  std::size_t chosen_operations = 8;
  // Lanes whose elements are closer share cache lines, so that what one of them fetches serves the others. And steps
  // that are as long make each element a line of its own, in rows or not.
  std::uint64_t line = 64;
  // Loops of up to so many turns are unrolled, and their elements are fetched together.
  unsigned short_loop = 8;
  // So many operations outside of inner loops may come with one lane alone.
  unsigned operations_of_one_lane = 8;
  // In units of cost_of (width.cpp): bodies that are done one vector at a time, and those that are not vectorised at
  // all, because compiling them would take seconds, in which the loop is interpreted.
  unsigned large_body = 600;
  unsigned too_large_body = 8000;
  // Instructions up to which a body is worth compiling a second time.
  unsigned second_body = 400;
  // Lanes are seldom in one row of fewer elements.
  std::uint64_t shortest_row = 64;
};
constexpr Thresholds kThresholds;

}  // namespace dhpvm::codegen::spmd
