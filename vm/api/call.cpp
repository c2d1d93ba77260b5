// SPDX-License-Identifier: Apache-2.0
#include "dhpvm/detail/call.h"

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gc/roots.h"
#include "vm/api/state.h"
#include "vm/lent_array.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {
namespace {

// The machine's record of one call. Most calls lend a few spans at most, which need no memory then.
class Machine {
 public:
  Machine(vm::Isolate& isolate, std::uint32_t function) : invocation(isolate, function) {}
  // Loans end before the windows are given back.
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

  vm::Invocation invocation;

 private:
  using Root = gc::Root<gc::Array>;
  static constexpr unsigned kFewLoans = 6;

  unsigned few_ = 0;
  std::unique_ptr<std::vector<Root>> more_;
  alignas(Root) std::byte storage_[kFewLoans * sizeof(Root)];  // of the first roots
};

Machine& machine_in(std::byte* storage) { return *std::launder(reinterpret_cast<Machine*>(storage)); }

// Flushes the program's output when the outermost call returns, trap or not. A failed write is not a trap: a program
// cannot help a closed pipe or a full disk.
Status finish_output(stdlib::Console& console, Status status) {
  const bool was_stopped = !status.ok() && (status.error().code() == ErrorCode::kInterrupted ||
                                            status.error().code() == ErrorCode::kDeadline);
  (void)(was_stopped ? console.flush_briefly() : console.flush());  // remembers its failure
  // A stopped program reports why it stopped, not that its output was not read.
  if (was_stopped && console.has_failed()) (void)console.take_failure();
  return console.has_failed() ? Status(console.take_failure()) : std::move(status);
}

}  // namespace

Call::Call(const Target& target) : target_(target) {
  static_assert(sizeof(Machine) <= sizeof machine_ && alignof(Machine) <= alignof(std::max_align_t));
  vm::Isolate& machine = *target.isolate->machine;
  const vm::Invocation& invocation = (new (machine_) Machine(machine, target.function))->invocation;
  p = invocation.p();
  r = reinterpret_cast<void**>(invocation.r());
  isolate = &machine;
  // The receiver is the first reference; the slots of the arguments begin behind it.
  if (target.receiver && has_windows()) [[unlikely]]
    *r++ = ObjectState::of(target.receiver)->root.get();
}

Call::~Call() { machine_in(machine_).~Machine(); }

Status Call::lend(unsigned slot, HostType type, void* data, const std::int64_t* sizes) {
  vm::Isolate& machine = machine_of(*this);
  DHPVM_ASSIGN(gc::Array* const array, vm::new_lent_array(machine, target_.reference_types[slot], data,
                                                          {sizes, type.rank}, !type.read_only));
  r[slot] = array;
  machine_in(machine_).keep_lent(machine.heap(), array);
  return {};
}

Status Call::put_object(unsigned slot, const Object& object) {
  if (!object) {
    r[slot] = nullptr;
    return {};
  }
  if (object.state_->isolate != target_.isolate) {
    return error(ErrorCode::kInvalidArgument,
                 "an object of one isolate cannot be an argument in another; copy its content");
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
  if (target_.receiver && has_windows()) [[unlikely]]
    --r;  // the results begin where the receiver is
  const unsigned depth = state.depth.load(std::memory_order_relaxed);  // changed by this thread alone
  state.depth.store(depth + 1, std::memory_order_relaxed);
  Status status = machine_in(machine_).invocation.run();
  state.depth.store(depth, std::memory_order_relaxed);
  if (state.console.has_output() || state.console.has_failed()) [[unlikely]] {
    if (depth == 0) return finish_output(state.console, std::move(status));
  }
  return status;
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
