// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/chunk_size.h"

#include <gtest/gtest.h>

#include "offload/schedule/pipeline/stage_load.h"

namespace dhpvm::offload {
namespace {

StageModels models(double fixed) {
  return {.upload = {fixed, 1e-9}, .download = {fixed, 1e-9}, .launch = {fixed, 1e-9}, .submit_seconds = 0};
}

StageLoad balanced(std::uint64_t rows) {
  const auto amount = static_cast<double>(rows);
  return {.rows = rows,
          .iterations = amount,
          .upload_bytes = amount,
          .download_bytes = amount,
          .uploads = 1,
          .downloads = 1};
}

TEST(ChunkSize, BalancedStagesApproachAThird) {
  const StageLoad load = balanced(1'000'000'000);
  EXPECT_NEAR(predicted_seconds(load, models(0), 1), 3.0, 1e-9);
  EXPECT_NEAR(predicted_seconds(load, models(0), 1000), 1.002, 1e-9);
}

TEST(ChunkSize, IsTheBestOfAllWithinAFewPercent) {
  for (const double fixed : {1e-6, 1e-5, 1e-4}) {
    for (const std::uint64_t rows : {1000ull, 1'000'000ull, 100'000'000ull}) {
      for (const double kernel : {0.1, 1.0, 30.0}) {
        StageLoad load = balanced(rows);
        load.iterations *= kernel;
        const std::uint64_t chosen = choose_rows(load, models(fixed), rows);
        const double found = predicted_seconds(load, models(fixed), (rows + chosen - 1) / chosen);
        double best = found;
        for (double n = 1; n <= static_cast<double>(rows); n *= 1.05) {
          best = std::min(best, predicted_seconds(load, models(fixed), static_cast<std::uint64_t>(n)));
        }
        EXPECT_LE(found, best * 1.02) << fixed << " " << rows << " " << kernel;
      }
    }
  }
}

TEST(ChunkSize, StaysModestWhereOperationsSeemToCostNothing) {
  const std::uint64_t rows = 100'000'000;
  const StageLoad load = balanced(rows);
  const std::uint64_t chunks = rows / choose_rows(load, models(0), rows);
  EXPECT_GE(chunks, 50u);
  EXPECT_LE(chunks, 500u);
}

TEST(ChunkSize, RespectsTheMemory) {
  EXPECT_LE(choose_rows(balanced(1'000'000), models(1), 1000), 1000u);
  EXPECT_EQ(choose_rows(balanced(1'000'000), models(1), 1'000'000), 1'000'000u);
  EXPECT_EQ(choose_rows({.rows = 1}, models(1), 1), 1u);
}

TEST(LinkModel, FindsTheFixedPartAndTheRate) {
  LinkModel model(1e-3, 1);
  for (int i = 0; i < 100; ++i) {
    const double bytes = 1000.0 * (1 + i % 17);
    model.measured(bytes, 5e-6 + bytes * 1e-9);
  }
  EXPECT_NEAR(model.fixed(), 5e-6, 1e-8);
  EXPECT_NEAR(model.per_unit(), 1e-9, 1e-11);
}

TEST(LinkModel, OneSizeSaysNothingOfTheFixedPart) {
  LinkModel model(1e-6, 1);
  for (int i = 0; i < 10; ++i) model.measured(1e6, 1e-3);
  EXPECT_NEAR(model.fixed(), 1e-6, 1e-9);
  EXPECT_NEAR(model.seconds(1e6), 1e-3, 1e-6);
  // Not even when there was less time than assumed.
  for (int i = 0; i < 500; ++i) model.measured(10, 1e-7);
  EXPECT_LE(model.fixed(), 1e-7);
}

TEST(ChunkSize, HasWholeUnitsWhereThereIsRoomForOne) {
  EXPECT_EQ(in_units(100, 64, 1000), 64U);
  EXPECT_EQ(in_units(200, 64, 150), 128U);
  EXPECT_EQ(in_units(10, 64, 1000), 64U);
  EXPECT_EQ(in_units(10, 64, 63), 10U);
  EXPECT_EQ(in_units(77, 1, 50), 50U);
}

}  // namespace
}  // namespace dhpvm::offload
