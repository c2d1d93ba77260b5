// SPDX-License-Identifier: Apache-2.0
// Folders stand in for control groups: the system's own part is not tested.
#include "offload/remote/worker/session_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace dhpvm::offload {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SessionGroupsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("groups" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void offer(const std::string& controllers) const {
    std::ofstream(folder_ / "cgroup.controllers") << controllers;
  }
  fs::path folder_;
};

TEST_F(SessionGroupsTest, AGroupForEachClientAndOneInItForEachSession) {
  offer("cpuset cpu io memory hugetlb pids\n");
  auto made = make_control_groups(folder_);
  ASSERT_TRUE(made.ok()) << made.error().to_string();
  const std::string own = std::to_string(getpid());
  EXPECT_EQ(content(folder_ / "cgroup.subtree_control"), "+cpu +memory +pids");
  EXPECT_EQ(content(folder_ / ("dhpvm-worker-" + own) / "cgroup.procs"), own);
  ASSERT_TRUE((*made)->enter(3, 77, "client-anna", 250).ok());
  ASSERT_TRUE((*made)->enter(4, 78, "client-anna", 250).ok());
  ASSERT_TRUE((*made)->limit_memory(3, 1 << 20).ok());
  ASSERT_TRUE((*made)->limit_memory(4, ~std::uint64_t{0}).ok());
  const fs::path anna = folder_ / ("dhpvm-clients-" + own) / "client-anna";
  EXPECT_EQ(content(anna / "cpu.weight"), "250");
  EXPECT_EQ(content(anna / "3" / "cgroup.procs"), "77");
  EXPECT_EQ(content(anna / "4" / "cgroup.procs"), "78");
  EXPECT_EQ(content(anna / "3" / "memory.max"), std::to_string((1 << 20) + (1 << 30)));
  EXPECT_FALSE(fs::exists(anna / "4" / "memory.max"));
  EXPECT_GT(std::stoi(content(anna / "3" / "pids.max")), 256);
}

TEST_F(SessionGroupsTest, OnlyTheControllersThatThereAre) {
  offer("memory\n");
  auto made = make_control_groups(folder_);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE((*made)->enter(3, 77, "anybody", 100).ok());
  const fs::path group = folder_ / ("dhpvm-clients-" + std::to_string(getpid())) / "anybody";
  EXPECT_FALSE(fs::exists(group / "cpu.weight"));
  EXPECT_FALSE(fs::exists(group / "3" / "pids.max"));
  EXPECT_EQ((*made)->limits(),
            "memory by control groups, processors by the priority of each process, threads "
            "without limit");
}

TEST_F(SessionGroupsTest, ProcessesAreLimitedWhereThereIsNoController) {
  offer("pids\n");
  auto made = make_control_groups(folder_);
  ASSERT_TRUE(made.ok());
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_TRUE((*made)->enter(3, child, "anybody", 33).ok());
  EXPECT_TRUE((*made)->limit_memory(3, 1 << 20).ok());
  EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(child)) - getpriority(PRIO_PROCESS, 0), 5);
  rlimit limit{};
  EXPECT_EQ(prlimit(child, RLIMIT_DATA, nullptr, &limit), 0);
  EXPECT_EQ(limit.rlim_max, (std::uint64_t{8} << 30) + (1 << 20));
  EXPECT_EQ((*made)->limits(),
            "memory by the address space of each process, processors by the priority of each "
            "process, threads by control groups");
  (*made)->leave(3);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(SessionGroupsTest, WhyThereAreNoneIsSaid) {
  EXPECT_THAT(make_control_groups("").error().message(), ::testing::HasSubstr("version 2"));
  offer("hugetlb\n");
  EXPECT_THAT(make_control_groups(folder_).error().message(), ::testing::HasSubstr("no controllers"));
  offer("cpu\n");
  fs::create_directories(folder_ / "cgroup.subtree_control");  // cannot be written
  EXPECT_THAT(make_control_groups(folder_).error().message(), ::testing::HasSubstr("subtree_control"));
}

TEST_F(SessionGroupsTest, LimitsOfProcessesInTheirPlace) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const auto limits = make_process_limits();
  EXPECT_TRUE(limits->enter(3, child, "client-anna", 33).ok());
  EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(child)) - getpriority(PRIO_PROCESS, 0), 5);
  EXPECT_TRUE(limits->limit_memory(3, 1 << 20).ok());
  rlimit limit{};
  EXPECT_EQ(prlimit(child, RLIMIT_DATA, nullptr, &limit), 0);
  EXPECT_EQ(limit.rlim_max, (std::uint64_t{8} << 30) + (1 << 20));
  limits->leave(3);
  EXPECT_TRUE(limits->limit_memory(3, 1).ok()) << "nobody is there any more";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace dhpvm::offload
