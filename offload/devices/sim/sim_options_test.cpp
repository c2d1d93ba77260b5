// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/sim/sim_options.h"

#include <gtest/gtest.h>

namespace dhpvm::offload {
namespace {

std::string refusal(std::string_view name) {
  const auto options = parse_sim_options(name);
  return options.ok() ? "accepted" : options.error().message();
}

TEST(SimOptions, HaveDefaults) {
  const auto options = parse_sim_options("sim");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->upload_bytes, 12e9);
  EXPECT_EQ(options->copy_engines, 2U);
  EXPECT_FALSE(options->iterations.has_value());
  EXPECT_FALSE(options->lost.has_value());
}

TEST(SimOptions, AreReadWithTheirUnits) {
  const auto options = parse_sim_options(
      "sim?h2d=1.5GB/s&d2h=800MB/s&pageable=500MB/s&d2d=1TB/s&launch=2us&copy=0ns&rate=2.5e9/"
      "s&mem=16MiB&engines=1&units=8&lost=0&"
      "alloc_fail=3&fail_launch=4&load_fail=5");
  ASSERT_TRUE(options.ok()) << options.error().to_string();
  EXPECT_EQ(options->upload_bytes, 1.5e9);
  EXPECT_EQ(options->download_bytes, 8e8);
  EXPECT_EQ(options->pageable_bytes, 5e8);
  EXPECT_EQ(options->device_bytes, 1e12);
  EXPECT_EQ(options->launch.count(), 2000);
  EXPECT_EQ(options->copy.count(), 0);
  EXPECT_EQ(options->iterations, 2.5e9);
  EXPECT_EQ(options->memory_bytes, 16U << 20);
  EXPECT_EQ(options->copy_engines, 1U);
  EXPECT_EQ(options->compute_units, 8U);
  EXPECT_EQ(options->lost, 0U);
  EXPECT_EQ(options->alloc_fail, 3U);
  EXPECT_EQ(options->fail_launch, 4U);
  EXPECT_EQ(options->load_fail, 5U);
  EXPECT_EQ(parse_sim_options("sim?mem=1GB")->memory_bytes, 1'000'000'000U);
}

TEST(SimOptions, WhatIsNotUnderstoodIsRefused) {
  EXPECT_EQ(refusal("sim?h2d=12"),
            "option 'h2d' of device 'sim' is '12': give a number from 1 up, in B/s, KB/s, MB/s, GB/s, TB/s, "
            "such as "
            "h2d=12GB/s");
  for (const char* const name :
       {"sim?h2d=12GB", "sim?h2d=12gb/s", "sim?h2d=0GB/s", "sim?h2d=-1GB/s", "sim?h2d=nanGB/s",
        "sim?h2d=infGB/s", "sim?h2d=", "sim?h2d", "sim?h2d= 12GB/s", "sim?launch=5", "sim?launch=5 us",
        "sim?launch=-5us", "sim?rate=1e9", "sim?mem=0B", "sim?mem=1e300TB", "sim?mem=10", "sim?engines=2.0x",
        "sim?units=0", "sim?alloc_fail=0"}) {
    EXPECT_NE(refusal(name).find("give a number"), std::string::npos) << name << ": " << refusal(name);
  }
  for (const char* const name : {"sim?engines=3", "sim?engines=1.5", "sim?lost=1e15"}) {
    EXPECT_NE(refusal(name).find("give a whole number from"), std::string::npos)
        << name << ": " << refusal(name);
  }
}

TEST(SimOptions, UnknownKeysNameTheNearest) {
  EXPECT_NE(refusal("sim?lunch=5us").find("no option 'lunch'; did you mean 'launch'?"), std::string::npos);
  EXPECT_NE(refusal("sim?colour=red").find("it has: h2d, d2h"), std::string::npos);
  EXPECT_NE(refusal("sim?").find("no option ''"), std::string::npos);
  EXPECT_NE(refusal("sim?mem=1GB&").find("no option ''"), std::string::npos);
  EXPECT_NE(refusal("sim?mem=1GB&mem=2GB").find("given twice"), std::string::npos);
}

}  // namespace
}  // namespace dhpvm::offload
