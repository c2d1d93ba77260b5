// SPDX-License-Identifier: Apache-2.0
#include "base/processors.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace dhpvm {
namespace {

struct ProcessorQuota : testing::Test {
  ProcessorQuota() : root(testing::TempDir() + "dhpvm-cgroup-" + std::to_string(::getpid())) {}
  ~ProcessorQuota() override { std::filesystem::remove_all(root); }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::optional<double> quota(const std::string& membership) const {
    write("proc/self/cgroup", membership);
    return processor_quota(ControlGroups(root));
  }

  const std::string root;
};

TEST_F(ProcessorQuota, IsTheLeastOfTheGroupAndThoseAboveIt) {
  EXPECT_EQ(quota("0::/user/job\n"), std::nullopt);
  write("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/user/job\n"), std::nullopt);
  write("sys/fs/cgroup/user/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota("0::/user/job\n"), 2.5);
  write("sys/fs/cgroup/user/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("0::/user/job\n"), 0.5);
  EXPECT_EQ(quota("0::/user\n"), 2.5);
  // As a container sees it.
  write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota("0::/\n"), 3);
  EXPECT_EQ(quota("0::/elsewhere/job\n"), 3);
}

TEST_F(ProcessorQuota, OfTheFirstVersionOfGroups) {
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  const char* const membership = "5:memory:/job\n4:cpu,cpuacct:/job\n";
  EXPECT_EQ(quota(membership), std::nullopt);
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(quota(membership), 1.5);
  EXPECT_EQ(quota("5:memory:/job\n"), std::nullopt);
}

// Older systems mount both versions, as system_memory has it.
TEST_F(ProcessorQuota, OfTheSecondVersionBesideTheFirst) {
  write("sys/fs/cgroup/unified/job/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota("4:memory:/job\n0::/job\n"), 2);
}

TEST_F(ProcessorQuota, TextsThatAreNoneSayNothing) {
  write("sys/fs/cgroup/cpu.max", "half of it\n");
  for (const char* const membership : {"", "\n", ":", "0::", "no colons\n", "0::/\n"})
    EXPECT_EQ(quota(membership), std::nullopt) << membership;
}

TEST(Processors, AreThoseThatThisProcessMayUse) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_GE(usable_processors(), 1u);
  EXPECT_LE(usable_processors(), static_cast<unsigned>(CPU_COUNT(&allowed)));
}

}  // namespace
}  // namespace dhpvm
