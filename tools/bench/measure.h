// SPDX-License-Identifier: Apache-2.0
// Runs the program of a kernel on a device, in one mode, and reports where its time goes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/kernels.h"
#include "bench/model.h"
#include "dhpvm/dhpvm.h"

namespace dhpvm::tools {

enum class Mode : std::uint8_t { kSerialPageable, kSerialPinned, kPipelined, kAutomatic };
std::string_view name_of(Mode mode);

// An operation of a device, in seconds since the run began.
struct Interval {
  DeviceOperation::Kind kind;
  double begin;
  double end;
};

// One execution of the loops of a program.
struct Run {
  double seconds = 0;       // on the device's clock
  double wall_seconds = 0;  // on the host's clock, also for a simulated device
  Stages stages;
  std::uint64_t upload_bytes = 0;
  std::uint64_t download_bytes = 0;
  std::uint64_t operations = 0;  // of all kinds
  std::uint64_t loops = 0;       // that ran on the device
  std::uint64_t chunks = 0;      // over all loops
  std::uint64_t registrations = 0;
  std::vector<Interval> timeline;

  std::uint64_t chunks_per_loop() const { return loops == 0 ? 0 : (chunks + loops - 1) / loops; }
};

struct Measurement {
  Mode mode = Mode::kAutomatic;
  std::uint64_t chunks_wanted = 0;  // with kPipelined
  Run run;                          // the run with the median time
  std::vector<double> seconds;      // of all runs
  DeviceUse device;
  std::string difference;  // between these results and the host's; empty if there is none

  double efficiency() const {
    return ideal_seconds(run.stages, run.chunks_per_loop(), device.copy_engines) / run.seconds;
  }
};

// The results of a program, taken from its arrays.
struct Output {
  std::string type;
  std::vector<std::byte> bytes;
};

struct Settings {
  std::string device;  // "host": for reference() alone
  std::uint64_t budget = Limits::kUnlimitedBytes;
  std::uint64_t runs = 1;
  std::uint64_t warm_up = 1;            // for fixed numbers of chunks
  std::uint64_t automatic_warm_up = 3;  // for the size that is chosen by measurements
  std::string folder;                   // for files
};

// The module of a program that is part of the tool.
Result<Module> compile_program(const Engine& engine, std::string_view name);

// One kernel with arrays of one size.
class Workload {
 public:
  static Result<Workload> create(const Engine& engine, const Kernel& kernel, std::uint64_t bytes,
                                 const Settings& settings);

  // Runs it on the host's cores, for the results that all others are compared with. Call it before measure().
  Status run_on_host();
  double host_seconds() const { return host_seconds_; }

  Result<Measurement> measure(Mode mode, std::uint64_t chunks) const;
  // Measures a fixed number of chunks and the automatic choice, run by run in turns, so that other work of the machine
  // affects both alike.
  Result<std::pair<Measurement, Measurement>> measure_in_turns(std::uint64_t chunks) const;

 private:
  class Session;

  Workload(Module module, const Kernel& kernel, std::uint64_t bytes, const Settings& settings)
      : module_(std::move(module)), kernel_(&kernel), bytes_(bytes), settings_(&settings) {}
  Result<Object> prepare(const Isolate& isolate) const;
  std::string device_name() const;

  Module module_;
  const Kernel* kernel_;
  std::uint64_t bytes_;
  const Settings* settings_;
  std::uint64_t iterations_ = 0;
  double host_seconds_ = 0;
  std::vector<Output> expected_;
};

}  // namespace dhpvm::tools
