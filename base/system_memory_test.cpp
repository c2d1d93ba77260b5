// SPDX-License-Identifier: Apache-2.0
#include "base/system_memory.h"

#include <gtest/gtest.h>

#include <fstream>

namespace dhpvm {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// The files of a system, as far as they matter here.
class SystemMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }

  const std::filesystem::path root_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("system_memory_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::size_t machine_ = find_system_memory(root_).bytes;
};

TEST_F(SystemMemoryTest, IsTheMachinesWithoutGroups) {
  EXPECT_GT(machine_, 64 * kMiB);
  EXPECT_EQ(find_system_memory(root_).source, "the machine's memory");
}

TEST_F(SystemMemoryTest, IsTheLimitOfAGroupOfVersion2) {
  write("proc/self/cgroup", "0::/a/b");
  write("sys/fs/cgroup/a/b/memory.max", "67108864");
  const SystemMemory memory = find_system_memory(root_);
  EXPECT_EQ(memory.bytes, 64 * kMiB);
  EXPECT_NE(memory.source.find("a/b/memory.max"), std::string::npos) << memory.source;
}

TEST_F(SystemMemoryTest, GroupsAboveCount) {
  write("proc/self/cgroup", "0::/a/b");
  write("sys/fs/cgroup/a/b/memory.max", "max");
  write("sys/fs/cgroup/a/memory.max", "33554432");
  EXPECT_EQ(find_system_memory(root_).bytes, 32 * kMiB);
}

// The path is that of the host, which a container does not see.
TEST_F(SystemMemoryTest, TheTopCountsWhereTheGroupIsNotSeen) {
  write("proc/self/cgroup", "0::/system.slice/docker-1234");
  write("sys/fs/cgroup/memory.max", "50331648");
  EXPECT_EQ(find_system_memory(root_).bytes, 48 * kMiB);
}

TEST_F(SystemMemoryTest, IsTheLimitOfAGroupOfVersion1) {
  write("proc/self/cgroup", "12:cpu,cpuacct:/x\n4:hugetlb,memory:/service\n0::/service");
  write("sys/fs/cgroup/memory/service/memory.limit_in_bytes", "100663296");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  const SystemMemory memory = find_system_memory(root_);
  EXPECT_EQ(memory.bytes, 96 * kMiB);
  EXPECT_NE(memory.source.find("memory.limit_in_bytes"), std::string::npos) << memory.source;
}

TEST_F(SystemMemoryTest, NonsenseIsNoLimit) {
  write("proc/self/cgroup", "nonsense\n0:\n0::/a");
  write("sys/fs/cgroup/a/memory.max", "plenty");
  EXPECT_EQ(find_system_memory(root_).bytes, machine_);
}

}  // namespace
}  // namespace dhpvm
