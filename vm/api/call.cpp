// SPDX-License-Identifier: Apache-2.0
#include "dhpvm/detail/call.h"

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gc/roots.h"
#include "vm/api/state.h"
#include "vm/invocation.h"
#include "vm/lent_array.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {
namespace {

// The machine's record of one call. Most calls lend at most a few spans, which need no memory.
class Machine {
 public:
  Machine(vm::Isolate& isolate, std::uint32_t function) : invocation(isolate, function) {}
  ~Machine() {
    for (unsigned i = 0; i < few_; ++i) {
      Root& root = *std::launder(reinterpret_cast<Root*>(&storage_[i * sizeof(Root)]));
      vm::end_loan(*root);
      root.~Root();
    }
    if (more_ == nullptr) [[likely]]
      return;
    for (const Root& root : *more_) vm::end_loan(*root);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void keep_lent(gc::Heap& heap, gc::Array* array) {
    if (few_ < kFewLoans) {
      new (&storage_[few_ * sizeof(Root)]) Root(heap, array);
      ++few_;
      return;
    }
    const Root root(heap, array);
    if (more_ == nullptr) more_ = std::make_unique<std::vector<Root>>();
    more_->push_back(root);
  }
  bool has_lent() const { return few_ != 0; }

  // The program's types do not say which references may be null. The arguments that are null are reported with a null
  // trap.
  void note_null(unsigned slot) { nulls_ |= slot < 32 ? std::uint32_t{1} << slot : 0; }
  std::uint32_t nulls() const { return nulls_; }

  vm::Invocation invocation;

 private:
  using Root = gc::Root<gc::Array>;
  static constexpr unsigned kFewLoans = 6;

  unsigned few_ = 0;
  std::uint32_t nulls_ = 0;  // a bit for each slot
  std::unique_ptr<std::vector<Root>> more_;
  alignas(Root) std::byte storage_[kFewLoans * sizeof(Root)];  // of the first roots
};

Machine& machine_in(std::byte* storage) { return *std::launder(reinterpret_cast<Machine*>(storage)); }

// Flushes the program's output when the outermost call returns, trap or not. A failed write is not a trap: a closed
// pipe or a full disk is not the program's mistake.
Status finish_output(stdlib::Console& console, Status status) {
  const bool was_stopped = !status.ok() && (status.error().code() == ErrorCode::kInterrupted ||
                                            status.error().code() == ErrorCode::kDeadline);
  (void)(was_stopped ? console.flush_briefly() : console.flush());  // the console remembers its failure
  // A stopped program reports why it stopped, not that its output was not read.
  if (was_stopped && console.has_failed()) (void)console.take_failure();
  return console.has_failed() ? Status(console.take_failure()) : std::move(status);
}

[[gnu::noinline]] Error wrong_thread() {
  return Error(
      ErrorCode::kInvalidArgument,
      "another thread is using this isolate: an isolate is used by one thread at a time, so give each "
      "thread its own, or lock a mutex around the calls");
}

// The trap of a null reference, with a note of the arguments that were null, because the program's types may not allow
// null.
[[gnu::noinline]] Status with_nulls(Status status, const Target& target, std::uint32_t nulls) {
  const Error& trap = status.error();
  if (trap.code() != ErrorCode::kNullReference) return status;
  const bytecode::Module& module = target.isolate->machine->module();
  std::string names;
  unsigned slot = 0;
  std::size_t number = 0;
  for (const bytecode::ValueType& type : module.functions[target.function].signature.parameters) {
    if (number++ == 0 && target.receiver) {
      number = 0;
      continue;
    }
    if (type.is_ref() && slot < 32 && (nulls >> slot++ & 1) != 0)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", number);
  }
  return Error(trap.code(), fmt::format("{}; null was passed as argument {}", trap.message(), names))
      .with_frames(trap.frames());
}

}  // namespace

// The thread that uses the isolate is stored and compared, not exchanged: an atomic exchange would cost a quarter of an
// empty call. Two threads that begin within the same few nanoseconds both continue; the one whose mark has been
// overwritten reports it at the end of its call.
Call::Call(const Target& target) : target_(target) {
  static_assert(sizeof(Machine) <= sizeof machine_ && alignof(Machine) <= alignof(std::max_align_t));
  IsolateState& state = *target.isolate;
  const void* const user = state.user.load(std::memory_order_relaxed);
  if (user != this_thread()) {
    if (user != nullptr) [[unlikely]]
      return;
    state.user.store(this_thread(), std::memory_order_relaxed);
  }
  vm::Isolate& machine = *state.machine;
  const vm::Invocation& invocation = (new (machine_) Machine(machine, target.function))->invocation;
  must_end_ = true;
  p = invocation.p();
  r = reinterpret_cast<void**>(invocation.r());
  isolate = &machine;
  // The receiver is the first reference; the arguments' slots begin after it.
  if (target.receiver && has_windows()) [[unlikely]]
    *r++ = ObjectState::of(target.receiver)->root.get();
}

void Call::end() {
  machine_in(machine_).~Machine();
  IsolateState& state = IsolateState::of(machine_of(*this));
  if (state.depth.load(std::memory_order_relaxed) == 0) state.user.store(nullptr, std::memory_order_relaxed);
}

Status Call::lend(unsigned slot, HostType type, void* data, const std::int64_t* sizes) {
  vm::Isolate& machine = machine_of(*this);
  const gc::TypeId wanted = target_.reference_types[slot];
  gc::Array* array =
      type.rank == 1 ? vm::lend_row(machine, wanted, data, sizes[0], !type.read_only) : nullptr;
  if (array == nullptr) [[unlikely]] {
    DHPVM_ASSIGN(array, vm::new_lent_array(machine, wanted, data, {sizes, type.rank}, !type.read_only));
  }
  r[slot] = array;
  machine_in(machine_).keep_lent(machine.heap(), array);
  return {};
}

Status Call::put_object(unsigned slot, const Object& object) {
  if (!object) {
    r[slot] = nullptr;
    machine_in(machine_).note_null(slot);
    return {};
  }
  if (object.state_->isolate != target_.isolate) {
    return error(
        ErrorCode::kInvalidArgument,
        "an object of one isolate, or of the code before its reload, cannot be an argument in another; copy "
        "its content");
  }
  const gc::Ref ref = object.state_->root.get();
  const gc::TypeId wanted = target_.reference_types[slot];
  if (!machine_of(*this).linked().is_instance(ref->header.type, wanted)) {
    return error(ErrorCode::kBadCast, "the parameter is of type {}, and the object of type {}",
                 machine_of(*this).module().types[wanted].name, object.type_name());
  }
  r[slot] = ref;
  return {};
}

Status Call::run() {
  IsolateState& state = *target_.isolate;
  if (isolate == nullptr) [[unlikely]]
    return wrong_thread();
  if (target_.receiver && has_windows()) [[unlikely]]
    --r;  // the results begin where the receiver is
  const unsigned depth = state.depth.load(std::memory_order_relaxed);  // only this thread changes it
  state.depth.store(depth + 1, std::memory_order_relaxed);
  Machine& machine = machine_in(machine_);
  Status status = machine.invocation.run();
  if (!status.ok() && machine.nulls() != 0) [[unlikely]]
    status = with_nulls(std::move(status), target_, machine.nulls());
  state.depth.store(depth, std::memory_order_relaxed);
  // Nothing allocates before the results have been taken, so they need no roots.
  machine.invocation.leave();
  must_end_ = machine.has_lent();
  if (depth == 0) {
    // A request that came too late for a safepoint of this call is not for the next one.
    machine_of(*this).stop_token().lower(StopToken::kInterrupt);
    if (state.user.load(std::memory_order_relaxed) != this_thread()) [[unlikely]]
      return wrong_thread();
    if (state.console.has_output() || state.console.has_failed()) [[unlikely]]
      status = finish_output(state.console, std::move(status));
    // Not earlier: while output waits for its reader, a call of another thread would overwrite the results.
    if (!must_end_) state.user.store(nullptr, std::memory_order_relaxed);
  }
  return status;
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
