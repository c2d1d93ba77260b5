// SPDX-License-Identifier: Apache-2.0
// The records that client and worker exchange; a frame holds any
// number. docs/protocol.md describes their meaning and order;
// each structure here lists its fields in the order of the wire.
//
// Numbers are LEB128, so that small ones are short. Every received number is checked against a bound before anything is
// allocated. Objects (memories, queues, semaphores, kernels, requests) are named by numbers that the client chooses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codegen/kernel_abi.h"
#include "dhpvm/result.h"
#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload::wire {

using Id = std::uint64_t;
using Digest = std::array<std::byte, 32>;
using Token = std::array<std::byte, 16>;

// Upper bounds: senders obey them, and receivers check them.
inline constexpr std::size_t kMaxText = 1024;
inline constexpr std::size_t kMaxWaits = 256;
inline constexpr std::size_t kMaxScalars = 1024;
inline constexpr std::size_t kMaxArrays = 256;
inline constexpr std::size_t kMaxDevices = 64;
inline constexpr std::size_t kMaxModulePart = 12 << 10;
inline constexpr std::size_t kMaxElements = 12 << 10;  // bytes of arrays in one record
inline constexpr std::size_t kMaxSites = 1024;
inline constexpr std::size_t kMaxCalls = 64;
inline constexpr std::size_t kMaxProven = 1024;
inline constexpr std::size_t kMaxRecords = 4096;  // in a frame
inline constexpr std::size_t kMaxSteps = 256;     // of a batch
inline constexpr std::size_t kMaxKept = 32;       // batches that a worker keeps for a session

// Codes and messages, outermost first.
struct Failure {
  struct Level {
    std::uint64_t code = 0;
    std::string message;
  };
  std::vector<Level> levels;

  static Failure from(const Error& error);
  // Unknown codes become kDeviceFailed; control characters are dropped.
  Error to_error() const;
};

struct SemaphoreAt {
  Id semaphore = 0;
  std::uint64_t value = 0;
};

struct Span {
  Id memory = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// The part that all operations of queues share. Operations are numbered from 0, over all queues of a session.
struct Order {
  Id queue = 0;
  std::vector<SemaphoreAt> waits;
  std::vector<SemaphoreAt> signals;
};

struct ArrayAt {
  std::optional<Span> span;
  std::int64_t first = 0;
  codegen::ArrayShape shape;
};

struct Device {
  std::string name;
  std::string description;
  std::uint64_t memory_bytes = 0;
  std::uint64_t largest_allocation = 0;
  std::uint64_t compute_units = 0;
  bool is_gpu = false;
  bool is_simulated = false;
};

// A place where a kernel can trap: see codegen::KernelSite.
struct Site {
  std::uint64_t kind = 0;
  std::uint64_t trap = 0;
  struct Call {
    std::uint64_t function = 0;
    std::uint64_t pc = 0;
  };
  std::vector<Call> calls;
};

// ---- From the client ------------------------------------------------------------------------------------------------

// The first record of a session.
struct Hello {
  std::string name;     // of the program, for the worker's log
  std::string release;  // of DHPVM
};
// Asks for the worker's clock, so that both machines' times can be shown together.
struct Ping {
  std::uint64_t number = 0;
};
struct Allocate {
  Id request = 0;
  std::uint64_t device = 0;  // index into Welcome::devices
  Id memory = 0;
  std::uint64_t bytes = 0;
};
struct Free {
  Id memory = 0;
};
struct CreateQueue {
  Id request = 0;
  Id queue = 0;
  std::uint64_t device = 0;
  bool observed = false;  // the client wants Observed records
  std::string name;
};
struct DestroyQueue {
  Id queue = 0;
};
struct CreateSemaphore {
  Id semaphore = 0;
  std::uint64_t device = 0;
  std::uint64_t initial = 0;
};
struct DestroySemaphore {
  Id semaphore = 0;
};
struct Signal {
  Id semaphore = 0;
  std::uint64_t value = 0;
};
struct FailSemaphore {
  Id semaphore = 0;
  Failure failure;
};
// Answered by NeedModule if the worker does not have the module.
struct LoadKernel {
  Id request = 0;
  std::uint64_t device = 0;
  Id kernel = 0;
  Digest digest{};  // SHA-256 of the module's file
  std::uint64_t module_bytes = 0;
  std::uint64_t number = 0;  // of the kernel in the module
  // The accesses of its footprint whose checks are left out, ascending. They are proven again for every launch.
  std::vector<std::uint64_t> proven;
  std::string name;
};
// The module that the worker has asked for, in order and in parts.
struct ModulePart {
  Digest digest{};
  std::vector<std::byte> bytes;
};
struct UnloadKernel {
  Id kernel = 0;
};
// The data follows on the bulk lane.
struct Upload {
  Order order;
  Span to;
};
struct Download {
  Order order;
  Span from;
};
struct Copy {
  Order order;
  Span to;
  Span from;
};
struct Fill {
  Order order;
  Span to;
  std::uint64_t value = 0;
};
// The work of a launch, which follows the order.
struct Work {
  Id kernel = 0;
  std::vector<std::array<std::int64_t, 2>> space;  // low and high of each dimension
  std::vector<std::uint64_t> scalars;
  std::vector<ArrayAt> arrays;
  std::optional<Span> partials;
  std::optional<Span> report;
};
struct Launch : Work {
  Order order;
};
// When the queue gets there, the worker asks for a call, and goes on after HostCallDone.
struct HostCall {
  Order order;
};
struct HostCallDone {
  Id queue = 0;
};
// Cuts short the launches that are in the queue, if its device can do that; all of them are done then.
struct StopLaunches {
  Id queue = 0;
};
// An upload that contains its data. From version 4 on, as is Downloaded.
struct Write {
  Order order;
  Id memory = 0;
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
};

// From version 5 on: consecutive operations of one queue, of which the first waits and the last signals. Each is
// numbered and counted by itself: a launch, a download of at most kMaxElements bytes, or a write.
struct Elements {
  Id memory = 0;
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
};
using Step = std::variant<Work, Span, Elements>;
struct Batch {
  Order order;
  // The worker keeps the steps at this place, instead of those that it has there; nothing: it need not keep them.
  std::optional<std::uint64_t> place;
  std::vector<Step> steps;
};
// A batch that the worker has kept, with the changes given here. The worker keeps the result.
struct Replay {
  struct Scalar {
    std::uint64_t number = 0;  // of those of all launches together
    std::uint64_t value = 0;
  };
  Order order;
  std::uint64_t place = 0;
  std::vector<Scalar> scalars;
  std::vector<std::vector<std::byte>> elements;  // of all writes
};

// From version 6 on: a kernel whose launches all have small indices, as codegen::KernelRequest::has_small_indices says.
// The worker checks that for each launch.
struct LoadSmall : LoadKernel {};

using FromClient =
    std::variant<Hello, Ping, Allocate, Free, CreateQueue, DestroyQueue, CreateSemaphore, DestroySemaphore,
                 Signal, FailSemaphore, LoadKernel, ModulePart, UnloadKernel, Upload, Download, Copy, Fill,
                 Launch, HostCall, HostCallDone, StopLaunches, Write, Batch, Replay, LoadSmall>;

// ---- From the worker ------------------------------------------------------------------------------------------------

// The answer to Hello.
struct Welcome {
  std::string name;     // of the worker, for messages
  std::string release;  // of DHPVM
  Token token{};        // opens the bulk lane of this session
  std::vector<Device> devices;
  std::uint64_t max_operations = 0;  // submitted and not yet finished
  std::uint64_t memory_quota = 0;    // bytes, of all devices together
  std::uint64_t module_quota = 0;    // bytes of modules
};
// Both lanes are connected: operations may come.
struct Ready {};
struct Pong {
  std::uint64_t number = 0;
  std::uint64_t clock_ns = 0;  // the worker's, when the ping arrived
};
// The answer to Allocate, CreateQueue and LoadKernel.
struct Reply {
  Id request = 0;
  std::optional<Failure> failure;
  std::vector<Site> sites;  // LoadKernel: by KernelTrap::site
  // For LoadKernel: the times of its compilation, on the worker's clock.
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};
struct NeedModule {
  Digest digest{};
};
// `operations` further operations of the queue have been done, in order.
struct Progress {
  Id queue = 0;
  std::uint64_t operations = 0;
};
// The next operation of the queue has failed; those after it will fail as well.
struct QueueFailed {
  Id queue = 0;
  Failure failure;
};
struct CallHost {
  Id queue = 0;
};
// The times of an operation that has been done, on the device's clock.
struct Observed {
  std::uint64_t operation = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};
// The worker is about to end: the client should leave soon, or will be disconnected.
struct Draining {};
// The worker is full: Welcome follows when it is the session's turn. From version 3 on; sent again whenever the session
// moves up.
struct Queued {
  std::uint64_t place = 0;  // 1: the next
};
// All data of a Download of at most kMaxElements bytes, of which then nothing comes on the bulk lane.
struct Downloaded {
  std::uint64_t operation = 0;
  std::vector<std::byte> bytes;
};

using FromWorker = std::variant<Welcome, Ready, Pong, Reply, NeedModule, Progress, QueueFailed, CallHost,
                                Observed, Draining, Queued, Downloaded>;

// ---- Frames ---------------------------------------------------------------------------------------------------------

// Appends a record to a frame.
void write(std::vector<std::byte>& frame, const FromClient& record);
void write(std::vector<std::byte>& frame, const FromWorker& record);

// All records of a frame, or kProtocol with the reason. Allocates in proportion to the frame.
Result<std::vector<FromClient>> read_from_client(ConstBytes frame);
Result<std::vector<FromWorker>> read_from_worker(ConstBytes frame);

// The header of a run on the bulk lane. The first run of a lane comes from the side that has dialled it, is empty, and
// has the session's token as its header. All others have data of an operation, or a part of it: an Upload's from the
// client, a Download's from the worker.
struct RunHeader {
  std::uint64_t operation = 0;
  std::uint64_t offset = 0;  // of the run's data in the data of the operation
};
std::vector<std::byte> write_run_header(const RunHeader& header);
Result<RunHeader> read_run_header(ConstBytes header);

}  // namespace dhpvm::offload::wire
