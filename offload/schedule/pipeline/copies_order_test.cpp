// SPDX-License-Identifier: Apache-2.0
// Every order, up to a length, in which loops are submitted to two devices, their operations are done or
// fail, and the host reads, writes and closes two arrays, against a model that computes at once. The host
// reads right values, or gets a lost device as error; and nothing is lost that a device still has.
//
// DHPVM_COPIES_DEPTH sets the length, which is 4 by default. `./dev test` (DHPVM_TURN) runs all orders of length 3, and
// a third of those of length 4, by their second action: another third with each commit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "bytecode/assembler.h"
#include "bytecode/verifier.h"
#include "offload/loops/footprint.h"
#include "offload/schedule/pipeline/array_copies.h"
#include "offload/schedule/pipeline/devices_for_tests.h"
#include "offload/schedule/pipeline/pipeline.h"

namespace dhpvm::offload {
namespace {

constexpr std::size_t kElements = 15;
// The first iteration of each loop, which has two.
constexpr std::int64_t kFirst = 1;
constexpr std::int64_t kIterations = 2;
// The longest orders are run in so many shares.
constexpr std::uint64_t kTurns = 3;
using Values = std::array<std::int64_t, kElements>;

class ScriptedQueue;

// Does an operation when it is told to, or fails it with all that come later.
class ScriptedDevice final : public DeviceForTests {
 public:
  explicit ScriptedDevice(DeviceInfo info) : DeviceForTests(std::move(info)) {}

  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;
  std::optional<Error> gone() const override { return failure_; }

  bool step();
  void finish_all() {
    while (step()) {
    }
  }
  // Whether somebody has begun to wait for it since the last call.
  bool take_waiting() { return std::exchange(is_waited_for_, false); }
  void fail() {
    if (!failure_) failure_ = error(ErrorCode::kDeviceLost, "{} was unplugged", info().name);
    finish_all();
  }

 private:
  friend class ScriptedQueue;
  std::deque<std::pair<ScriptedQueue*, Operation>> pending_;
  std::optional<Error> failure_;
  bool is_waited_for_ = false;
};

class ScriptedQueue final : public CheckedQueue {
 public:
  ScriptedQueue(ScriptedDevice& device, QueueOptions options)
      : CheckedQueue(device, std::move(options)), scripted_(device) {}
  ~ScriptedQueue() override { scripted_.finish_all(); }
  // As everybody does who waits.
  Status flush() override {
    scripted_.is_waited_for_ = true;
    return {};
  }

  void perform(Operation operation) {
    Status status = await(operation);
    if (status.ok() && scripted_.failure_) status = *scripted_.failure_;
    if (status.ok()) perform_step(operation);
    finish(std::move(operation), std::move(status));
  }

 protected:
  // All that an operation waits for is done: everything is done in the order of submission.
  void submit(Operation operation) override {
    scripted_.pending_.emplace_back(this, std::move(operation));
    if (scripted_.failure_) scripted_.finish_all();
  }

 private:
  ScriptedDevice& scripted_;
};

Result<std::unique_ptr<Queue>> ScriptedDevice::create_queue(QueueOptions options) {
  return std::unique_ptr<Queue>(std::make_unique<ScriptedQueue>(*this, std::move(options)));
}

bool ScriptedDevice::step() {
  if (pending_.empty()) return false;
  auto [queue, operation] = std::move(pending_.front());
  pending_.pop_front();
  queue->perform(std::move(operation));
  return true;
}

// The properties of the devices in all orders.
struct Setting {
  const char* name;
  bool writes_back;  // results go to the host as a part of the loop
  std::uint64_t budget_bytes;
};

enum class ActionKind : std::uint8_t {
  kLoop,
  kArrive,
  kFail,
  kFailInWait,
  kInterrupt,
  kEvict,
  kRead,
  kWrite,
  kClose
};

struct Action {
  ActionKind kind;
  unsigned device = 0;  // bits, for loops: 1, 2 or both
  unsigned from = 0;    // arrays
  unsigned to = 0;
  bool is_among = false;  // reads among what it writes
};

std::string text(const Action& action) {
  switch (action.kind) {
    case ActionKind::kLoop:
      return fmt::format("loop {}->{}{} on {}", action.from, action.to, action.is_among ? " among" : "",
                         action.device);
    case ActionKind::kArrive: return fmt::format("step of {}", action.device);
    case ActionKind::kFail: return fmt::format("{} fails", action.device);
    case ActionKind::kFailInWait: return fmt::format("{} fails when it is waited for", action.device);
    case ActionKind::kInterrupt: return "whoever waits next is interrupted";
    case ActionKind::kEvict: return fmt::format("{} gives up its copies", action.device);
    case ActionKind::kRead: return fmt::format("read {}", action.to);
    case ActionKind::kWrite: return fmt::format("write {}", action.to);
    case ActionKind::kClose: return fmt::format("close {}", action.to);
  }
  return "";
}

std::vector<Action> all_actions() {
  std::vector<Action> actions;
  for (unsigned devices = 1; devices <= 3; ++devices) {
    for (const auto& [from, to] : {std::pair{0U, 0U}, std::pair{0U, 1U}, std::pair{1U, 0U}})
      actions.push_back({ActionKind::kLoop, devices, from, to});
  }
  // On one device it is as any other in place.
  actions.push_back({ActionKind::kLoop, 3, 0, 0, true});
  for (unsigned device = 0; device < 2; ++device) {
    for (const ActionKind kind :
         {ActionKind::kArrive, ActionKind::kFail, ActionKind::kFailInWait, ActionKind::kEvict})
      actions.push_back({kind, device});
  }
  for (unsigned array = 0; array < 2; ++array) actions.push_back({ActionKind::kRead, 0, 0, array});
  actions.push_back({ActionKind::kInterrupt});
  actions.push_back({ActionKind::kWrite, 0, 0, 0});
  actions.push_back({ActionKind::kClose, 0, 0, 0});
  return actions;
}

// The loops, as programs have them: one over two arrays, one that changes one in place, and one in which the iterations
// read among what the other ones write.
struct Code {
  Code() {
    auto assembled = bytecode::assemble(kLoopsForTests);
    EXPECT_TRUE(assembled.ok()) << assembled.error().to_string();
    module = std::move(assembled).value();
    const Status verified = bytecode::verify(module);
    EXPECT_TRUE(verified.ok()) << verified.error().to_string();
    copy = analyse(module, module.kernels[0]);
    change = analyse(module, module.kernels[1]);
    among = analyse(module, module.kernels[2]);
  }
  bytecode::Module module;
  Footprint copy;
  Footprint change;
  Footprint among;
};

// One run of one order.
class World {
 public:
  World(BufferPool& pool, const Code& code, const Setting& setting)
      : pool_(pool), code_(code), setting_(setting), registrations_(pool) {
    for (Place& place : places_) plug_in(place, false);
    plug_in(host_, true);
    for (unsigned n = 0; n < 2; ++n) make(n, static_cast<std::int64_t>(n) + 1);
  }
  ~World() {
    for (Array& array : arrays_) array.buffer->close();
    for (Place& place : places_) unplug(place);
    unplug(host_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Whether it has changed anything. An error goes to problem().
  bool act(const Action& action) {
    switch (action.kind) {
      case ActionKind::kLoop: loop(action); return true;
      case ActionKind::kArrive: return places_[action.device].device->step();
      case ActionKind::kFail: return fail(action.device);
      case ActionKind::kFailInWait: return std::exchange(places_[action.device].fails_in_wait, true) == false;
      case ActionKind::kInterrupt: return !interrupts_.exchange(true);
      case ActionKind::kEvict: return evict(action.device);
      case ActionKind::kRead: read(action.to); return true;
      case ActionKind::kWrite: write(action.to); return true;
      case ActionKind::kClose: close(action.to); return true;
    }
    return false;
  }
  // The program has got a loss as error, and has ended.
  bool has_ended() const { return ended_; }
  const std::string& problem() const { return problem_; }

  void read(unsigned n) {
    Array& array = arrays_[n];
    if (!array.readable && !fetch(n, Use::kRead)) return;
    array.readable = true;
    compare(n);
  }

 private:
  struct Place {
    std::shared_ptr<ScriptedDevice> device;
    std::unique_ptr<PipelineDevice> pipeline;
    std::shared_ptr<Kernel> copy;
    std::shared_ptr<Kernel> change;
    std::shared_ptr<Kernel> among;
    bool fails_in_wait = false;
  };
  struct Array {
    Buffer* buffer = nullptr;
    Values expected{};
    bool readable = true;  // as the heap's arrays know
    bool writable = true;
    bool known_on_host = true;  // it has been there since it was written last
  };

  void plug_in(Place& place, bool is_host) {
    DeviceInfo info;
    info.name = is_host ? "host" : &place == places_.data() ? "0" : "1";
    info.memory_bytes = info.largest_allocation = 1 << 20;
    info.shares_host_memory = is_host;
    info.may_be_lost = !is_host && setting_.writes_back;
    place.device = std::make_shared<ScriptedDevice>(info);
    place.fails_in_wait = false;
    PipelineDeviceOptions options;
    if (!is_host && setting_.budget_bytes != 0) options.budget_bytes = setting_.budget_bytes;
    options.poll = [this, &place]() -> Status {
      if (interrupts_.exchange(false)) return Error(ErrorCode::kInterrupted, "somebody wants to stop");
      if (place.fails_in_wait) place.device->fail();
      // Not where somebody only looks whether the program wants to stop.
      if (place.device->take_waiting()) place.device->finish_all();
      return {};
    };
    auto pipeline = PipelineDevice::create(place.device, pool_, registrations_, options);
    if (!pipeline.ok()) return complain(pipeline.error().to_string());
    place.pipeline = std::move(pipeline).value();
    KernelImage image;
    image.arrays = 2;
    place.copy = place.device->load(image).value();
    image.arrays = 1;
    place.change = place.device->load(image).value();
    image.name = kAmong;
    place.among = place.device->load(image).value();
  }

  void unplug(Place& place) {
    place.pipeline.reset();
    registrations_.forget(*place.device);
    place.copy.reset();
    place.change.reset();
    place.among.reset();
    place.device.reset();
  }

  // As a program finds them: what has failed is dropped, and comes back as another device.
  void replace_lost() {
    for (Place& place : places_) {
      if (!place.device->gone()) continue;
      give_up_copies(place);
      unplug(place);
      plug_in(place, false);
    }
  }

  void make(unsigned n, std::int64_t value) {
    Array& array = arrays_[n];
    array = {};
    array.buffer = pool_.allocate(sizeof(Values), BufferContents::kUndefined).value();
    for (std::size_t i = 0; i < kElements; ++i) array.expected[i] = value + 2 * static_cast<std::int64_t>(i);
    std::memcpy(array.buffer->data(), array.expected.data(), sizeof(Values));
  }

  LoopArray captured(unsigned n) const {
    LoopArray array;
    array.buffer = arrays_[n].buffer;
    array.host.data = array.buffer->data();
    array.host.shape = {kElements, kElements, kElements, {kElements}};
    array.element_bytes = sizeof(std::int64_t);
    return array;
  }

  void loop(const Action& action) {
    replace_lost();
    const bool in_place = action.from == action.to;
    std::vector<codegen::KernelArray> arrays;
    std::vector<ArrayStorage> storage;
    for (const unsigned n : {action.from, action.to}) {
      const LoopArray array = captured(n);
      arrays.push_back(array.host);
      storage.push_back(array);
      if (in_place) break;
    }
    Loop loop;
    loop.footprint = action.is_among ? &code_.among : in_place ? &code_.change : &code_.copy;
    loop.space = {1, {kFirst}, {kFirst + kIterations}};
    loop.arrays = arrays;
    loop.storage = storage;
    loop.can_trap = false;
    std::vector<Part> parts;
    const auto part_of = [&](Place& place) {
      return Part{place.pipeline.get(),
                  action.is_among ? place.among
                  : in_place      ? place.change
                                  : place.copy,
                  {}};
    };
    for (unsigned n = 0; n < 2; ++n) {
      if ((action.device >> n & 1) != 0) parts.push_back(part_of(places_[n]));
    }
    const HostPart host = [&]() -> std::optional<Part> { return part_of(host_); };
    auto done = run_on_devices(parts, loop, 1, {}, host);
    const Values before = arrays_[action.from].expected;
    for (std::int64_t i = kFirst; i < kFirst + kIterations; ++i)
      step(action, before, arrays_[action.to].expected, i);
    arrays_[action.to].known_on_host = false;
    for (const unsigned n : {action.from, action.to}) withhold(n);
    if (auto* const failure = std::get_if<PipelineFailure>(&done)) {
      const ErrorCode code = failure->error.code();
      if (code != ErrorCode::kDeviceLost && code != ErrorCode::kInterrupted)
        complain(failure->error.to_string());
      if (failure->error.code() == ErrorCode::kInterrupted && !failure->remaining) {
        ended_ = true;  // the program was to stop
        return;
      }
      if (!failure->remaining) return end(action.to, failure->error);
      do_on_host(action, *failure->remaining, before);
    }
  }

  void do_on_host(const Action& action, const std::vector<IterationSpace>& boxes, const Values& before) {
    Array& from = arrays_[action.from];
    Array& to = arrays_[action.to];
    if (!from.readable && !fetch(action.from, Use::kRead)) return;
    from.readable = true;
    if (!to.writable && !fetch(action.to, Use::kWrite)) return;
    to.readable = to.writable = true;
    for (const IterationSpace& box : boxes) {
      for (std::int64_t i = box.low[0]; i < box.high[0]; ++i) {
        Values found = values(action.from);
        if (!action.is_among && found[static_cast<std::size_t>(i)] != before[static_cast<std::size_t>(i)])
          complain("the host finds something else");
        Values made = values(action.to);
        step(action, found, made, i);
        std::memcpy(to.buffer->data(), made.data(), sizeof(made));
      }
    }
    to.known_on_host = true;
  }

  void withhold(unsigned n) {
    Array& array = arrays_[n];
    if (array.buffer->copies() == nullptr) return;
    ArrayCopies& copies = ArrayCopies::of(*array.buffer);
    if (copies.host_may_write()) return;
    array.writable = false;
    if (!copies.host_may_read()) array.readable = false;
  }

  bool fail(unsigned n) {
    if (places_[n].device->gone()) return false;
    places_[n].device->fail();
    return true;
  }

  // As for lack of memory.
  bool evict(unsigned n) {
    give_up_copies(places_[n]);
    return true;
  }

  void give_up_copies(Place& place) {
    Status status = place.pipeline->blocks().give_up_copies();
    if (!status.ok() && status.error().code() == ErrorCode::kInterrupted)
      status = place.pipeline->blocks().give_up_copies();
    if (!status.ok()) complain(status.error().to_string());
  }

  void write(unsigned n) {
    Array& array = arrays_[n];
    if (!array.writable && !fetch(n, Use::kWrite)) return;
    array.readable = array.writable = true;
    compare(n);
    array.expected[kFirst] += 100;
    std::memcpy(array.buffer->data(), array.expected.data(), sizeof(Values));
    array.known_on_host = true;
  }

  void close(unsigned n) {
    arrays_[n].buffer->close();
    make(n, 50);
  }

  enum class Use : std::uint8_t { kRead, kWrite };
  bool fetch(unsigned n, Use use) {
    BufferCopies& copies = *arrays_[n].buffer->copies();
    const auto ask = [&] {
      return use == Use::kRead ? copies.to_host_for_reading() : copies.to_host_for_writing();
    };
    Status status = ask();
    // Nothing is lost by an interruption.
    if (!status.ok() && status.error().code() == ErrorCode::kInterrupted) status = ask();
    if (!status.ok()) end(n, status.error());
    return status.ok();
  }

  // A device that may be lost never has the only copy; and what the host has seen stays.
  void end(unsigned n, const Error& error) {
    ended_ = true;
    if (error.code() != ErrorCode::kDeviceLost) complain(error.to_string());
    if (setting_.writes_back || arrays_[n].known_on_host)
      complain(fmt::format("array {} need not be lost: {}", n, error.to_string()));
  }

  // An iteration of the loop.
  static void step(const Action& action, const Values& from, Values& to, std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    if (action.is_among) {
      step_among(std::as_writable_bytes(std::span(to)).data(), i);
    } else {
      to[at] = next_step(from[at]);
    }
  }

  Values values(unsigned n) const {
    Values values;
    std::memcpy(values.data(), arrays_[n].buffer->data(), sizeof(values));
    return values;
  }

  void compare(unsigned n) {
    Array& array = arrays_[n];
    const Values found = values(n);
    for (std::size_t i = 0; i < kElements; ++i) {
      if (found[i] != array.expected[i])
        complain(fmt::format("element {} of array {} is {}, not {}", i, n, found[i], array.expected[i]));
    }
    array.known_on_host = true;
  }

  void complain(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  BufferPool& pool_;
  const Code& code_;
  const Setting& setting_;
  Registrations registrations_;
  std::array<Place, 2> places_;
  Place host_;
  std::array<Array, 2> arrays_;
  std::atomic<bool> interrupts_ = false;
  bool ended_ = false;
  std::string problem_;
};

class CopiesOrder : public ::testing::TestWithParam<Setting> {
 protected:
  // Runs the order, and then reads both arrays; whether the order is worth going on with.
  bool run(const std::vector<Action>& order) {
    ++runs_;
    World world(pool_, code_, GetParam());
    bool has_changed = true;
    for (const Action& action : order) {
      if (!world.has_ended()) has_changed = world.act(action);
    }
    const bool goes_on = has_changed && !world.has_ended();
    for (unsigned n = 0; n < 2 && !world.has_ended(); ++n) world.read(n);
    if (world.problem().empty()) return goes_on;
    std::string steps;
    for (const Action& action : order) steps += (steps.empty() ? "" : "; ") + text(action);
    ADD_FAILURE() << steps << ": " << world.problem();
    return false;
  }

  // Orders of other turns end one action earlier.
  void explore(std::vector<Action>& order, std::size_t depth) {
    for (std::size_t at = 0; at < actions_.size(); ++at) {
      const Action& action = actions_[at];
      // Until there is a loop, nothing happens; and which of the devices is the first is all the same.
      if (order.empty() && (action.kind != ActionKind::kLoop || action.device == 2)) continue;
      order.push_back(action);
      const bool is_left_out = turn_ && order.size() == 2 && at % kTurns != *turn_ % kTurns;
      const std::size_t longest = is_left_out ? depth - 1 : depth;
      if (run(order) && order.size() < longest) explore(order, longest);
      order.pop_back();
      if (HasFailure()) return;
    }
  }

  BufferPool pool_;
  const Code code_;
  const std::vector<Action> actions_ = all_actions();
  std::optional<std::uint64_t> turn_;  // nothing: all of them
  std::uint64_t runs_ = 0;
};

TEST_P(CopiesOrder, EveryOneEndsWithTheRightContentsOrWithTheLoss) {
  const char* const wanted = std::getenv("DHPVM_COPIES_DEPTH");
  const char* const turn = std::getenv("DHPVM_TURN");
  if (wanted == nullptr && turn != nullptr && std::string_view(turn) != "all")
    turn_ = std::strtoull(turn, nullptr, 10);
  std::vector<Action> order;
  explore(order, wanted == nullptr ? 4 : static_cast<std::size_t>(std::atoi(wanted)));
  RecordProperty("orders", static_cast<int>(runs_));
}

INSTANTIATE_TEST_SUITE_P(Settings, CopiesOrder,
                         ::testing::Values(Setting{"eager", true, 0}, Setting{"lazy", false, 0}),
                         [](const auto& setting) { return std::string(setting.param.name); });

}  // namespace
}  // namespace dhpvm::offload
