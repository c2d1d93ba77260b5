// SPDX-License-Identifier: Apache-2.0
// The interface of devices, which run kernels. docs/adding-a-device.md says how to add one.
//
// A device has memory, and queues that copy and launch. Every operation returns at once, waits for semaphores
// and signals semaphores; only Semaphore::wait and the destructors block. All of it is
// thread-safe, except that one queue is used by one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stop_token.h"
#include "dhpvm/result.h"
#include "offload/devices/kernel_image.h"
#include "offload/devices/semaphore.h"
#include "offload/loops/iteration_space.h"

namespace dhpvm::offload {

struct DeviceInfo {
  std::string name;         // what `--device=` accepts: "cuda:0"
  std::string description;  // for people: "NVIDIA H100 80GB HBM3"
  KernelFormat format = KernelFormat::kHostCode;
  codegen::DeviceTarget target;          // for kDeviceCode
  std::uint64_t memory_bytes = 0;        // for all allocations together; of the host if it shares that
  std::uint64_t largest_allocation = 0;  // of a single one
  std::uint32_t compute_units = 1;
  // Copies that overlap with kernels: 0 none, 1 one at a time, 2 one in each direction at a time.
  std::uint32_t copy_engines = 0;
  // Kernels work on imported host memory as it is, as fast as on any other: nothing need be copied.
  bool shares_host_memory = false;
  bool is_gpu = false;
  bool is_simulated = false;
  // Its kernels end when the token of Launch::stop is raised, and have ended when launch() returns. Those of a worker
  // end soon after it is raised, or the worker is given up.
  bool stops_kernels = false;
  // It may stop answering while the program goes on, as a device of another machine: results are copied back at once.
  bool may_be_lost = false;
  // It belongs to another machine, which has a power supply of its own.
  bool is_remote = false;
  // Queue::write() takes up to so many bytes; 0: the device has no use for it.
  std::uint64_t write_bytes = 0;
  // Queue::batch() takes as one what has so many bytes together, as batch_bytes_of() counts them; 0: no batches.
  std::uint64_t batch_bytes = 0;
};

// Counters since creation, and what is outstanding now.
struct DeviceStats {
  std::uint64_t bytes_allocated = 0;  // now
  std::uint64_t peak_bytes_allocated = 0;
  std::uint64_t imports = 0;  // registrations of host memory that exist now
  std::uint64_t imports_made = 0;
  std::uint64_t bytes_uploaded = 0;
  std::uint64_t bytes_downloaded = 0;
  std::uint64_t copies = 0;
  std::uint64_t launches = 0;
  // For devices that take batches: how many they were given, and how many of these were the same as one before, so that
  // little more than that was said. Both count all devices of a worker together.
  std::uint64_t batches = 0;
  std::uint64_t replays = 0;
};

// Memory that the device can use. The last reference frees it; operations in flight hold references of their own.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual std::size_t size() const = 0;
  // Where the host sees it, if it does: imported host memory, and allocations of devices that share the host's.
  virtual std::byte* host() const = 0;
};

struct MemorySpan {
  std::shared_ptr<DeviceMemory> memory;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// The way in which host memory is made known to a device.
enum class HostMemory : std::uint8_t {
  kPinned,  // registered: page-locked where the device wants that, and copied by its engines. Costs some 0.3 s per GiB
  kPageable,  // only its address is noted: copies may be staged by the driver, and may block the submitting thread
};

// A kernel in the device's own form.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // For kBytecode: where the kernel can trap, as the device that compiled it says. Null: as the image says.
  virtual const std::vector<codegen::KernelSite>* sites() const { return nullptr; }
  // For kBytecode: when the device compiled it, by the device's clock.
  struct Compilation {
    std::chrono::nanoseconds begin{0};
    std::chrono::nanoseconds end{0};
  };
  virtual std::optional<Compilation> compilation() const { return std::nullopt; }
  // Chunks of this space are quickest with a multiple of so many indices of the outermost dimension.
  virtual std::uint64_t row_unit(const IterationSpace& /*space*/) const { return 1; }
};

// Where a kernel that was loaded from `image` can trap, by KernelTrap::site.
inline const std::vector<codegen::KernelSite>& sites_of(const Kernel& kernel, const KernelImage& image) {
  return kernel.sites() == nullptr ? image.sites : *kernel.sites();
}

// A captured array as one launch finds it on the device.
struct ArrayArgument {
  MemorySpan memory;
  // Where element 0 of the array is, in bytes from the start of the span: negative when the span holds a part of the
  // array that begins behind it. The kernel touches nothing outside the span.
  std::int64_t first = 0;
  codegen::ArrayShape shape;
};

// Ends kernels early. `token` must stay until they have ended.
struct KernelStop {
  explicit KernelStop(StopToken& its_token) : token(its_token) {}
  bool is_wanted() const { return token.reasons() != 0 || is_abandoned; }
  StopToken& token;
  std::atomic<bool> is_abandoned{false};  // the results are no longer needed
  std::atomic<bool> has_stopped{false};   // a kernel was cut short: some of its iterations are missing
};

// One chunk of a loop. launch() copies the contents of the spans before it returns.
struct Launch {
  std::shared_ptr<Kernel> kernel;
  IterationSpace space;  // not empty; with reductions cut as KernelChunk wants it
  std::span<const std::uint64_t> scalars;
  std::span<const ArrayArgument> arrays;
  // With reductions: one register per reduction and block of the chunk.
  MemorySpan partials;
  // A codegen::KernelReport, if the kernel has sites. Not reset by the launch.
  MemorySpan report;
  // For devices with DeviceInfo::stops_kernels and those of workers; null: the kernel runs to its end. A launch that is
  // cut short is done.
  std::shared_ptr<KernelStop> stop = nullptr;
};

// A finished operation: its kind, size and time, for traces and the cost model. Times are on the device's clock.
struct OperationRecord {
  enum class Kind : std::uint8_t { kUpload, kDownload, kDeviceCopy, kFill, kLaunch, kHostCall };
  Kind kind = Kind::kLaunch;
  std::uint64_t label = 0;  // as given with the operation
  std::uint64_t bytes = 0;  // copied or filled
  std::uint64_t iterations = 0;
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};

struct QueueOptions {
  std::string name;  // in traces and messages: "upload"
  // Called for every operation some time after it is done, from any thread, at the latest when the queue is destroyed.
  // Null: the device measures nothing.
  std::function<void(const OperationRecord&)> observer;
};

struct Operation;

// Operations of one queue are done in the order in which they were submitted. An operation that fails, fails the
// semaphores that it and all later operations of the queue should signal; a failed wait does so too. The Status that
// is returned tells whether the operation was submitted.
class Queue {
 public:
  // Waits until all operations are done.
  virtual ~Queue() = default;

  // Copies between any two memories of the device, of equal size; their owners determine the direction.
  virtual Status copy(const MemorySpan& to, const MemorySpan& from, const Order& order,
                      std::uint64_t label = 0) = 0;
  virtual Status fill(const MemorySpan& to, std::byte value, const Order& order, std::uint64_t label = 0) = 0;
  virtual Status launch(const Launch& launch, const Order& order, std::uint64_t label = 0) = 0;
  // Like an upload of these bytes, which are read before it returns: they travel with the operation.
  virtual Status write(const MemorySpan& to, std::span<const std::byte> bytes, const Order& order,
                       std::uint64_t label = 0) = 0;
  // Calls `function` on a thread of the device; it must be quick and use no queue.
  virtual Status host_call(std::function<void()> function, const Order& order, std::uint64_t label = 0) = 0;
  // The same as these operations (operation.h) one after the other, of which the first waits and the last one signals:
  // their kinds, labels and operands are given, waits and signals are not. Where a device takes them as one, they cost
  // little more than one.
  virtual Status batch(std::vector<Operation> steps, const Order& order) = 0;
  // Sees to it that everything submitted begins without further calls.
  virtual Status flush() = 0;
};

class Device {
 public:
  // Nothing made by the device may be left.
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  // The memory is not initialised. kDeviceExhausted when the device has too little left.
  virtual Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) = 0;
  // Makes host memory known, which must stay where it is as long as the result lives. Fails when memory
  // cannot be pinned; it can be imported as pageable then.
  virtual Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) = 0;
  // kUnsupported when the image is not of the device's format, kCompile with the driver's log when it is refused.
  virtual Result<std::shared_ptr<Kernel>> load(const KernelImage& image) = 0;
  virtual Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) = 0;
  virtual Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial) = 0;
  virtual DeviceStats stats() const = 0;
  // Time as the device counts it, from an epoch of its own: a steady clock, or the clock of a simulation.
  virtual std::chrono::nanoseconds now() const = 0;
  // The reason not to use it any more, although operations in flight may still finish: its machine is gone,
  // or about to be. Opening its name again gives another device, when it is back.
  virtual std::optional<Error> gone() const { return std::nullopt; }
};

}  // namespace dhpvm::offload
