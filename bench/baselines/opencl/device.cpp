// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "offload/drivers/opencl/platform.h"

namespace opencl {
namespace {

[[noreturn]] void fail(const std::string& problem) {
  std::fprintf(stderr, "%s\n", problem.c_str());
  std::exit(1);
}

void check(cl_int code, const std::string& what) {
  if (code != CL_SUCCESS) fail(what + " failed with OpenCL's error " + std::to_string(code));
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) fail("cannot read " + path + ": give the folder bench/baselines/opencl");
  return std::move(text).str();
}

}  // namespace

std::size_t part_of(std::size_t count, std::size_t most) {
  std::size_t part = std::min(count, most);
  while (count % part != 0) --part;
  return part;
}

Device::Device(const std::string& name, std::string folder) : folder_(std::move(folder)) {
  auto api = dhpvm::offload::OpenClApi::load();
  if (!api.ok()) fail(api.error().message());
  api_ = *api;
  const auto found = dhpvm::offload::find_opencl_devices(*api_);
  if (!found.ok()) fail(found.error().message());
  for (const dhpvm::offload::OpenClCandidate& candidate : *found) {
    if (candidate.info.name != name) continue;
    if (candidate.problem) fail(name + ": " + candidate.problem->message());
    device_ = candidate.device;
    compute_units_ = candidate.info.compute_units;
    is_cpu_ = candidate.is_cpu;
    // As exact as the language wants it.
    options_ = candidate.info.target.has_exact_f32 ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
                                                   : "-cl-std=CL1.2";
  }
  if (device_ == nullptr) fail("there is no device " + name);
  cl_int code = CL_SUCCESS;
  context_ = api_->CreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
  check(code, "clCreateContext");
  queue_ = api_->CreateCommandQueue(context_, device_, 0, &code);
  check(code, "clCreateCommandQueue");
}

Device::~Device() {
  api_->ReleaseCommandQueue(queue_);
  api_->ReleaseContext(context_);
}

Buffer::Buffer(const Device& device, std::size_t bytes, const void* contents) : device_(&device) {
  cl_int code = CL_SUCCESS;
  memory_ = device.api_->CreateBuffer(device.context_, CL_MEM_READ_WRITE, bytes, nullptr, &code);
  check(code, "clCreateBuffer");
  check(device.api_->EnqueueWriteBuffer(device.queue_, memory_, CL_TRUE, 0, bytes, contents, 0, nullptr,
                                        nullptr),
        "clEnqueueWriteBuffer");
}

Buffer::~Buffer() {
  if (memory_ != nullptr) device_->api_->ReleaseMemObject(memory_);
}

void Buffer::read(std::size_t offset, std::size_t bytes, void* to) const {
  check(device_->api_->EnqueueReadBuffer(device_->queue_, memory_, CL_TRUE, offset, bytes, to, 0, nullptr,
                                         nullptr),
        "clEnqueueReadBuffer");
}

Kernel::Kernel(const Device& device, const std::string& file, const std::string& name,
               const std::string& options)
    : device_(device) {
  const dhpvm::offload::OpenClApi& api = *device.api_;
  const std::string text = text_of(device.folder_ + "/" + file);
  const char* const source = text.c_str();
  cl_int code = CL_SUCCESS;
  program_ =
      api.CreateProgramWithSource(device.context_, 1, const_cast<const char**>(&source), nullptr, &code);
  check(code, "clCreateProgramWithSource");
  const std::string all = device.options_ + " " + options;
  if (api.BuildProgram(program_, 1, &device.device_, all.c_str(), nullptr, nullptr) != CL_SUCCESS) {
    std::string log(std::size_t{1} << 16, '\0');
    api.GetProgramBuildInfo(program_, device.device_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
    fail("cannot build " + file + ":\n" + log.c_str());
  }
  kernel_ = api.CreateKernel(program_, name.c_str(), &code);
  check(code, "clCreateKernel " + name);
}

Kernel::~Kernel() {
  device_.api_->ReleaseKernel(kernel_);
  device_.api_->ReleaseProgram(program_);
}

void Kernel::set_bytes(cl_uint index, std::size_t bytes, const void* value) const {
  check(device_.api_->SetKernelArg(kernel_, index, bytes, value), "clSetKernelArg " + std::to_string(index));
}

void Kernel::enqueue(const Grid& items, const Grid& group) const {
  Grid fitting = {};
  for (std::size_t axis = 0; axis < 3; ++axis) fitting[axis] = part_of(items[axis], group[axis]);
  check(device_.api_->EnqueueNDRangeKernel(device_.queue_, kernel_, 3, nullptr, items.data(), fitting.data(),
                                           0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

}  // namespace opencl
