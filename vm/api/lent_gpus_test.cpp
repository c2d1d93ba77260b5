// SPDX-License-Identifier: Apache-2.0
// Loops on a GPU that a worker lends, which is the interpreter of PTX here: it runs the kernels that a GPU of this
// machine would, and batches that come again are graphs there as well.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "vm/api/test_program.h"

namespace dhpvm {
namespace {

// Indices that take several operations each, so that their width shows in the number of instructions.
constexpr std::string_view kStencil = R"(
fn run(n: i64) -> i64 {
    let a = [f64, 2](n, n);
    let b = [f64, 2](n, n);
    for i in 0..n { for j in 0..n { a[i, j] = ((i * 7 + j * 3) % 11) as f64; } }
    parallel for i in 1..n - 1, j in 1..n - 1 {
        b[i, j] = a[i, j] + 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]);
    }
    var sum = 0.0;
    for i in 0..n { for j in 0..n { sum += b[i, j] * ((i + 2 * j) as f64); } }
    return sum as i64;
}
)";

// Elements go there and come back in every round, in the same messages as the launches.
constexpr std::string_view kRounds = R"(
fn run(n: i64) -> i64 {
    let a = [i64](n);
    let b = [i64](n);
    var seen = 0;
    for r in 0..40 {
        a[r % n] = r * 5;
        parallel for i in 0..n { b[i] = a[i] * 3 + i + r; }
        parallel for i in 0..n { a[i] = (b[i] + a[i]) & 0xffff; }
        seen = seen * 31 + a[7] + b[n - 1];
    }
    return seen;
}
)";

class LentGpus : public ::testing::Test {
 protected:
  LentGpus() {
    setenv("DHPVM_CUDA_LIBRARY", DHPVM_FAKE_CUDA, 1);
    setenv("DHPVM_CUDA_REPORT", report_.c_str(), 1);
    std::filesystem::remove(report_);
    WorkerOptions options;
    options.devices = {"cuda:0"};
    options.listen = {"127.0.0.1:0"};
    worker_.emplace(need(Worker::start(Engine({.threads = 2}), options)));
  }
  ~LentGpus() override {
    worker_.reset();
    unsetenv("DHPVM_CUDA_LIBRARY");
    unsetenv("DHPVM_CUDA_REPORT");
  }

  std::int64_t run(std::string_view program, std::int64_t n, const std::string& device,
                   std::uint64_t batch = 0) const {
    EngineOptions options{.threads = 2};
    options.remote.workers = {worker_->addresses()[0]};
    const Engine engine(std::move(options));
    IsolateOptions wanted;
    wanted.jit_wait = true;
    wanted.device = device;
    wanted.batch = batch;
    const Isolate isolate = need(Isolate::create(need(Module::compile(engine, program)), wanted));
    return need(need(isolate.function<std::int64_t(std::int64_t)>("run"))(n));
  }
  std::string lent() const { return "remote/" + worker_->addresses()[0] + "/cuda:0"; }
  // A line for each launch, and for each misuse of the driver, since the last call.
  std::string take_report() const {
    std::ostringstream lines;
    lines << std::ifstream(report_).rdbuf();
    std::filesystem::remove(report_);
    return lines.str();
  }

 private:
  const std::string report_ = ::testing::TempDir() + "dhpvm-lent-gpus-test";
  std::optional<Worker> worker_;
};

TEST_F(LentGpus, RunTheKernelsOfLocalOnes) {
  const std::int64_t expected = run(kStencil, 40, "host");
  // Only the machine that has the GPU knows what fills it: the chunks would be others.
  constexpr std::uint64_t kRows = 13;
  EXPECT_EQ(run(kStencil, 40, "cuda:0", kRows), expected);
  const std::string local = take_report();
  EXPECT_EQ(run(kStencil, 40, lent(), kRows), expected);
  EXPECT_NE(local, "");
  EXPECT_EQ(take_report(), local);
}

TEST_F(LentGpus, RecordBatchesThatBringElementsAlong) {
  const std::int64_t expected = run(kRounds, 100, "host");
  take_report();
  EXPECT_EQ(run(kRounds, 100, lent()), expected);
  int graphs = 0;
  std::istringstream report(take_report());
  for (std::string line; std::getline(report, line);) {
    EXPECT_FALSE(line.starts_with("misuse")) << line;
    if (line == "launch of a graph") ++graphs;
  }
  EXPECT_GE(graphs, 30);
}

}  // namespace
}  // namespace dhpvm
