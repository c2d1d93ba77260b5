// SPDX-License-Identifier: Apache-2.0
// The kernels of a program's parallel loops, compiled and loaded on one device.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/codegen.h"
#include "offload/loops/range.h"
#include "offload/schedule/pipeline/pipeline_device.h"
#include "vm/compile_service.h"
#include "vm/linker.h"

namespace dhpvm::vm {

// A kernel, as an execution of its loop needs it.
struct KernelWish {
  const LinkedKernel* kernel = nullptr;
  std::uint32_t number = 0;  // of the kernel in the module
  // Accesses of the footprint that cannot fail in this execution, and extents of captured arrays that the kernel is
  // compiled for. They live as long as the loop's code.
  std::span<const std::uint32_t> proven_accesses;
  std::span<const codegen::KnownDimension> dimensions;
  std::uint32_t variant = 0;       // differs between kernels with other proven accesses
  bool has_small_indices = false;  // as in codegen::KernelRequest
  std::string_view position;       // of the loop in the source, for messages
  const offload::Footprint* footprint = nullptr;
};

struct LoadedKernel {
  std::shared_ptr<offload::Kernel> kernel;
  std::vector<codegen::KernelSite> sites;
  std::vector<std::uint32_t> accesses;  // of the footprint, by site: kNothing where another instruction traps
  std::string failure;                  // why there is no kernel

  // Whether no site is reached in this execution, whose arrays in `chunk` can be read by the host.
  bool cannot_trap(const offload::Footprint& footprint, const offload::LoopChunk& chunk) const;
};

class DeviceKernels {
 public:
  // `owner` is the device of `device`. `poll` is asked while the caller waits for a compilation.
  DeviceKernels(std::shared_ptr<const LinkedModule> linked, CompileService& service,
                std::shared_ptr<offload::Device> owner, offload::PipelineDevice& device,
                std::function<Status()> poll)
      : linked_(std::move(linked)),
        service_(service),
        owner_(std::move(owner)),
        device_(device),
        poll_(std::move(poll)) {}

  // The kernel, compiled and loaded at the first call; its address does not change. A failure is kept as well: for ever
  // if the kernel is the cause, otherwise until it is time to try again. Fails with the error of `poll`: then the
  // compilation goes on, and the next call takes its result.
  Result<const LoadedKernel*> load(const KernelWish& wish);
  // Whether the kernel may trap; true for a kernel that is not loaded yet.
  bool may_trap(const KernelWish& wish) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Loading;
  struct Entry {
    LoadedKernel kernel;
    std::shared_ptr<Loading> loading;           // null: no compilation is under way
    BackgroundCalls::Handle call;               // of the compilation
    std::optional<Clock::time_point> retry_at;  // after a failure that may pass
    std::chrono::milliseconds patience{0};      // from the last failure to the next attempt
  };

  using Key = std::tuple<std::uint32_t, std::uint32_t, bool>;
  static Key key_of(const KernelWish& wish) { return {wish.number, wish.variant, wish.has_small_indices}; }
  void begin(Entry& entry, const KernelWish& wish);
  Result<LoadedKernel> finish(Loading& loading, const KernelWish& wish);
  std::vector<std::uint32_t> accesses_of(std::span<const codegen::KernelSite> sites,
                                         const KernelWish& wish) const;
  Status translate(std::vector<codegen::KernelSite>& sites, std::span<const std::uint32_t> functions) const;

  const std::shared_ptr<const LinkedModule> linked_;
  CompileService& service_;
  const std::shared_ptr<offload::Device> owner_;
  offload::PipelineDevice& device_;
  const std::function<Status()> poll_;
  std::map<Key, Entry> kernels_;
};

}  // namespace dhpvm::vm
