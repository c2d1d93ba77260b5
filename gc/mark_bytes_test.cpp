// SPDX-License-Identifier: Apache-2.0
#include "gc/mark_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace dhpvm::gc {
namespace {

struct alignas(64) Marks {
  std::array<std::uint8_t, kGranulesPerBlock> bytes{};
};

// The extents [begin, end) of the objects and of the holes between them, the slow way.
struct Model {
  std::vector<bool> covered = std::vector<bool>(kGranulesPerBlock);
  void add(Marks& marks, std::size_t begin, std::size_t granules) {
    set_mark(&marks.bytes[begin], granules);
    std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(begin), granules, true);
  }
  std::vector<std::pair<std::size_t, std::size_t>> holes() const {
    std::vector<std::pair<std::size_t, std::size_t>> result;
    for (std::size_t i = 0; i < kGranulesPerBlock; ++i) {
      if (covered[i]) continue;
      const std::size_t begin = i;
      while (i < kGranulesPerBlock && !covered[i]) ++i;
      result.emplace_back(begin, i);
    }
    return result;
  }
};

void expect_agreement(const Marks& marks, const Model& model) {
  Coverage coverage;
  compute_coverage(marks.bytes.data(), coverage);
  std::size_t free = 0;
  for (std::size_t i = 0; i < kGranulesPerBlock; ++i) {
    ASSERT_EQ((coverage[i / 64] >> (i % 64) & 1) != 0, model.covered[i]) << "granule " << i;
    free += model.covered[i] ? 0 : 1;
  }
  EXPECT_EQ(count_free(coverage), free);
  std::vector<std::pair<std::size_t, std::size_t>> listed;
  for_each_hole(coverage, [&](Hole hole) { listed.emplace_back(hole.begin, hole.end); });
  EXPECT_EQ(listed, model.holes());
  for (const std::size_t minimum : {1, 2, 7, 64, 100}) {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (Hole hole = find_hole(coverage, 0, minimum); hole.granules() != 0;
         hole = find_hole(coverage, hole.end, minimum)) {
      found.emplace_back(hole.begin, hole.end);
    }
    std::vector<std::pair<std::size_t, std::size_t>> expected = model.holes();
    std::erase_if(expected, [&](const auto& hole) { return hole.second - hole.first < minimum; });
    EXPECT_EQ(found, expected);
  }
}

TEST(MarkBytes, EmptyBlockIsOneHole) {
  const Marks marks;
  expect_agreement(marks, Model());
}

TEST(MarkBytes, FullBlockHasNone) {
  for (const std::size_t granules : {std::size_t{1}, std::size_t{2}, std::size_t{64}, kGranulesPerBlock}) {
    Marks marks;
    Model model;
    for (std::size_t i = 0; i < kGranulesPerBlock; i += granules) model.add(marks, i, granules);
    expect_agreement(marks, model);
  }
}

TEST(MarkBytes, ObjectsAcrossWordBoundaries) {
  Marks marks;
  Model model;
  model.add(marks, 60, 4);     // ends with the word
  model.add(marks, 64, 1);     // a single granule begins the next
  model.add(marks, 127, 2);    // one granule on each side
  model.add(marks, 190, 200);  // covers whole words
  model.add(marks, kGranulesPerBlock - 1, 1);
  expect_agreement(marks, model);
}

TEST(MarkBytes, AgreesWithAModelOnRandomBlocks) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    Marks marks;
    Model model;
    const std::size_t largest = std::size_t{1} << random() % 9;
    const unsigned gap_every = 1 + random() % 4;
    for (std::size_t i = 0; i < kGranulesPerBlock;) {
      const std::size_t granules = std::min<std::size_t>(1 + random() % largest, kGranulesPerBlock - i);
      if (random() % gap_every != 0) model.add(marks, i, granules);
      i += granules;
    }
    expect_agreement(marks, model);
  }
}

TEST(MarkBytes, VisitsStarts) {
  Marks marks;
  set_mark(&marks.bytes[3], 5);
  set_mark(&marks.bytes[8], 1);
  std::vector<std::size_t> starts;
  for_each_marked(marks.bytes.data(), [&](std::size_t granule) { starts.push_back(granule); });
  EXPECT_EQ(starts, (std::vector<std::size_t>{3, 8}));
}

}  // namespace
}  // namespace dhpvm::gc
