// SPDX-License-Identifier: Apache-2.0
// A running program: one linked module with its heap, register stacks, limits and interpreter. Start here.
//
// An isolate is used by one thread at a time (interrupt() excepted) and shares nothing mutable
// with other isolates.
//
// Objects never move, but live only as long as something refers to them: registers of active calls, argument
// windows of native calls, Invocation windows, gc::Root handles, other live objects. Functions below that say
// "may collect" free everything else.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/stop_token.h"
#include "dhpvm/result.h"
#include "gc/heap.h"
#include "gc/object.h"
#include "vm/limits.h"
#include "vm/linker.h"

namespace dhpvm::offload {
class Buffer;
class BufferPool;
}  // namespace dhpvm::offload

namespace dhpvm::vm {

struct Context;
class DeadRegisters;
class Invocation;  // vm/invocation.h
class Loan;
class LoopTier;
class Tier;

class Isolate final : private gc::RootProvider {
 public:
  // kOutOfMemory when the system grants no address space for heap and stacks.
  static Result<std::unique_ptr<Isolate>> create(std::shared_ptr<const LinkedModule> linked,
                                                 const IsolateOptions& options = {});
  // Runs all cleaners. No call may be active.
  ~Isolate();
  Isolate(const Isolate&) = delete;
  Isolate& operator=(const Isolate&) = delete;

  const LinkedModule& linked() const { return *linked_; }
  const bytecode::Module& module() const { return linked_->module(); }
  gc::Heap& heap() { return *heap_; }
  const IsolateOptions& options() const { return options_; }
  IsolateStats stats() const;

  // The index of the exported function `name`, for call() and Invocation.
  std::optional<std::uint32_t> find_export(std::string_view name) const { return linked_->find_export(name); }

  // ---- Calling into the program. Also from native functions: traps of the inner call are returned to the
  // ---- native, and become traps of the outer program if it returns them.

  // Calls function `function` with primitives `p` and references `r`, laid out as NativeCall says and as
  // many as its signature has; results replace them from the front (so both spans must have room for them
  // as well). The references are rooted by the isolate during the call, not after it. kInvalidArgument
  // for spans of the wrong size. For many calls of one function, or results that must survive an
  // allocation, use Invocation.
  Status call(std::uint32_t function, std::span<std::uint64_t> p, std::span<gc::Ref> r);

  // Makes the running program trap with kInterrupted soon, wherever it is: on the host's cores, waiting for devices or
  // for input. If none runs, the next one started. May be called from any thread and from a signal handler.
  void interrupt() { stop_.raise(StopToken::kInterrupt); }

  // For native functions that wait: kInterrupted or kDeadline if the running program has to stop now. The answer stays
  // the same until the outermost call has returned. Also for threads and devices that work for the isolate.
  Status poll() const;
  // For devices that work for the isolate.
  StopToken& stop_token() { return stop_; }

  // For native functions that wait, a few times a second: gives memory back that an idle program does not need. May
  // collect.
  void rest(gc::IdleWatch::Wait wait);

  // Each line of the module's functions that has code, in their order, with how often it was run; a line is listed once
  // for each function that has code of it. Empty unless options().count_lines is set, or without a line table.
  std::vector<LineCount> line_counts() const;

  // The time of calls by stack; empty unless options().profiled_code is set.
  std::vector<ProfileStack> profile() const;

  // How each parallel loop has run, and why; empty if everything is interpreted.
  std::string explain_loops() const;
  // The devices on which loops have run.
  std::vector<DeviceUse> devices() const;
  // Null if everything is interpreted.
  LoopTier* loops() { return loops_.get(); }

  std::uint64_t fuel_left() const;
  // Replaces the fuel that is left. Native functions may call it, too.
  void set_fuel(std::uint64_t fuel);
  // The limit for outermost calls that start from now on; see Limits::deadline.
  void set_deadline(std::chrono::nanoseconds deadline) { options_.limits.deadline = deadline; }

  // Removes the caught trap of this number, and those with higher numbers, and returns it: for the native function that
  // makes a value of it. Nothing if there is no such trap.
  std::optional<Error> take_caught(std::int64_t number);

  // ---- Making objects. All may collect; all fail with the trap that the program would get (kOutOfMemory,
  // ---- kOffHeapExhausted, kNegativeLength).

  // Copies `text`, which should be UTF-8 (not checked).
  Result<gc::String*> new_string(std::string_view text);
  // A string whose `size` bytes the caller fills in before anything else happens.
  Result<gc::String*> new_string_of(std::size_t size);
  // A zeroed array of array type `type` (see LinkedModule::find_array_type) with as many sizes as its rank.
  Result<gc::Array*> new_array(gc::TypeId type, std::span<const std::int64_t> sizes);
  Result<gc::Array*> new_array(gc::TypeId type, std::int64_t length) { return new_array(type, {&length, 1}); }
  // A resource that owns `pointer`: `cleaner` runs after its death unless the native that closes it sets the
  // pointer to null first. On failure the cleaner has not run.
  Result<gc::Resource*> new_resource(void* pointer, gc::Cleaner cleaner, void* context);
  // An instance of class `type`, zeroed.
  Result<gc::Object*> new_object(gc::TypeId type);

  // Lends `data` (row-major, as many elements as the product of `sizes`) to the program as an array
  // without copying it. The memory must stay valid until the Loan ends. Stores trap unless `writable`.
  // After the Loan every access by the program traps with kBorrowEnded. Only arrays of primitives or of
  // structs of primitives.
  Result<Loan> lend_array(gc::TypeId type, void* data, std::span<const std::int64_t> sizes, bool writable);

  // The number of elements of `array` in dimension `dimension` (0 is the outermost).
  std::int64_t dimension(const gc::Array& array, unsigned dimension) const;
  // Makes all elements of `array` readable (or writable) for the host, for an access to
  // element `index`: fetches them from devices, and waits for loops in flight that use
  // them. Otherwise the trap of such an access in the program, or the device's error.
  // Never collects. Ok at once if array.readable (array.writable) is above the index.
  Status make_accessible(gc::Array& array, std::int64_t index, bool write);
  // The same for all elements: natives call it before they touch array.data.
  Status make_accessible(gc::Array& array, bool write) {
    return array.length == 0 ? Status() : make_accessible(array, array.length - 1, write);
  }
  // A device begins to work on the elements of `array`. From now on the host has to call make_accessible() before it
  // writes them or, unless `host_reads`, before any access.
  static void withhold(gc::Array& array, bool host_reads);
  // Moves the elements from the heap to a buffer, whose copies on devices are tracked, if there is memory for one. The
  // array must be open.
  void move_off_heap(gc::Array& array);
  // Releases the elements now; later accesses trap with kClosed. Closing twice is allowed.
  void close_array(gc::Array* array);

  // The trap for a failed allocation, with the heap's census.
  Error out_of_memory(std::string_view what) const;

  // A pointer of the embedding layer, for its own state in
  // native functions. The isolate never touches it.
  void* host_data() const { return host_data_; }
  void set_host_data(void* data) { host_data_ = data; }

 private:
  friend class Invocation;
  friend class Loan;

  explicit Isolate(std::shared_ptr<const LinkedModule> linked, const IsolateOptions& options);
  Status start();
  bool may_run_loops_in_place() const;
  Result<gc::Array*> new_off_heap_array(gc::TypeId type, std::int64_t length, std::uint64_t bytes);
  void give_buffer(gc::Array& array, offload::Buffer& buffer);
  Result<offload::Buffer*> new_buffer(std::uint64_t bytes);
  Error out_of_system_memory(ErrorCode code, std::string_view what) const;
  void release_buffer(gc::Array* array);
  Status fetch(gc::Array& array, bool write);
  void visit_roots(gc::RootVisitor& visitor) override;
  void drop_dead_roots() override;

  std::shared_ptr<const LinkedModule> linked_;
  IsolateOptions options_;
  StopToken stop_;                    // before everything that works for the isolate
  std::unique_ptr<Context> context_;  // before the heap: its roots are visited until the heap is gone
  std::unique_ptr<DeadRegisters> dead_registers_;
  std::unique_ptr<offload::BufferPool> pool_;  // likewise: the heap's cleaners close its buffers
  std::unique_ptr<gc::Heap> heap_;
  std::unique_ptr<Tier> tier_;       // null: everything is interpreted
  std::unique_ptr<LoopTier> loops_;  // likewise
  void* host_data_ = nullptr;
};

// Host memory lent to the program as an array, until end() or destruction. Keeps the array handle alive as
// long. Must not outlive the isolate.
class Loan {
 public:
  Loan(Loan&&) noexcept = default;
  Loan& operator=(Loan&& other) noexcept;
  ~Loan() { end(); }

  // The argument to pass; null after end().
  gc::Ref array() const { return array_ ? reinterpret_cast<gc::Ref>(array_->get()) : nullptr; }
  void end();

 private:
  friend class Isolate;
  explicit Loan(std::unique_ptr<gc::Root<gc::Array>> array) : array_(std::move(array)) {}
  std::unique_ptr<gc::Root<gc::Array>> array_;
};

}  // namespace dhpvm::vm
