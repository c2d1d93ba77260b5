// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "offload/drivers/numa/numa_device.h"

namespace dhpvm::offload {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A machine's files, in a folder that goes with the test.
class Topology : public testing::Test {
 protected:
  Topology() {
    std::string name = testing::TempDir() + "numaXXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~Topology() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root_ / "sys/devices/system/node" / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  std::filesystem::path root_;
};

TEST_F(Topology, NodesHaveTheProcessorsThatThisProcessMayUse) {
  write("online", "0,2-3\n");
  write("node0/cpulist", "0-3,8\n");
  write("node0/meminfo", "Node 0 MemTotal:       32610712 kB\nNode 0 MemFree:        100 kB\n");
  write("node2/cpulist", "4-7\n");
  write("node2/meminfo", "Node 2 MemTotal:       1024 kB\n");
  write("node3/cpulist", "\n");
  write("node3/meminfo", "Node 3 MemTotal:       2048 kB\n");
  const std::vector<NumaNode> nodes = numa_nodes({1, 2, 6, 8, 9}, root_);
  ASSERT_EQ(nodes.size(), 3);
  EXPECT_EQ(nodes[0].number, 0);
  EXPECT_THAT(nodes[0].processors, ElementsAre(1, 2, 8));
  EXPECT_EQ(nodes[0].memory_bytes, std::uint64_t{32610712} * 1024);
  EXPECT_EQ(nodes[1].number, 2);
  EXPECT_THAT(nodes[1].processors, ElementsAre(6));
  EXPECT_EQ(nodes[2].number, 3);
  EXPECT_THAT(nodes[2].processors, IsEmpty());
}

TEST_F(Topology, ASystemThatSaysNothingHasNoNodes) { EXPECT_THAT(numa_nodes({0, 1}, root_), IsEmpty()); }

TEST(CpuList, StopsAtWhatIsNone) {
  EXPECT_THAT(parse_cpu_list(""), IsEmpty());
  EXPECT_THAT(parse_cpu_list("3"), ElementsAre(3));
  EXPECT_THAT(parse_cpu_list("4,0-2,1\n"), ElementsAre(0, 1, 2, 4));
  EXPECT_THAT(parse_cpu_list("1,x,3"), ElementsAre(1));
  EXPECT_THAT(parse_cpu_list("2-"), IsEmpty());
  EXPECT_THAT(parse_cpu_list("0-4294967295"), IsEmpty());
}

TEST(NumaThreads, ThreadsThatAreStartedInheritTheProcessors) {
  const std::vector<unsigned> allowed = allowed_processors();
  ASSERT_FALSE(allowed.empty());
  const std::vector<unsigned> last{allowed.back()};
  std::vector<unsigned> found;
  std::thread([&] {
    run_on(last);
    std::thread([&] { found = allowed_processors(); }).join();
  }).join();
  EXPECT_EQ(found, last);
  EXPECT_EQ(allowed_processors(), allowed) << "the thread of the test has changed as well";
}

// The queue's thread is what the threads of the pool are started by.
TEST(NumaDevice, QueuesRunOnTheProcessorsOfTheNode) {
  NumaNode node;
  node.processors = {allowed_processors().back()};
  node.memory_bytes = 1 << 20;
  NumaDevice device(node);
  auto queue = device.create_queue({"test", nullptr});
  ASSERT_TRUE(queue.ok()) << queue.error().to_string();
  std::vector<unsigned> found;
  ASSERT_TRUE((*queue)->host_call([&] { found = allowed_processors(); }, {}, 0).ok());
  queue->reset();
  EXPECT_EQ(found, node.processors);
}

}  // namespace
}  // namespace dhpvm::offload
