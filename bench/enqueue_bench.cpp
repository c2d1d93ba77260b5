// SPDX-License-Identifier: Apache-2.0
// Measures the host's cost of submitting work to devices, over the calls that do the same
// without us: `enqueue_bench [--json]`. First operations of the device layer on OpenCL, then
// whole parallel loops of a program, from the interpreter to the driver; chunks with copies
// run on the simulated device, because no OpenCL device on a processor needs copies. Times
// are processor time of the one thread that submits; calls by hand and ours take turns.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/figures.h"
#include "bench/json_line.h"
#include "dhpvm/dhpvm.h"
#include "offload/devices/sim/sim_device.h"
#include "offload/drivers/opencl/opencl_device.h"

namespace dhpvm::offload {
namespace {

using codegen::ParameterKind;

constexpr int kRepeats = 15;
constexpr int kOperations = 500;
constexpr std::size_t kBytes = 4096;

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A loop over two arrays with a scalar, which does next to nothing.
KernelImage image() {
  KernelImage image;
  image.format = KernelFormat::kDeviceCode;
  image.device_code.language = "opencl";
  image.name = "add";
  image.scalars = 1;
  image.arrays = 2;
  image.device_code.entry = "add";
  image.device_code.parameters = {
      {ParameterKind::kLow, 0, 0},  {ParameterKind::kHigh, 0, 0},       {ParameterKind::kScalar, 0, 0},
      {ParameterKind::kData, 0, 0}, {ParameterKind::kDataOffset, 0, 0}, {ParameterKind::kLength, 0, 0},
      {ParameterKind::kData, 1, 0}, {ParameterKind::kDataOffset, 1, 0}, {ParameterKind::kLength, 1, 0}};
  image.device_code.text = R"(
    kernel void add(long low, long high, ulong a, global char* x, long x_offset, long x_length, global char* y,
                    long y_offset, long y_length) {
      if (get_global_id(0) == 0) *(global long*)(y + y_offset) = (long)a + *(global long*)(x + x_offset);
    })";
  return image;
}

// The calls of the driver that a program by hand would make.
class Raw {
 public:
  Raw() : api_(insist(OpenClApi::load())) {
    const std::vector<OpenClCandidate> found = insist(find_opencl_devices(*api_));
    device_ = found.front().device;
    cl_int code = CL_SUCCESS;
    context_ = api_->CreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
    queue_ = api_->CreateCommandQueue(context_, device_, 0, &code);
    for (cl_mem& buffer : buffers_)
      buffer = api_->CreateBuffer(context_, CL_MEM_READ_WRITE, kBytes, nullptr, &code);
    const KernelImage code_of = image();
    const char* text = code_of.device_code.text.c_str();
    program_ = api_->CreateProgramWithSource(context_, 1, &text, nullptr, &code);
    api_->BuildProgram(program_, 1, &device_, "-cl-std=CL1.2", nullptr, nullptr);
    kernel_ = api_->CreateKernel(program_, "add", &code);
    if (kernel_ == nullptr) insist(Status(opencl_error(code, "clCreateKernel")));
  }
  ~Raw() {
    api_->ReleaseKernel(kernel_);
    api_->ReleaseProgram(program_);
    for (cl_mem const buffer : buffers_) api_->ReleaseMemObject(buffer);
    api_->ReleaseCommandQueue(queue_);
    api_->ReleaseContext(context_);
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  void launch() const {
    const std::uint64_t value = 1;
    const std::size_t items = 64;
    for (const cl_uint i : {0U, 1U, 2U, 4U, 5U, 7U, 8U})
      api_->SetKernelArg(kernel_, i, sizeof(value), &value);
    for (const cl_uint i : {0U, 1U})
      api_->SetKernelArg(kernel_, 3 * (i + 1), sizeof(cl_mem), static_cast<const void*>(&buffers_[i]));
    cl_event event = nullptr;
    api_->EnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &items, &items, 0, nullptr, &event);
    api_->ReleaseEvent(event);
  }
  void copy() const {
    cl_event event = nullptr;
    api_->EnqueueCopyBuffer(queue_, buffers_[0], buffers_[1], 0, 0, kBytes, 0, nullptr, &event);
    api_->ReleaseEvent(event);
  }
  void finish() const { api_->Finish(queue_); }

 private:
  std::shared_ptr<const OpenClApi> api_;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_mem buffers_[2] = {};
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
};

class Ours {
 public:
  Ours() : device_(insist(opencl_factory()->open("opencl:0"))) {
    for (std::shared_ptr<DeviceMemory>& memory : memory_) memory = insist(device_->allocate(kBytes));
    kernel_ = insist(device_->load(image()));
    done_ = insist(device_->create_semaphore(0));
    queue_ = insist(device_->create_queue({}));
  }

  // Each operation signals a value, as those of a pipeline do.
  void launch() {
    const ArrayArgument arrays[] = {{{memory_[0], 0, kBytes}, 0, {8, 0, 8, {}}},
                                    {{memory_[1], 0, kBytes}, 0, {8, 8, 8, {}}}};
    const std::uint64_t scalars[] = {1};
    Launch launch;
    launch.kernel = kernel_;
    launch.space.high[0] = 64;
    launch.scalars = scalars;
    launch.arrays = arrays;
    const SemaphoreValue signals[] = {{done_, ++value_}};
    insist(queue_->launch(launch, {{}, signals}));
  }
  void copy() {
    const SemaphoreValue signals[] = {{done_, ++value_}};
    insist(queue_->copy({memory_[1], 0, kBytes}, {memory_[0], 0, kBytes}, {{}, signals}));
  }
  void finish() { insist(done_->wait(value_)); }

 private:
  std::unique_ptr<Device> device_;
  std::shared_ptr<DeviceMemory> memory_[2];
  std::shared_ptr<Kernel> kernel_;
  std::shared_ptr<Semaphore> done_;
  std::unique_ptr<Queue> queue_;
  std::uint64_t value_ = 0;
};

// Chunks on the simulated device by hand: upload, kernel, download.
class RawChunks {
 public:
  RawChunks()
      : device_(insist(sim_factory(std::make_shared<ThreadPool>(1))->open("sim"))), host_(kChunkBytes) {
    KernelImage image;
    image.host_code = [](const codegen::KernelCall*, codegen::KernelChunk*) {
      return codegen::KernelStatus::kDone;
    };
    kernel_ = insist(device_->load(image));
    pinned_ = {insist(device_->import_host(host_, HostMemory::kPinned)), 0, kChunkBytes};
    for (MemorySpan& memory : memory_) memory = {insist(device_->allocate(kChunkBytes)), 0, kChunkBytes};
    for (std::size_t n = 0; n < queues_.size(); ++n) {
      queues_[n] = insist(device_->create_queue({}));
      done_[n] = insist(device_->create_semaphore(0));
    }
  }

  void chunk() {
    const std::uint64_t now = ++value_;
    const std::array<SemaphoreValue, 3> ends = {{{done_[0], now}, {done_[1], now}, {done_[2], now}}};
    Launch launch;
    launch.kernel = kernel_;
    launch.space.high[0] = 1;
    insist(queues_[0]->copy(memory_[0], pinned_, {{}, std::span(&ends[0], 1)}));
    insist(queues_[1]->launch(launch, {std::span(&ends[0], 1), std::span(&ends[1], 1)}));
    insist(queues_[2]->copy(pinned_, memory_[1], {std::span(&ends[1], 1), std::span(&ends[2], 1)}));
  }
  void finish() { insist(done_[2]->wait(value_)); }

  static constexpr std::size_t kChunkBytes = 4096;

 private:
  std::unique_ptr<Device> device_;
  std::vector<std::byte> host_;
  std::shared_ptr<Kernel> kernel_;
  MemorySpan pinned_;
  MemorySpan memory_[2];
  std::array<std::unique_ptr<Queue>, 3> queues_;
  std::array<std::shared_ptr<Semaphore>, 3> done_;
  std::uint64_t value_ = 0;
};

// A program whose loops run on a device.
class Loops {
 public:
  // Arrays of `elements`; `batch` of them in a chunk, 0: all.
  Loops(std::string device, std::int64_t elements, std::uint64_t batch)
      : isolate_(make(std::move(device), batch)),
        work_(insist(insist(isolate_.function<Object(std::int64_t)>("prepare"))(elements))),
        touch_(insist(isolate_.function<void(Object)>("touch"))),
        add_(insist(isolate_.function<void(Object, std::int64_t)>("add"))),
        last_(insist(isolate_.function<double(Object)>("last"))) {}

  void add(std::int64_t times) { insist(add_(work_, times)); }
  // Waits for the results, and makes the next loop need its arrays anew where they are copied.
  void finish() {
    insist(last_(work_));
    insist(touch_(work_));
  }
  Statistics statistics() const { return isolate_.statistics(); }

 private:
  static Isolate make(std::string device, std::uint64_t batch) {
    static constexpr std::string_view kProgram = R"(
class Work { x: [f32]; y: [f32]; }
fn prepare(n: i64) -> Work { return Work([f32](n), [f32](n)); }
fn touch(work: Work) { work.x[0] += 1.0; }
fn add(work: Work, times: i64) {
    let x = work.x;
    let y = work.y;
    for round in 0..times { parallel for i in 0..x.len { y[i] = x[i] + 1.0; } }
}
fn last(work: Work) -> f64 { return work.y[work.y.len - 1] as f64; }
)";
    const dhpvm::Engine engine;
    IsolateOptions options;
    options.jit_wait = true;
    options.device = std::move(device);
    options.batch = batch;
    return insist(Isolate::create(insist(Module::compile(engine, kProgram)), options));
  }

  Isolate isolate_;
  Object work_;
  Function<void(Object)> touch_;
  Function<void(Object, std::int64_t)> add_;
  Function<double(Object)> last_;
};

// One side of a comparison: `submit` gives kOperations to the device, `finish` waits for them.
struct Side {
  std::function<void()> submit;
  std::function<void()> finish;

  double microseconds() const {
    const double begin = processor_seconds();
    submit();
    const double time = (processor_seconds() - begin) * 1e6 / kOperations;
    finish();
    return time;
  }
};

void compare(bool json, std::string_view name, std::string_view over_what, const Side& by_hand,
             const Side& ours) {
  std::vector<double> times_by_hand;
  std::vector<double> our_times;
  for (int repeat = 0; repeat <= kRepeats; ++repeat) {
    const double time_by_hand = by_hand.microseconds();
    const double our_time = ours.microseconds();
    if (repeat == 0) continue;
    times_by_hand.push_back(time_by_hand);
    our_times.push_back(our_time);
  }
  const double over = median(our_times) - median(times_by_hand);
  constexpr double kBar = 10;
  if (json) {
    print_json_line({{"name", fmt::format("{}, over {}", name, over_what)},
                     {"value", over},
                     {"unit", "us"},
                     {"bar", kBar},
                     {"met", over <= kBar}});
  } else {
    fmt::print("{:<44} {:<28} {:>8.3f} us   ours {:>8.3f} us   over {:>8.3f} us   bar <= {} {}\n", name,
               over_what, median(times_by_hand), median(our_times), over, kBar,
               over <= kBar ? "met" : "MISSED");
  }
}

template <typename Operation>
std::function<void()> repeated(Operation&& operation) {
  return [operation] {
    for (int i = 0; i < kOperations; ++i) operation();
  };
}

// Ends the process unless the measured operations have happened.
void expect(std::uint64_t found, std::uint64_t expected, std::string_view what) {
  if (found == expected) return;
  fmt::print(stderr, "{} {} where {} were expected\n", found, what, expected);
  std::exit(1);
}

void run(bool json) {
  constexpr std::string_view kDriver = "raw calls";
  constexpr std::string_view kLayer = "the device layer";
  Raw raw;
  Ours ours;
  const Side raw_launches{repeated([&] { raw.launch(); }), [&] { raw.finish(); }};
  compare(json, "launch on a resident array", kDriver, raw_launches,
          {repeated([&] { ours.launch(); }), [&] { ours.finish(); }});
  compare(json, "copy of 4 KiB", kDriver, {repeated([&] { raw.copy(); }), [&] { raw.finish(); }},
          {repeated([&] { ours.copy(); }), [&] { ours.finish(); }});

  // Arrays as small as lie outside the heap.
  constexpr std::int64_t kElements = RawChunks::kChunkBytes / sizeof(float);
  Loops loops("opencl:0", 16 * kElements, 0);
  compare(json, "parallel loop on resident arrays, in all", kDriver, raw_launches,
          {[&] { loops.add(kOperations); }, [&] { loops.finish(); }});
  expect(loops.statistics().device_launches, (kRepeats + 1) * kOperations, "launches");

  Loops chunks("opencl:0", kOperations * kElements, kElements);
  compare(json, "chunk in memory that is shared, in all", kDriver, raw_launches,
          {[&] { chunks.add(1); }, [&] { chunks.finish(); }});
  expect(chunks.statistics().device_launches, (kRepeats + 1) * kOperations, "launches");

  RawChunks raw_chunks;
  Loops copied("sim", kOperations * kElements, kElements);
  compare(json, "chunk with both copies, in all", kLayer,
          {repeated([&] { raw_chunks.chunk(); }), [&] { raw_chunks.finish(); }},
          {[&] { copied.add(1); }, [&] { copied.finish(); }});
  expect(copied.statistics().device_uploads, (kRepeats + 1) * kOperations, "uploads");
  expect(copied.statistics().device_downloads, (kRepeats + 1) * kOperations, "downloads");
}

}  // namespace
}  // namespace dhpvm::offload

int main(int argc, char** argv) { dhpvm::offload::run(argc > 1 && std::string_view(argv[1]) == "--json"); }
