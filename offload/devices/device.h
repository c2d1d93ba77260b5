// SPDX-License-Identifier: Apache-2.0
// The interface of devices, which run kernels. docs/adding-a-device.md describes how to add one.
//
// A device has memory, and queues that copy and launch. Submitting an operation returns at once; the operation itself
// waits for semaphores and signals semaphores. Only Semaphore::wait and destructors block. Everything is thread-safe,
// except that a queue is used by one thread at a time.
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
  std::uint64_t memory_bytes = 0;        // for all allocations together; host memory if the device shares it
  std::uint64_t largest_allocation = 0;  // bytes of a single allocation
  std::uint32_t compute_units = 1;
  // How many copies can overlap with kernels: 0, 1 (either direction), or 2 (one in each direction).
  std::uint32_t copy_engines = 0;
  // Kernels use imported host memory in place, as fast as any other memory, so that nothing has to be copied.
  bool shares_host_memory = false;
  bool is_gpu = false;
  bool is_simulated = false;
  // Kernels end when the token of Launch::stop is raised, and have ended when launch() returns. Kernels of a worker end
  // soon after the token is raised, or the worker is given up.
  bool stops_kernels = false;
  // The device may be lost while the program goes on, for example because its machine is: results are copied back at
  // once.
  bool may_be_lost = false;
  // The device belongs to another machine, which has a power supply of its own.
  bool is_remote = false;
  // The most bytes that Queue::write() takes; 0: the device has no use for it.
  std::uint64_t write_bytes = 0;
  // The most bytes, as batch_bytes_of() counts them, that Queue::batch() takes as one; 0: no batches.
  std::uint64_t batch_bytes = 0;
};

// Counters since the device was created, and current amounts.
struct DeviceStats {
  std::uint64_t bytes_allocated = 0;  // now
  std::uint64_t peak_bytes_allocated = 0;
  std::uint64_t imports = 0;  // registrations of host memory that exist now
  std::uint64_t imports_made = 0;
  std::uint64_t bytes_uploaded = 0;
  std::uint64_t bytes_downloaded = 0;
  std::uint64_t copies = 0;
  std::uint64_t launches = 0;
  // For devices that take batches: the number of batches, and how many of them repeated an earlier one, so that only
  // changes were sent. Both count all devices of a worker together.
  std::uint64_t batches = 0;
  std::uint64_t replays = 0;
};

// Memory that the device can use. The last reference frees it; operations in flight hold references of their own.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual std::size_t size() const = 0;
  // The address at which the host sees it: of imported host memory, and of allocations of devices that share host
  // memory. Otherwise null.
  virtual std::byte* host() const = 0;
};

struct MemorySpan {
  std::shared_ptr<DeviceMemory> memory;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// How host memory is made known to a device.
enum class HostMemory : std::uint8_t {
  kPinned,  // registered: page-locked if the device needs that, and copied by its engines. Takes some 0.3 s per GiB
  kPageable,  // only its address is noted: the driver may stage copies, and they may block the submitting thread
};

// A kernel in the device's own form.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // For kBytecode: where the kernel can trap, according to the device that compiled it. Null: see KernelImage::sites.
  virtual const std::vector<codegen::KernelSite>* sites() const { return nullptr; }
  // For kBytecode: when the device compiled it, by the device's clock.
  struct Compilation {
    std::chrono::nanoseconds begin{0};
    std::chrono::nanoseconds end{0};
  };
  virtual std::optional<Compilation> compilation() const { return std::nullopt; }
  // Chunks of this space run fastest if their extent in the outermost dimension is a multiple of this.
  virtual std::uint64_t row_unit(const IterationSpace& /*space*/) const { return 1; }
};

// Where a kernel that was loaded from `image` can trap, by KernelTrap::site.
inline const std::vector<codegen::KernelSite>& sites_of(const Kernel& kernel, const KernelImage& image) {
  return kernel.sites() == nullptr ? image.sites : *kernel.sites();
}

// A captured array on the device, for one launch.
struct ArrayArgument {
  MemorySpan memory;
  // The offset in bytes of element 0 of the array from the start of the span: negative if the span holds a part of the
  // array that begins after element 0. The kernel accesses nothing outside the span.
  std::int64_t first = 0;
  codegen::ArrayShape shape;
};

// Ends kernels early. `token` must stay valid until they have ended.
struct KernelStop {
  explicit KernelStop(StopToken& its_token) : token(its_token) {}
  bool is_wanted() const { return token.reasons() != 0 || is_abandoned; }
  StopToken& token;
  std::atomic<bool> is_abandoned{false};  // the results are no longer needed
  std::atomic<bool> has_stopped{false};   // a kernel was cut short: some of its iterations are missing
};

// One chunk of a loop. Queue::launch() copies the contents of the spans before it returns.
struct Launch {
  std::shared_ptr<Kernel> kernel;
  IterationSpace space;  // not empty; with reductions, cut as KernelChunk requires
  std::span<const std::uint64_t> scalars;
  std::span<const ArrayArgument> arrays;
  // With reductions: one register for each reduction and block of the chunk.
  MemorySpan partials;
  // A codegen::KernelReport, if the kernel has sites. The launch does not reset it.
  MemorySpan report;
  // For devices with DeviceInfo::stops_kernels and for devices of workers; null: the kernel runs to its end. A launch
  // that was cut short counts as done.
  std::shared_ptr<KernelStop> stop = nullptr;
};

// The kind, size and times of a finished operation, for traces and the cost model. Times are by the device's clock.
struct OperationRecord {
  enum class Kind : std::uint8_t { kUpload, kDownload, kDeviceCopy, kFill, kLaunch, kHostCall };
  Kind kind = Kind::kLaunch;
  std::uint64_t label = 0;  // given with the operation
  std::uint64_t bytes = 0;  // copied or filled
  std::uint64_t iterations = 0;
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};

struct QueueOptions {
  std::string name;  // in traces and messages: "upload"
  // Called for every operation after it is done, from any thread, and at the latest when the queue is destroyed. If it
  // is null, the device measures nothing.
  std::function<void(const OperationRecord&)> observer;
};

struct Operation;

// The operations of a queue are done in the order in which they were submitted. If an operation, or its wait for a
// semaphore, fails, then the semaphores that it and all later operations of the queue should signal fail, too. The
// returned Status tells whether the operation was submitted.
class Queue {
 public:
  // Waits until all operations are done.
  virtual ~Queue() = default;

  // Copies between two spans of equal size in any memories of the device; their owners determine the direction.
  virtual Status copy(const MemorySpan& to, const MemorySpan& from, const Order& order,
                      std::uint64_t label = 0) = 0;
  virtual Status fill(const MemorySpan& to, std::byte value, const Order& order, std::uint64_t label = 0) = 0;
  virtual Status launch(const Launch& launch, const Order& order, std::uint64_t label = 0) = 0;
  // Uploads these bytes, which travel with the operation: they are read before write() returns.
  virtual Status write(const MemorySpan& to, std::span<const std::byte> bytes, const Order& order,
                       std::uint64_t label = 0) = 0;
  // Calls `function` on a thread of the device. The function must be quick and use no queue.
  virtual Status host_call(std::function<void()> function, const Order& order, std::uint64_t label = 0) = 0;
  // Does these operations (operation.h) one after the other; the first one waits, and the last one signals, as `order`
  // says. The caller gives their kinds, labels and operands, but no waits and signals. If the device takes them as one
  // operation, they cost little more than one.
  virtual Status batch(std::vector<Operation> steps, const Order& order) = 0;
  // Makes sure that all submitted operations begin without further calls.
  virtual Status flush() = 0;
};

class Device {
 public:
  // All memories, kernels, queues and semaphores of the device must be gone.
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  // The memory is not initialised. kDeviceExhausted if the device has too little memory left.
  virtual Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) = 0;
  // Makes host memory known to the device. The memory must stay valid as long as the result lives. Fails if it cannot
  // be pinned; it can be imported as pageable then.
  virtual Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) = 0;
  // kUnsupported if the image is not in the device's format, kCompile with the driver's log if the driver refuses it.
  virtual Result<std::shared_ptr<Kernel>> load(const KernelImage& image) = 0;
  virtual Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) = 0;
  virtual Result<std::shared_ptr<Semaphore>> create_semaphore(std::uint64_t initial) = 0;
  virtual DeviceStats stats() const = 0;
  // The time by the device's clock, from an epoch of its own: a steady clock, or the virtual clock of a simulation.
  virtual std::chrono::nanoseconds now() const = 0;
  // The reason not to use the device any more: its machine is lost, or is about to be. Operations in flight may still
  // finish. When it is back, opening its name gives a new device.
  virtual std::optional<Error> gone() const { return std::nullopt; }
};

}  // namespace dhpvm::offload
