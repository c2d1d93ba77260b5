// SPDX-License-Identifier: Apache-2.0
// Measures the heap against its bars: allocation rate, pauses, space. `gc_bench [--json] [name...]` runs all
// or the named measurements; with --json one line per figure: {"name", "value", "unit", "bar", "met"}.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "bench/figures.h"
#include "bench/json_line.h"
#include "gc/heap.h"

namespace dhpvm::gc {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr int kRepeats = 7;

enum : TypeId { kTree, kRefs, kSmall64, kKilobyte, kTypeCount };

// 32 bytes: the object of most bars.
struct Tree {
  Header header;
  Tree* left;
  Tree* right;
  std::uint64_t value;
};

constexpr std::uint16_t kPlainReference[] = {0};
constexpr std::array<TypeInfo, kTypeCount> kTypes = {
    TypeInfo{.size = sizeof(Tree), .references = 2, .name = "Tree"},
    TypeInfo{.shape = Shape::kRefArray,
             .size = sizeof(Array),
             .element_size = 8,
             .element_references = kPlainReference,
             .element_reference_count = 1,
             .name = "[Tree]"},
    TypeInfo{.size = 64, .references = 1, .name = "Small64"},
    TypeInfo{.size = 1024, .references = 1, .name = "Kilobyte"},
};

struct Roots final : RootProvider {
  std::vector<Ref> slots;
  void visit_roots(RootVisitor& visitor) override { visitor.visit_range(slots.data(), slots.size()); }
};

struct Bench {
  Roots roots;
  std::unique_ptr<Heap> heap;

  explicit Bench(const HeapOptions& options) {
    auto result = Heap::create(options, kTypes, roots);
    if (!result.ok()) {
      fmt::print(stderr, "{}\n", result.error().to_string());
      std::exit(1);
    }
    heap = std::move(result).value();
  }

  template <typename T = Tree>
  T* make(TypeId type) {
    auto* object = reinterpret_cast<T*>(heap->allocate(type, kTypes[type]));
    if (object == nullptr) {
      fmt::print(stderr, "out of memory: {}\n", heap->census());
      std::exit(1);
    }
    return object;
  }

  // A complete binary tree, built top-down in depth-first order below roots.slots[slot].
  void make_tree(std::size_t slot, int depth) {
    Tree* top = make(kTree);
    roots.slots[slot] = reinterpret_cast<Ref>(top);
    grow(top, depth);
  }
  void grow(Tree* node, int depth) {
    if (depth == 0) return;
    Tree* left = make(kTree);
    heap->write_barrier(reinterpret_cast<Object*>(node));
    node->left = left;
    grow(left, depth - 1);
    Tree* right = make(kTree);
    heap->write_barrier(reinterpret_cast<Object*>(node));
    node->right = right;
    grow(right, depth - 1);
  }
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double processor_seconds(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Report {
 public:
  explicit Report(bool json) : json_(json) {}

  // `bar` 0 means the figure has none. `at_least` says on which side of the bar is good.
  void row(std::string_view name, double value, std::string_view unit, double bar = 0,
           bool at_least = false) {
    const bool met = bar == 0 || (at_least ? value >= bar : value <= bar);
    if (json_) {
      print_json_line({{"name", name}, {"value", value}, {"unit", unit}, {"bar", bar}, {"met", met}});
    } else if (bar == 0) {
      fmt::print("{:<52} {:>10.3f} {}\n", name, value, unit);
    } else {
      fmt::print("{:<52} {:>10.3f} {:<5} bar {} {:<6.4g} {}\n", name, value, unit,
                 at_least ? ">=" : "<=", bar, met ? "met" : "MISSED");
    }
    std::fflush(stdout);
  }

 private:
  bool json_;
};

// The speed at which `step` (one 32-byte object per call) allocates: the median over the repeats after a warm-up.
template <typename Step>
double allocation_rate(int objects, Step&& step) {
  std::vector<double> rates;
  for (int repeat = 0; repeat <= kRepeats; ++repeat) {
    const double begin = processor_seconds();
    for (int i = 0; i < objects; ++i) step(i);
    if (repeat != 0) rates.push_back(objects * 32e-9 / (processor_seconds() - begin));
  }
  return median(rates);
}

// Garbage only: the bump path and the recycling of empty blocks.
void allocate_no_live(Report& report) {
  Bench bench({});
  const double rate =
      allocation_rate(40'000'000, [&](int i) { bench.make(kTree)->value = static_cast<std::uint64_t>(i); });
  report.row("allocation incl. GC, 32 B, no live data", rate, "GB/s", 3, true);
}

// 64 MiB live among holes of 96 bytes: a list that kept every fourth object of its time. All new
// objects are garbage.
void allocate_64_live(Report& report) {
  Bench bench({});
  bench.roots.slots.resize(1);
  for (int i = 0; i < 4 << 21; ++i) {
    Tree* tree = bench.make(kTree);
    if (i % 4 != 0) continue;
    tree->left = reinterpret_cast<Tree*>(bench.roots.slots[0]);
    bench.roots.slots[0] = reinterpret_cast<Ref>(tree);
  }
  bench.heap->collect(CollectionKind::kFull);
  const double rate =
      allocation_rate(40'000'000, [&](int i) { bench.make(kTree)->value = static_cast<std::uint64_t>(i); });
  report.row("allocation incl. GC, 32 B, 64 MiB live", rate, "GB/s", 3, true);
}

// The worst kind of program for a collector that moves nothing: every fourth object survives, in place of a
// random older one, until the holes are barely larger than an object.
void allocate_churn(Report& report) {
  Bench bench({});
  bench.roots.slots.resize(1);
  bench.make_tree(0, 20);
  std::vector<Tree*> holders;
  const std::function<void(Tree*, int)> gather = [&](Tree* node, int depth) {
    if (depth == 0) return holders.push_back(node);
    gather(node->left, depth - 1);
    gather(node->right, depth - 1);
  };
  gather(reinterpret_cast<Tree*>(bench.roots.slots[0]), 18);
  std::size_t next = 0;
  const double rate = allocation_rate(16'000'000, [&](int i) {
    Tree* tree = bench.make(kTree);
    tree->value = static_cast<std::uint64_t>(i);
    if (i % 4 != 0) return;
    Tree* holder = holders[next++ % holders.size()];
    bench.heap->write_barrier(reinterpret_cast<Object*>(holder));
    holder->left = tree;
  });
  report.row("allocation incl. GC, 32 B, 1 in 4 survives", rate, "GB/s");
  const double none =
      allocation_rate(40'000'000, [&](int i) { bench.make(kTree)->value = static_cast<std::uint64_t>(i); });
  report.row("  the same heap, none survives", none, "GB/s");
}

// The classic: complete trees of many depths, built, walked and dropped, next to a long-lived one.
std::uint64_t count_nodes(const Tree* node) {
  return node == nullptr ? 0 : 1 + count_nodes(node->left) + count_nodes(node->right);
}
Tree* bottom_up(Bench& bench, int depth) {
  // The subtrees are rooted while their sibling and parent are made.
  if (depth == 0) return bench.make(kTree);
  std::vector<Ref>& stack = bench.roots.slots;
  stack.push_back(reinterpret_cast<Ref>(bottom_up(bench, depth - 1)));
  stack.push_back(reinterpret_cast<Ref>(bottom_up(bench, depth - 1)));
  Tree* tree = bench.make(kTree);
  tree->right = reinterpret_cast<Tree*>(stack.back());
  stack.pop_back();
  tree->left = reinterpret_cast<Tree*>(stack.back());
  stack.pop_back();
  return tree;
}
void binary_trees(Report& report) {
  constexpr int kDepth = 18;
  Bench bench({});
  const double begin = processor_seconds();
  bench.roots.slots.push_back(reinterpret_cast<Ref>(bottom_up(bench, kDepth)));
  for (int depth = 4; depth <= kDepth; depth += 2) {
    const int trees = 1 << (kDepth - depth + 4);
    for (int i = 0; i < trees; ++i) {
      if (count_nodes(bottom_up(bench, depth)) != (std::uint64_t{2} << depth) - 1) std::exit(1);
    }
  }
  report.row("binary trees of depth 18, in C++", processor_seconds() - begin, "s");
  report.row("  peak block space", static_cast<double>(bench.heap->stats().peak_block_bytes) / kMiB, "MiB");
}

// A tree of 32-byte objects, collected as a whole.
void full_pause(Report& report, int gib, unsigned threads, double bar) {
  ThreadPool pool(threads);
  Bench bench({.thread_pool = &pool});
  bench.roots.slots.resize(1);
  bench.make_tree(0, 23 + std::bit_width(static_cast<unsigned>(gib)));
  std::vector<double> processor;
  std::vector<double> all_threads;
  std::vector<double> wall;
  for (int repeat = 0; repeat <= kRepeats; ++repeat) {
    const auto begin = Clock::now();
    const double all_begin = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
    const double processor_begin = processor_seconds();
    bench.heap->collect(CollectionKind::kFull);
    if (repeat == 0) continue;
    processor.push_back((processor_seconds() - processor_begin) * 1e3);
    all_threads.push_back((processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - all_begin) * 1e3);
    wall.push_back(seconds_since(begin) * 1e3);
  }
  // With one thread, report processor time: it is steadier on a machine that is also used otherwise.
  report.row(fmt::format("full collection, {} GiB live tree of 32 B, {} thread{}", gib, threads,
                         threads == 1 ? "" : "s"),
             median(threads == 1 ? processor : wall), "ms", bar);
  report.row("  on the wall", median(wall), "ms");
  report.row("  processor time of the first thread", median(processor), "ms");
  report.row("  processor time of all threads", median(all_threads), "ms");
  report.row("  live", static_cast<double>(bench.heap->stats().live_bytes) / kMiB, "MiB");
}
// The same with children made before their parents, as programs do that pass them to a constructor.
void full_bottom_up(Report& report) {
  Bench bench({});
  bench.roots.slots.push_back(reinterpret_cast<Ref>(bottom_up(bench, 24)));
  std::vector<double> processor;
  for (int repeat = 0; repeat <= kRepeats; ++repeat) {
    const double begin = processor_seconds();
    bench.heap->collect(CollectionKind::kFull);
    if (repeat != 0) processor.push_back((processor_seconds() - begin) * 1e3);
  }
  report.row("full collection, the same built from the leaves", median(processor), "ms", 400);
}
void full_1gib(Report& report) {
  full_pause(report, 1, 1, 400);
  full_pause(report, 1, 2, 150);
}
void full_8gib(Report& report) { full_pause(report, 8, 2, 1000); }

// Hangs the subtree at the second root into a random place of the tree at the first.
void hang(Bench& bench, std::uint64_t path) {
  auto* holder = reinterpret_cast<Tree*>(bench.roots.slots[0]);
  for (int depth = 0; depth < 20; ++depth) holder = (path >> depth & 1) != 0 ? holder->left : holder->right;
  bench.heap->write_barrier(reinterpret_cast<Object*>(holder));
  holder->right = reinterpret_cast<Tree*>(bench.roots.slots[1]);
}

// The program builds subtrees of 15 objects, hangs one in eight of them into random places of an old tree, and drops
// the rest. It collects by itself just before the nursery of 8 MiB is used up, so that the pause can be measured
// from outside.
void minor_pause(Report& report, int gib, unsigned threads) {
  ThreadPool pool(threads);
  Bench bench({.nursery_bytes = 8 * kMiB, .thread_pool = &pool});
  bench.roots.slots.resize(2);
  bench.make_tree(0, 23 + std::bit_width(static_cast<unsigned>(gib)));
  bench.heap->collect(CollectionKind::kFull);
  std::mt19937_64 random(1);
  constexpr std::size_t kTreesPerNursery = 7 * kMiB / (15 * 32);
  std::vector<double> pauses;
  std::vector<double> wall;
  while (pauses.size() < 400) {
    for (std::size_t i = 0; i < kTreesPerNursery; ++i) {
      bench.make_tree(1, 3);
      if (i % 8 == 0) hang(bench, random());
    }
    const auto begin = Clock::now();
    const double processor_begin = processor_seconds();
    bench.heap->collect(CollectionKind::kMinor);
    pauses.push_back((processor_seconds() - processor_begin) * 1e3);
    wall.push_back(seconds_since(begin) * 1e3);
  }
  std::sort(pauses.begin(), pauses.end());
  std::sort(wall.begin(), wall.end());
  report.row(fmt::format("minor pause p99, 8 MiB nursery, {} GiB live, {} thread{}", gib, threads,
                         threads == 1 ? "" : "s"),
             pauses[pauses.size() * 99 / 100], "ms", 5);
  report.row("  median", median(pauses), "ms");
  report.row("  p99 on the wall", wall[wall.size() * 99 / 100], "ms");
}
void minor_1gib(Report& report) { minor_pause(report, 1, 2); }
void minor_8gib(Report& report) { minor_pause(report, 8, 2); }

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

// The same program with the nursery that the heap chooses. A step that pauses is taken for its pause, so that it has to
// be short, and long enough for its clocks not to matter. Steps in which the program was the first to touch 2 MiB of
// memory are counted apart: the kernel zeroes them, and where the machine is a virtual one, its host may have to find
// them first. That takes six times as long as the pause, and is no part of it.
struct Pauses {
  std::vector<double> processor;  // of steps without page faults, in milliseconds, sorted
  std::vector<double> wall;
  std::vector<double> faulting;
};
Pauses pauses_of(Bench& bench, double share) {
  constexpr int kTreesPerStep = 16;
  std::mt19937_64 random(1);
  Pauses pauses;
  while (pauses.processor.size() < 1000) {
    const HeapStats before = bench.heap->stats();
    const long faults = page_faults();
    const auto begin = Clock::now();
    const double processor_begin = processor_seconds();
    for (int i = 0; i < kTreesPerStep; ++i) {
      bench.make_tree(1, 3);
      if (static_cast<double>(random() % 1024) < share * 1024) hang(bench, random());
    }
    const double processor = (processor_seconds() - processor_begin) * 1e3;
    const double wall = seconds_since(begin) * 1e3;
    const HeapStats after = bench.heap->stats();
    if (after.full_collections != before.full_collections) continue;
    if (after.minor_pauses.count() == before.minor_pauses.count()) continue;
    if (page_faults() != faults) {
      pauses.faulting.push_back(processor);
      continue;
    }
    pauses.processor.push_back(processor);
    pauses.wall.push_back(wall);
  }
  for (std::vector<double>* of : {&pauses.processor, &pauses.wall, &pauses.faulting})
    std::sort(of->begin(), of->end());
  return pauses;
}
void minor_chosen(Report& report, double share, int gib, double bar) {
  ThreadPool pool(2);
  Bench bench({.thread_pool = &pool});
  bench.roots.slots.resize(2);
  bench.make_tree(0, 23 + std::bit_width(static_cast<unsigned>(gib)));
  bench.heap->collect(CollectionKind::kFull);
  const Pauses pauses = pauses_of(bench, share);
  report.row(fmt::format("minor pause p99, chosen nursery, {:.0f} % survives, {} GiB live", share * 100, gib),
             pauses.processor[pauses.processor.size() * 99 / 100], "ms", bar);
  report.row("  median", median(pauses.processor), "ms");
  report.row("  longest", pauses.processor.back(), "ms");
  report.row("  p99 on the wall", pauses.wall[pauses.wall.size() * 99 / 100], "ms");
  report.row("  steps that touched new memory too", static_cast<double>(pauses.faulting.size()), "");
  if (!pauses.faulting.empty()) {
    report.row("    their median", median(pauses.faulting), "ms");
    report.row("    their longest", pauses.faulting.back(), "ms");
  }
  const HeapStats stats = bench.heap->stats();
  report.row("  nursery at the end", static_cast<double>(stats.nursery_bytes) / kMiB, "MiB");
  report.row("  allocated", static_cast<double>(stats.bytes_allocated) / kMiB - 1024.0 * gib, "MiB");
  report.row("  full collections", static_cast<double>(stats.full_collections), "");
}
void minor_chosen(Report& report) { minor_chosen(report, 1.0 / 8, 1, 2); }
void minor_survivors(Report& report) { minor_chosen(report, 1, 1, 2); }
void minor_chosen_8gib(Report& report) { minor_chosen(report, 1.0 / 8, 8, 5); }

// A heap that grows to 8 GiB by itself, keeping one object in four, with the nursery that the heap chooses.
void growing(Report& report) {
  constexpr std::size_t kLists = 1024;
  ThreadPool pool(2);
  Bench bench({.thread_pool = &pool});
  bench.roots.slots.resize(kLists);
  for (std::size_t i = 0; i < 4 * 8192 * kMiB / sizeof(Tree); ++i) {
    Tree* const tree = bench.make(kTree);
    if (i % 4 != 0) continue;
    Ref& list = bench.roots.slots[i / 4 % kLists];
    tree->left = reinterpret_cast<Tree*>(list);
    list = reinterpret_cast<Ref>(tree);
  }
  const HeapStats stats = bench.heap->stats();
  report.row("minor pause p99 while a heap grows to 8 GiB",
             static_cast<double>(stats.minor_pauses.percentile_ns(0.99)) * 1e-6, "ms", 5);
  report.row("  longest", static_cast<double>(stats.minor_pauses.max_ns()) * 1e-6, "ms");
  report.row("  minor collections", static_cast<double>(stats.minor_collections), "");
  report.row("  longest full collection", static_cast<double>(stats.full_pauses.max_ns()) * 1e-6, "ms");
}

// A steady program: 64 MiB of trees, of which it replaces one in 64 at a time; reports the peak of block space over
// live bytes.
void space_steady(Report& report) {
  Bench bench({});
  constexpr std::size_t kTrees = 64;
  bench.roots.slots.resize(kTrees);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < kTrees; ++i) bench.make_tree(i, 14);
  for (int i = 0; i < 4000; ++i) bench.make_tree(random() % kTrees, 14);
  bench.heap->collect(CollectionKind::kFull);
  const HeapStats stats = bench.heap->stats();
  report.row("peak block space / live after full, replaced trees",
             static_cast<double>(stats.peak_block_bytes) / static_cast<double>(stats.live_bytes), "x", 2.2);
  report.row("  full collections", static_cast<double>(stats.full_collections), "");
}

// Objects of 16 B to 8 KiB (sizes roughly log-uniform), 64 MiB live, replaced at random.
void space_mixed(Report& report) {
  constexpr std::size_t kSizes = 10;
  std::array<TypeInfo, kSizes> types;
  for (std::size_t i = 0; i < kSizes; ++i) {
    types[i] = TypeInfo{.size = static_cast<std::uint32_t>(std::size_t{16} << i), .name = "mixed"};
  }
  Roots roots;
  auto heap = Heap::create({}, types, roots).value();
  std::mt19937_64 random(1);
  std::array<std::size_t, kSizes> count{};
  constexpr std::size_t kSlots = 64 * kMiB * kSizes / (16 << kSizes);
  roots.slots.resize(kSlots);
  for (std::size_t i = 0; i < 40 * kSlots; ++i) {
    const auto type = static_cast<TypeId>(random() % kSizes);
    ++count[type];
    roots.slots[random() % kSlots] = heap->allocate(type, types[type]);
  }
  heap->collect(CollectionKind::kFull);
  const HeapStats stats = heap->stats();
  report.row("peak block space / live after full, 16 B to 8 KiB",
             static_cast<double>(stats.peak_block_bytes) / static_cast<double>(stats.live_bytes), "x", 2.2);
}

// The adversarial case: fill with 64 B objects, keep every fourth (so that holes are 192 B), then replace
// what died by 1 KiB objects, which fit into no hole, and keep replacing them.
void fragmentation(Report& report) {
  Bench bench({});
  constexpr std::size_t kSmall = 256 * kMiB / 64;
  bench.roots.slots.resize(kSmall);
  for (Ref& slot : bench.roots.slots) slot = bench.make<Object>(kSmall64);
  for (std::size_t i = 0; i < kSmall; ++i) {
    if (i % 4 != 0) bench.roots.slots[i] = nullptr;
  }
  bench.heap->collect(CollectionKind::kFull);
  const std::size_t survivors = bench.heap->stats().live_bytes;
  const std::size_t before = bench.heap->stats().block_bytes;
  constexpr std::size_t kLarge = 192 * kMiB / 1024;
  for (std::size_t i = 0; i < 4 * kLarge; ++i) {
    bench.roots.slots[i % kLarge * 4 + 1] = bench.make<Object>(kKilobyte);
  }
  bench.heap->collect(CollectionKind::kFull);
  const HeapStats stats = bench.heap->stats();
  report.row("peak block space / live, 64 B of every 256 B, then 1 KiB",
             static_cast<double>(stats.peak_block_bytes) / static_cast<double>(stats.live_bytes), "x", 2);
  report.row("  survivors before the 1 KiB objects", static_cast<double>(survivors) / kMiB, "MiB");
  report.row("  blocks before the 1 KiB objects", static_cast<double>(before) / kMiB, "MiB");
  report.row("  live at the end", static_cast<double>(stats.live_bytes) / kMiB, "MiB");
}

void start_up(Report& report) {
  std::vector<double> times;
  for (int repeat = 0; repeat < 51; ++repeat) {
    const auto begin = Clock::now();
    Bench bench({});
    times.push_back(seconds_since(begin) * 1e6);
    bench.make(kTree);
  }
  report.row("create a heap", median(times), "us", 100);
}

struct Measurement {
  std::string_view name;
  void (*run)(Report&);
  bool by_name_only = false;  // takes 10 GiB of memory
};
constexpr Measurement kMeasurements[] = {
    {"start_up", start_up},
    {"allocate_no_live", allocate_no_live},
    {"allocate_64_live", allocate_64_live},
    {"allocate_churn", allocate_churn},
    {"binary_trees", binary_trees},
    {"full_1gib", full_1gib},
    {"full_bottom_up", full_bottom_up},
    {"minor_1gib", minor_1gib},
    {"full_8gib", full_8gib, true},
    {"minor_8gib", minor_8gib, true},
    {"minor_chosen", minor_chosen},
    {"minor_survivors", minor_survivors},
    {"minor_chosen_8gib", minor_chosen_8gib, true},
    {"growing", growing, true},
    {"space_steady", space_steady},
    {"space_mixed", space_mixed},
    {"fragmentation", fragmentation},
};

int run(int argc, char** argv) {
  bool json = false;
  std::vector<std::string_view> names;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (std::ranges::any_of(kMeasurements, [&](const Measurement& m) { return m.name == argument; })) {
      names.push_back(argument);
    } else {
      fmt::print(stderr, "gc_bench: no measurement '{}'; there are:", argument);
      for (const Measurement& measurement : kMeasurements) fmt::print(stderr, " {}", measurement.name);
      fmt::print(stderr, "\n");
      return 2;
    }
  }
  Report report(json);
  for (const Measurement& measurement : kMeasurements) {
    const bool named = std::ranges::find(names, measurement.name) != names.end();
    if (named || (names.empty() && !measurement.by_name_only)) measurement.run(report);
  }
  return 0;
}

}  // namespace
}  // namespace dhpvm::gc

int main(int argc, char** argv) { return dhpvm::gc::run(argc, argv); }
