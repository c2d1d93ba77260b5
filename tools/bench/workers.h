// SPDX-License-Identifier: Apache-2.0
// The measurements of `dhpvm-bench remote`: loops of programs on the devices of workers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/model.h"
#include "dhpvm/dhpvm.h"

namespace dhpvm::tools {

struct RemotePlan {
  std::vector<std::string> devices;  // of workers
  std::uint64_t runs = 7;
  std::uint64_t bytes = 64 << 20;                     // of all arrays of a loop
  std::vector<std::array<std::int64_t, 3>> products;  // rows, columns and inner dimension
  std::function<void(const std::string&)> progress;
};

// Loops that do nothing, in seconds: with a wait after each, and with one wait after a hundred.
struct LoopCosts {
  std::string device;
  double single = 0;
  double batched = 0;  // for each loop
};
Result<LoopCosts> measure_loops(const Engine& engine, const RemotePlan& plan, const std::string& device);

// A loop whose data and computation take equally long. `ideal` follows from the times of the stages, measured one after
// the other, and the number of chunks.
struct Overlap {
  std::string device;
  std::uint64_t bytes = 0;
  std::int64_t operations = 0;  // for each element, so that it takes as long as the data
  Stages stages;
  double serial_seconds = 0;
  double seconds = 0;
  std::uint64_t chunks = 0;
  double ideal = 0;
  std::string difference;
  double efficiency() const { return ideal / seconds; }
};
Result<Overlap> measure_overlap(const Engine& engine, const RemotePlan& plan, const std::string& device);

// A loop that mostly moves data, on each device alone and on all at once.
struct Several {
  std::uint64_t bytes = 0;
  std::vector<double> alone;  // seconds, by device
  double together = 0;
  std::string difference;
  // Relative to the quickest device alone.
  double gain() const;
};
Result<Several> measure_several(const Engine& engine, const RemotePlan& plan);

// A product of matrices, by one executor. In seconds; with overlapping chunks, the parts add up to more than the whole.
struct Product {
  std::string executor;
  std::array<std::int64_t, 3> shape{};
  double compute = 0;
  double movement = 0;
  double total = 0;
  bool verified = true;
};
// With the interpreter, with native code on one core and on all, and on every device. All results must have the same
// bits.
Result<std::vector<Product>> measure_products(const Engine& engine, const RemotePlan& plan,
                                              const std::array<std::int64_t, 3>& shape);

}  // namespace dhpvm::tools
