// SPDX-License-Identifier: Apache-2.0
// Keeps untrusted kernels inside the memory of their launches.
//
// Verified bytecode accesses no element outside its arrays, but the launch states the sizes and places of the arrays.
// So each launch is checked against the kernel's footprint, which is derived here: every element that it can access
// must lie inside the memory that the launch names for the array.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "bytecode/module.h"
#include "codegen/codegen.h"
#include "offload/devices/device.h"
#include "offload/loops/execution_memo.h"
#include "offload/loops/footprint.h"

namespace dhpvm::offload {

// The guard of one kernel. Thread-safe.
class LaunchGuard {
 public:
  // The sizes that the kernel was compiled for.
  enum class Indices : std::uint8_t { kAny, kSmall };

  // `module` is verified. `proven` are the accesses, by index, whose checks the kernel leaves out: kInvalidArgument if
  // these cannot be proven at all.
  static Result<std::unique_ptr<LaunchGuard>> create(std::shared_ptr<const bytecode::Module> module,
                                                     std::uint32_t kernel, std::vector<std::uint32_t> proven,
                                                     Indices indices);

  const bytecode::Module& module() const { return *module_; }
  // For codegen::KernelRequest.
  std::set<codegen::CallPath> proven_paths() const;

  // kInvalidArgument, with the reason, for a launch that must not run. The device's queue checks that spans lie inside
  // their memories.
  Status check(const Launch& launch) const;

 private:
  struct Element {
    std::uint32_t bytes = 0;
    std::uint32_t alignment = 0;
    unsigned rank = 1;  // of the array
  };

  LaunchGuard(std::shared_ptr<const bytecode::Module> module, std::uint32_t kernel,
              std::vector<std::uint32_t> proven, Indices indices);
  // Elements [begin, end) of an array that a launch can access, provided that no unchecked access fails.
  struct Extent {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  Result<std::vector<Extent>> extents_of(const LoopChunk& chunk) const;
  Status check_shape(const ArrayArgument& array, std::size_t number) const;
  Status check_memory(const ArrayArgument& array, std::size_t number, std::int64_t begin,
                      std::int64_t end) const;

  const std::shared_ptr<const bytecode::Module> module_;
  const std::uint32_t kernel_;
  const std::vector<std::uint32_t> proven_;
  const Indices indices_;
  const Footprint footprint_;
  std::vector<Element> elements_;  // by array
  mutable std::mutex mutex_;
  mutable ExecutionMemo<std::vector<Extent>> extents_;  // by array
};

}  // namespace dhpvm::offload
