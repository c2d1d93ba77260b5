// SPDX-License-Identifier: Apache-2.0
// Loops on simulated devices, event by event: each device does its chunks one after the other, and needs a fixed time
// and a time for each row.
#include "offload/schedule/pipeline/chunk_board.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <vector>

namespace dhpvm::offload {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// The period after which a device that waits for others looks again.
constexpr double kLook = 0.5e-3;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

struct SimulatedWorker {
  double fixed = 50e-6;
  double per_row = 1e-6;
  bool is_known = false;  // its rate, from loops before
  double stalls_at = kNever;
  double once = 0;                  // before its first chunk
  std::uint64_t room = kUnlimited;  // for rows of a chunk; it refuses others, and then wants smaller ones
};

struct SharedLoopOutcome {
  double seconds = 0;
  std::uint64_t redone = 0;
  std::vector<std::uint64_t> done;  // how often each row's results were put in place
};

class Simulation {
 public:
  Simulation(const std::vector<SimulatedWorker>& workers, std::uint64_t rows, Redo redo)
      : workers_(workers), board_({1, {0}, {static_cast<std::int64_t>(rows)}}, 1, workers.size()) {
    outcome_.done.resize(rows);
    for (std::size_t n = 0; n < workers.size(); ++n) {
      const SimulatedWorker& worker = workers[n];
      const double seconds = worker.once + worker.fixed + static_cast<double>(rows) * worker.per_row;
      board_.join(n, {worker.is_known ? static_cast<double>(rows) / seconds : 0, true, redo});
      devices_.push_back({});
    }
    most_rows_ = std::max<std::uint64_t>(rows / 16, 1);
  }

  SharedLoopOutcome run() {
    while (std::ranges::any_of(devices_, [](const Device& device) { return !device.has_ended; })) {
      for (std::size_t n = 0; n < devices_.size(); ++n) act(n);
      double next = now_ + kLook;
      for (const Device& device : devices_) {
        if (!device.has_ended && !device.flying.empty()) next = std::min(next, device.flying.front().end);
      }
      now_ = next;
      if (now_ > 1e4) {
        ADD_FAILURE() << "the loop does not end";
        break;
      }
    }
    outcome_.redone = board_.redone();
    return outcome_;
  }

 private:
  struct Flying {
    ChunkBoard::Chunk chunk;
    double end = 0;
  };
  struct Device {
    std::deque<Flying> flying;
    double free = 0;
    bool has_begun = false;
    bool has_ended = false;
    std::uint64_t most_rows = kUnlimited;
  };

  void act(std::size_t n) {
    Device& device = devices_[n];
    const SimulatedWorker& worker = workers_[n];
    while (!device.has_ended) {
      while (!device.flying.empty() && device.flying.front().end <= now_) {
        const ChunkBoard::Chunk& chunk = device.flying.front().chunk;
        if (chunk.claim->take([&] { put(chunk.box); })) outcome_.seconds = now_;
        board_.done(n, chunk, now_);
        device.flying.pop_front();
      }
      const ChunkBoard::Offer offer = board_.next(n, now_, std::min(most_rows_, device.most_rows));
      if (offer.advice == ChunkBoard::Advice::kEnd) device.has_ended = true;
      if (offer.advice != ChunkBoard::Advice::kCompute) return;
      for (const Flying& flying : device.flying) {
        EXPECT_TRUE(offer.chunk.box.high[0] <= flying.chunk.box.low[0] ||
                    flying.chunk.box.high[0] <= offer.chunk.box.low[0])
            << "device " << n << " is given rows that it is computing";
      }
      if (offer.chunk.box.extent(0) > worker.room) {
        board_.refuse(n, offer.chunk);
        device.most_rows = offer.chunk.box.extent(0) / 2;
        continue;
      }
      const double begin = std::max(device.free, now_);
      const double once = device.has_begun ? 0 : worker.once;
      device.has_begun = true;
      device.free =
          begin + once + worker.fixed + static_cast<double>(offer.chunk.box.extent(0)) * worker.per_row;
      if (device.free > worker.stalls_at) device.free = kNever;
      board_.submitted(n, offer.chunk);
      device.flying.push_back({offer.chunk, device.free});
    }
  }

  void put(const IterationSpace& box) {
    for (std::int64_t row = box.low[0]; row < box.high[0]; ++row)
      ++outcome_.done[static_cast<std::size_t>(row)];
  }

  const std::vector<SimulatedWorker> workers_;
  ChunkBoard board_;
  std::vector<Device> devices_;
  std::uint64_t most_rows_ = 1;
  double now_ = 0;
  SharedLoopOutcome outcome_;
};

SharedLoopOutcome simulate(const std::vector<SimulatedWorker>& workers, std::uint64_t rows,
                           Redo redo = Redo::kBeside) {
  SharedLoopOutcome outcome = Simulation(workers, rows, redo).run();
  EXPECT_TRUE(std::ranges::all_of(outcome.done, [](std::uint64_t times) { return times == 1; }));
  return outcome;
}

// The least time of any subset of the workers.
double best(const std::vector<SimulatedWorker>& workers, std::uint64_t rows) {
  double least = kNever;
  for (unsigned subset = 1; subset < 1U << workers.size(); ++subset) {
    std::vector<SimulatedWorker> some;
    for (std::size_t n = 0; n < workers.size(); ++n) {
      if ((subset >> n & 1) != 0) some.push_back(workers[n]);
    }
    least = std::min(least, simulate(some, rows).seconds);
  }
  return least;
}

TEST(ChunkBoard, SharesByRates) {
  const SharedLoopOutcome outcome = simulate({{50e-6, 1e-6}, {50e-6, 1e-6}, {50e-6, 2e-6}}, 100'000);
  EXPECT_LT(outcome.seconds, 40e-3 * 1.15);
}

TEST(ChunkBoard, SlowWorkersCostNothing) {
  for (const double slower : {1.0, 2.0, 5.0, 10.0, 30.0, 100.0, 1000.0}) {
    for (const std::uint64_t rows : {64, 1000, 100'000}) {
      for (const double seconds : {20e-3, 0.1, 1.0}) {
        for (const bool is_known : {false, true}) {
          for (const Redo redo : {Redo::kBeside, Redo::kInstead}) {
            const double per_row = seconds / static_cast<double>(rows);
            const std::vector<SimulatedWorker> workers = {{100e-6, per_row, is_known},
                                                          {100e-6, per_row, is_known},
                                                          {100e-6, per_row * slower, is_known}};
            const double took = simulate(workers, rows, redo).seconds;
            EXPECT_LE(took, best(workers, rows) * 1.15)
                << fmt::format("{} times slower, {} rows, {} s, known {}, redo {}", slower, rows, seconds,
                               is_known, static_cast<int>(redo));
          }
        }
      }
    }
  }
}

TEST(ChunkBoard, SlowLinksCostNothing) {
  // 10 Mbit/s and 1 GB/s: each row has 1 KiB, and there is a table of 1 MiB that both need.
  constexpr double kLinks[] = {1e9, 1.25e6};
  const auto worker = [&](double link, bool is_known) {
    return SimulatedWorker{100e-6, 1024 / link, is_known, kNever, 1048576 / link};
  };
  for (const std::uint64_t rows : {10'000, 64'000}) {
    for (const bool is_known : {false, true}) {
      const std::vector<SimulatedWorker> workers = {worker(kLinks[0], is_known), worker(kLinks[0], is_known),
                                                    worker(kLinks[1], is_known)};
      EXPECT_LE(simulate(workers, rows).seconds, best(workers, rows) * 1.15) << rows << is_known;
    }
  }
}

TEST(ChunkBoard, DoesAgainWhatAStalledWorkerHolds) {
  for (const Redo redo : {Redo::kBeside, Redo::kInstead}) {
    for (const double stalls_at : {0.0, 5e-3, 20e-3, 30e-3}) {
      for (const bool is_known : {false, true}) {
        const std::vector<SimulatedWorker> workers = {
            {50e-6, 1e-6, is_known}, {50e-6, 1e-6, is_known}, {50e-6, 1e-6, is_known, stalls_at}};
        const SharedLoopOutcome outcome = simulate(workers, 100'000, redo);
        EXPECT_GT(outcome.redone, 0U);
        EXPECT_LT(outcome.seconds, 50e-3 * 1.3) << stalls_at << is_known;
      }
    }
  }
}

// It takes over chunks of slow ones, and finds that they are too large.
TEST(ChunkBoard, OneHasLittleRoom) {
  for (const Redo redo : {Redo::kBeside, Redo::kInstead}) {
    for (const double slower : {2.0, 5.0, 30.0, 1000.0}) {
      for (const std::uint64_t room : {1, 3, 20, 300}) {
        for (const std::uint64_t rows : {16, 64, 1000}) {
          for (const bool is_known : {false, true}) {
            simulate({{100e-6, 1e-6, is_known, kNever, 0, room}, {100e-6, slower * 1e-6, is_known}}, rows,
                     redo);
            simulate({{100e-6, 1e-6, is_known, kNever, 0, room},
                      {slower * 100e-6, 1e-6, is_known},
                      {100e-6, slower * 1e-6, is_known}},
                     rows, redo);
          }
        }
      }
    }
  }
}

// The parts are not looked through for every chunk then; what is overdue is found all the same.
TEST(ChunkBoard, ManyWorkersShareOneLoop) {
  for (const bool is_known : {false, true}) {
    std::vector<SimulatedWorker> workers(100, {50e-6, 100e-6, is_known});
    const double ideal = 4000 * 100e-6 / 100;
    EXPECT_LT(simulate(workers, 4000).seconds, ideal * 1.6) << is_known;
    for (std::size_t n = 0; n < 5; ++n) workers[n * 20].stalls_at = 1e-3;
    const SharedLoopOutcome outcome = simulate(workers, 4000);
    EXPECT_GE(outcome.redone, 5U);
    EXPECT_LT(outcome.seconds, ideal * 4) << is_known;
  }
}

TEST(ChunkBoard, TheLastOneIsTold) {
  ChunkBoard board({1, {0}, {2}}, 1, 2);
  board.join(0, {1, true, Redo::kNever});
  board.join(1, {1, true, Redo::kNever});
  const ChunkBoard::Chunk first = board.next(0, 0, 1).chunk;
  const ChunkBoard::Chunk second = board.next(1, 0, 1).chunk;
  EXPECT_EQ(board.next(1, 0, 1).advice, ChunkBoard::Advice::kWait);
  EXPECT_FALSE(board.done(0, first, 1));
  EXPECT_EQ(board.next(0, 1, 1).advice, ChunkBoard::Advice::kWait);
  EXPECT_TRUE(board.done(1, second, 1));
  EXPECT_EQ(board.next(0, 1, 1).advice, ChunkBoard::Advice::kEnd);
}

TEST(ChunkBoard, AChunkThatTwoPartsDoIsDoneByTheFirst) {
  ChunkBoard board({1, {0}, {1}}, 1, 2);
  board.join(0, {1, true, Redo::kBeside});
  board.join(1, {100, true, Redo::kBeside});
  const ChunkBoard::Chunk slow = board.next(0, 0, 1).chunk;
  board.submitted(0, slow);
  const ChunkBoard::Offer again = board.next(1, 0, 1);
  ASSERT_EQ(again.advice, ChunkBoard::Advice::kCompute);
  EXPECT_TRUE(board.done(1, again.chunk, 0.1));
  EXPECT_EQ(board.next(0, 0.1, 1).advice, ChunkBoard::Advice::kEnd);
  board.leave(0);
  EXPECT_EQ(board.next(1, 0.1, 1).advice, ChunkBoard::Advice::kEnd);
}

TEST(ChunkBoard, WithoutRedoOneWaits) {
  const SharedLoopOutcome outcome = simulate({{50e-6, 1e-6}, {50e-6, 1e-3}}, 10'000, Redo::kNever);
  EXPECT_EQ(outcome.redone, 0U);
}

TEST(ChunkBoard, CutsAtUnits) {
  ChunkBoard board({1, {-5}, {95}}, 32, 2);
  board.join(0, {1e3, false, Redo::kNever});
  const ChunkBoard::Offer offer = board.next(0, 0, 3);
  ASSERT_EQ(offer.advice, ChunkBoard::Advice::kCompute);
  EXPECT_EQ(offer.chunk.box.extent(0), 32U);
  EXPECT_EQ(offer.chunk.claim, nullptr);
  board.refuse(0, offer.chunk);
  EXPECT_EQ(board.rows_left(), 100U);
  EXPECT_EQ(board.take(1000)->extent(0), 32U) << "what was refused";
  EXPECT_EQ(board.take(1000)->extent(0), 68U);
  EXPECT_FALSE(board.take(1));
}

}  // namespace
}  // namespace dhpvm::offload
