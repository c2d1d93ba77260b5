// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/shared_loop.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "base/thread.h"
#include "offload/devices/timeline.h"
#include "offload/schedule/pipeline/stage_load.h"

namespace dhpvm::offload {
namespace {

using Clock = std::chrono::steady_clock;
using Labels = std::vector<std::uint64_t>;

// The threads for all devices of workers together: so many workers may answer so slowly that a thread has to wait, and
// the others still have a thread.
constexpr std::size_t kCrews = 4;

double now_in_seconds() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

// How long each of so many devices waits before it is asked again: all together are asked as often as a few would be,
// and each often enough to stop with the program.
std::chrono::milliseconds moment_of(std::size_t devices) {
  constexpr std::size_t kFew = 16;
  constexpr std::size_t kLongest = 64;
  return std::chrono::milliseconds(std::min(1 + devices / kFew, kLongest));
}

// Wakes the thread of a crew.
class Wakes final : public SemaphoreListener {
 public:
  void on_reached(std::uint64_t label) override {
    const std::lock_guard lock(mutex_);
    reached_.push_back(label);
    if (is_waiting_) changed_.notify_one();
  }
  // Wakes the thread for all of its devices.
  void ring() {
    const std::lock_guard lock(mutex_);
    is_rung_ = true;
    if (is_waiting_) changed_.notify_one();
  }
  // The labels that have been reached since the last call; nothing after ring(), or at the deadline.
  std::optional<Labels> wait_until(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    is_waiting_ = true;
    const bool is_woken =
        changed_.wait_until(lock, deadline, [this] { return is_rung_ || !reached_.empty(); });
    is_waiting_ = false;
    Labels reached = std::exchange(reached_, {});
    if (std::exchange(is_rung_, false) || !is_woken) return std::nullopt;
    return reached;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Labels reached_;
  bool is_rung_ = false;
  bool is_waiting_ = false;
};

using AllWakes = std::vector<std::shared_ptr<Wakes>>;

// One thread's devices.
class Crew {
 public:
  Crew(ChunkBoard& board, const Loop& loop, const AllWakes& all, std::size_t number,
       std::chrono::milliseconds moment, LoopProgress* progress)
      : board_(board), loop_(loop), all_(all), wakes_(all[number]), moment_(moment), progress_(progress) {}

  void add(PartRun& part) { members_.push_back({&part, {}, true, false}); }
  // Works until the members have ended.
  void work();
  // Lets a thread that comes later work: the members take nothing meanwhile.
  void leave();
  void join();

 private:
  struct Member {
    PartRun* part;
    std::deque<ChunkBoard::Chunk> flying;
    bool is_here;
    bool has_sent_all;  // all has been sent and only has to be waited for
  };

  bool is_alone() const { return members_.size() == 1; }
  bool may_begin(const PartRun& part) const;
  void advance(std::uint64_t label);
  Status take_chunks(Member& member);
  Status compute(Member& member, const ChunkBoard::Chunk& chunk);
  Status stop(Member& member);
  Result<bool> is_to_go_on(Member& member, std::uint64_t label);
  void end(Member& member, Status status);
  void ring_all() const {
    for (const std::shared_ptr<Wakes>& wakes : all_) wakes->ring();
  }

  ChunkBoard& board_;
  const Loop& loop_;
  const AllWakes& all_;
  const std::shared_ptr<Wakes> wakes_;
  const std::chrono::milliseconds moment_;
  LoopProgress* const progress_;  // null: progress is not reported
  std::vector<Member> members_;
  std::size_t here_ = 0;
};

void Crew::work() {
  here_ = members_.size();
  std::optional<Labels> reached;
  Clock::time_point asked;
  for (;;) {
    if (!reached) {
      asked = Clock::now();
      for (std::uint64_t label = 0; label < members_.size(); ++label) advance(label);
    } else {
      for (const std::uint64_t label : *reached) advance(label);
    }
    // The thread of the loop also reports what the others have done.
    if (progress_ != nullptr) progress_->add(0);
    if (here_ == 0) break;
    // Wait also while some of them are busy: the work that is left for the others changes meanwhile.
    reached = wakes_->wait_until(asked + moment_);
  }
  for (Member& member : members_) {
    if (member.has_sent_all) end(member, member.part->run->finish(true));
  }
}

void Crew::leave() {
  for (const Member& member : members_) board_.leave(member.part->part);
}

void Crew::join() {
  for (const Member& member : members_) board_.join(member.part->part, member.part->facts);
}

// Does everything that the member can do now.
void Crew::advance(std::uint64_t label) {
  Member& member = members_[label];
  while (member.is_here) {
    if (Status status = take_chunks(member); !status.ok()) return end(member, std::move(status));
    if (!member.is_here || member.flying.empty()) return;
    const Result<bool> goes_on = is_to_go_on(member, label);
    if (!goes_on.ok()) return end(member, goes_on.error());
    if (!*goes_on) return;
  }
}

// Whether the device may be given a chunk. If no other device can do a chunk before its inputs have been read, the loop
// would wait for everything that the device has to do first.
bool Crew::may_begin(const PartRun& part) const {
  return part.facts.redo == Redo::kBeside || part.device->seconds_behind() == 0 || board_.rows_left() == 0;
}

Status Crew::take_chunks(Member& member) {
  PartRun& part = *member.part;
  while (member.is_here) {
    DHPVM_TRY(part.device->await_turn());
    if (!may_begin(part)) {
      // Some devices only work while somebody waits for them.
      DHPVM_ASSIGN(const bool has_caught_up, part.device->catch_up());
      if (!has_caught_up) return {};
    }
    const ChunkBoard::Offer offer = board_.next(part.part, now_in_seconds(), part.rows_now(loop_), part.unit);
    if (offer.advice == ChunkBoard::Advice::kWait) return {};
    DHPVM_TRY(offer.advice == ChunkBoard::Advice::kEnd ? stop(member) : compute(member, offer.chunk));
  }
  return {};
}

Status Crew::compute(Member& member, const ChunkBoard::Chunk& chunk) {
  PartRun& part = *member.part;
  const Status submitted = part.run->submit(chunk.box, chunk.claim);
  if (part.lacks_room(submitted)) {
    board_.refuse(part.part, chunk);
    part.rows = chunk.box.extent(0) / 2;
    if (chunk.box.extent(0) > board_.unit()) return {};
    part.exhausted = submitted.error();
    end(member, part.run->finish(true));
    return {};
  }
  ++part.chunks;
  DHPVM_TRY(submitted);
  if (part.facts.redo != Redo::kInstead) board_.submitted(part.part, chunk);
  member.flying.push_back(chunk);
  return {};
}

// All chunks are done.
Status Crew::stop(Member& member) {
  PartRun& part = *member.part;
  DeviceRun& run = *part.run;
  const double behind = part.chunks == 0 ? part.device->seconds_behind() : 0;
  if (!member.flying.empty() || behind != 0) {
    // Others have done the chunks that are still in flight here, or all of them.
    run.abandon(std::max(board_.seconds_left(part.part, now_in_seconds()), behind));
    end(member, {});
  } else if (is_alone()) {
    end(member, run.finish(true));
  } else {
    DHPVM_TRY(run.send_rest());
    member.has_sent_all = true;
    member.is_here = false;
    --here_;
  }
  return {};
}

// Whether the member's first chunk is done, or may be soon. Otherwise the listener gets its label later.
Result<bool> Crew::is_to_go_on(Member& member, std::uint64_t label) {
  PartRun& part = *member.part;
  DeviceRun& run = *part.run;
  DHPVM_ASSIGN(const bool is_done, is_alone() ? run.await_first(moment_) : run.take_first());
  if (is_done) {
    const bool is_last = board_.done(part.part, member.flying.front(), now_in_seconds());
    if (progress_ != nullptr) progress_->add(*member.flying.front().box.count());
    member.flying.pop_front();
    if (is_last) ring_all();
    return true;
  }
  if (part.facts.redo == Redo::kInstead && run.has_first_read_inputs())
    board_.submitted(part.part, member.flying.front());
  return is_alone() || !run.listen_to_first(wakes_, label);
}

void Crew::end(Member& member, Status status) {
  PartRun& part = *member.part;
  // Others may do what it has not done.
  const bool leaves_work = !status.ok() || part.exhausted;
  part.status = std::move(status);
  if (std::exchange(member.is_here, false)) --here_;
  member.has_sent_all = false;
  board_.leave(part.part);
  if (leaves_work) ring_all();
}

}  // namespace

std::uint64_t PartRun::rows_now(const Loop& loop) const {
  if (!device->is_paced()) return rows;
  const std::uint64_t soon = std::min(rows, soon_done_rows(*device, {&loop, 1}));
  return in_units(soon, unit, soon);
}

bool PartRun::lacks_room(const Status& submitted) const {
  return !submitted.ok() &&
         (submitted.error().code() == ErrorCode::kDeviceExhausted ||
          submitted.error().code() == ErrorCode::kOffHeapExhausted) &&
         !device->failure();
}

void work_together(ChunkBoard& board, const Loop& loop, std::span<PartRun> parts, LoopProgress* progress) {
  const auto is_remote = [](const PartRun& part) { return part.device->info().is_remote; };
  const auto remote = static_cast<std::size_t>(std::ranges::count_if(parts, is_remote));
  const std::size_t of_workers = std::min(remote, kCrews);
  AllWakes wakes(parts.size() - remote + of_workers);
  for (std::shared_ptr<Wakes>& its : wakes) its = std::make_shared<Wakes>();
  std::vector<Crew> crews;
  for (std::size_t n = 0; n < wakes.size(); ++n)
    crews.emplace_back(board, loop, wakes, n, moment_of(parts.size()), progress);
  std::size_t next_alone = of_workers;
  std::size_t next_remote = 0;
  for (PartRun& part : parts) {
    Crew& crew = is_remote(part) ? crews[next_remote++ % of_workers] : crews[next_alone++];
    crew.add(part);
  }
  std::vector<Thread> threads;
  std::vector<Crew*> without_thread;
  for (std::size_t n = 1; n < crews.size(); ++n) {
    auto thread = Thread::start("dhpvm-device", [&crew = crews[n]] { crew.work(); });
    if (thread.ok()) {
      threads.push_back(std::move(thread).value());
    } else {
      without_thread.push_back(&crews[n]);
      crews[n].leave();
    }
  }
  crews[0].work();
  // The other crews have taken their chunks.
  for (Crew* const crew : without_thread) {
    crew->join();
    crew->work();
  }
}

}  // namespace dhpvm::offload
