// SPDX-License-Identifier: Apache-2.0
// Measures what it costs the host to give work to OpenCL devices, over the calls of the driver that do the same:
// `enqueue_bench [--json]`. Times are processor time of the one thread that submits; raw calls and ours take turns.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "offload/device/opencl/opencl_device.h"

namespace dhpvm::offload {
namespace {

using codegen::ParameterKind;

constexpr int kRepeats = 15;
constexpr int kOperations = 500;
constexpr std::size_t kBytes = 4096;

template <typename T>
T need(Result<T> result) {
  if (!result.ok()) {
    fmt::print(stderr, "{}\n", result.error().to_string());
    std::exit(1);
  }
  return std::move(result).value();
}

void need(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", status.error().to_string());
  std::exit(1);
}

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// A loop over two arrays with a scalar, which does next to nothing.
KernelImage image() {
  KernelImage image;
  image.format = KernelFormat::kOpenClC;
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
  Raw() : api_(need(OpenClApi::load())) {
    const std::vector<OpenClCandidate> found = need(find_opencl_devices(*api_));
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
    if (kernel_ == nullptr) need(Status(opencl_error(code, "clCreateKernel")));
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
  Ours() : device_(need(opencl_factory()->open("opencl:0"))) {
    for (std::shared_ptr<DeviceMemory>& memory : memory_) memory = need(device_->allocate(kBytes));
    kernel_ = need(device_->load(image()));
    done_ = need(device_->create_semaphore(0));
    queue_ = need(device_->create_queue({}));
  }

  // Each operation signals a value, as those of a pipeline do.
  void launch() {
    const ArrayArgument arrays[] = {{{memory_[0], 0, kBytes}, 0, 8, 0, 8, {}},
                                    {{memory_[1], 0, kBytes}, 0, 8, 8, 8, {}}};
    const std::uint64_t scalars[] = {1};
    Launch launch;
    launch.kernel = kernel_;
    launch.space.high[0] = 64;
    launch.scalars = scalars;
    launch.arrays = arrays;
    const SemaphoreValue signals[] = {{done_, ++value_}};
    need(queue_->launch(launch, {{}, signals}));
  }
  void copy() {
    const SemaphoreValue signals[] = {{done_, ++value_}};
    need(queue_->copy({memory_[1], 0, kBytes}, {memory_[0], 0, kBytes}, {{}, signals}));
  }
  void finish() { need(done_->wait(value_)); }

 private:
  std::unique_ptr<Device> device_;
  std::shared_ptr<DeviceMemory> memory_[2];
  std::shared_ptr<Kernel> kernel_;
  std::shared_ptr<Semaphore> done_;
  std::unique_ptr<Queue> queue_;
  std::uint64_t value_ = 0;
};

void compare(bool json, std::string_view name, Raw& raw, Ours& ours, void (Raw::*raw_call)() const,
             void (Ours::*our_call)()) {
  std::vector<double> raw_times;
  std::vector<double> our_times;
  for (int repeat = 0; repeat <= kRepeats; ++repeat) {
    double begin = processor_seconds();
    for (int i = 0; i < kOperations; ++i) (raw.*raw_call)();
    const double raw_time = (processor_seconds() - begin) * 1e6 / kOperations;
    raw.finish();
    begin = processor_seconds();
    for (int i = 0; i < kOperations; ++i) (ours.*our_call)();
    const double our_time = (processor_seconds() - begin) * 1e6 / kOperations;
    ours.finish();
    if (repeat == 0) continue;
    raw_times.push_back(raw_time);
    our_times.push_back(our_time);
  }
  const double over = median(our_times) - median(raw_times);
  constexpr double kBar = 10;
  if (json) {
    fmt::print(
        "{{\"name\": \"{}, over raw calls\", \"value\": {:.4g}, \"unit\": \"us\", \"bar\": {}, \"met\": "
        "{}}}\n",
        name, over, kBar, over <= kBar);
  } else {
    fmt::print("{:<32} raw {:>8.3f} us   ours {:>8.3f} us   over {:>8.3f} us   bar <= {} {}\n", name,
               median(raw_times), median(our_times), over, kBar, over <= kBar ? "met" : "MISSED");
  }
}

void run(bool json) {
  Raw raw;
  Ours ours;
  compare(json, "launch on a resident array", raw, ours, &Raw::launch, &Ours::launch);
  compare(json, "copy of 4 KiB", raw, ours, &Raw::copy, &Ours::copy);
}

}  // namespace
}  // namespace dhpvm::offload

int main(int argc, char** argv) { dhpvm::offload::run(argc > 1 && std::string_view(argv[1]) == "--json"); }
