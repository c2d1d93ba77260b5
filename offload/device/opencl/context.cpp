// SPDX-License-Identifier: Apache-2.0
#include "offload/device/opencl/context.h"

#include <array>
#include <cstdio>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

constexpr std::size_t kProbeBytes = 4096;

// Queues and buffers of the probe below.
class Probe {
 public:
  Probe(const OpenClApi& api, cl_context context, cl_device_id device, std::byte* memory) : api_(api) {
    cl_int code = CL_SUCCESS;
    queue_ = api.CreateCommandQueue(context, device, 0, &code);
    if (code == CL_SUCCESS)
      shared_ = api.CreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, kProbeBytes, memory, &code);
    if (code == CL_SUCCESS) own_ = api.CreateBuffer(context, CL_MEM_READ_WRITE, kProbeBytes, nullptr, &code);
    ready_ = code == CL_SUCCESS;
  }
  ~Probe() {
    if (own_ != nullptr) api_.ReleaseMemObject(own_);
    if (shared_ != nullptr) api_.ReleaseMemObject(shared_);
    if (queue_ != nullptr) api_.ReleaseCommandQueue(queue_);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  bool ready() const { return ready_; }
  // Through the device, which writes to memory without being told that the host looks on.
  bool fill(cl_uint value) const {
    return api_.EnqueueFillBuffer(queue_, shared_, &value, sizeof(value), 0, kProbeBytes, 0, nullptr, nullptr) ==
               CL_SUCCESS &&
           api_.Finish(queue_) == CL_SUCCESS;
  }
  // What the device finds there.
  bool read(cl_uint* value) const {
    return api_.EnqueueCopyBuffer(queue_, shared_, own_, 0, 0, kProbeBytes, 0, nullptr, nullptr) == CL_SUCCESS &&
           api_.EnqueueReadBuffer(queue_, own_, CL_TRUE, 0, sizeof(*value), value, 0, nullptr, nullptr) == CL_SUCCESS;
  }

 private:
  const OpenClApi& api_;
  cl_command_queue queue_ = nullptr;
  cl_mem shared_ = nullptr;
  cl_mem own_ = nullptr;
  bool ready_ = false;
};

}  // namespace

OpenClContext::OpenClContext(std::shared_ptr<const OpenClApi> api, OpenClCandidate candidate, cl_context handle,
                             std::function<void(const std::string&)> warn)
    : api_(std::move(api)),
      candidate_(std::move(candidate)),
      handle_(handle),
      host_caller_(*api_, *tracker_, clock_),
      warn_(std::move(warn)) {}

OpenClContext::~OpenClContext() { api_->ReleaseContext(handle_); }

void OpenClContext::warn_once(const std::string& message) {
  if (!warned_.exchange(true) && warn_) warn_(message);
}

Result<std::shared_ptr<OpenClContext>> OpenClContext::create(std::shared_ptr<const OpenClApi> api,
                                                             OpenClCandidate candidate, bool share,
                                                             std::function<void(const std::string&)> warn) {
  const std::array<cl_context_properties, 3> properties = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(candidate.platform), 0};
  cl_int code = CL_SUCCESS;
  cl_context const handle =
      api->CreateContext(properties.data(), 1, &candidate.device, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) return opencl_error(code, "clCreateContext");
  std::shared_ptr<OpenClContext> context(new OpenClContext(std::move(api), std::move(candidate), handle, std::move(warn)));
  DeviceInfo& info = context->candidate_.info;
  info.shares_host_memory = share && context->candidate_.host_unified_memory && context->is_zero_copy();
  if (info.shares_host_memory) info.copy_engines = 0;
  return context;
}

// OpenCL promises that host and device see each other's writes to CL_MEM_USE_HOST_PTR memory only around map and unmap,
// which cost a command each. Where the device works on the memory itself, as processors and most integrated GPUs do, they
// are not needed; a driver that keeps a copy shows here.
bool OpenClContext::is_zero_copy() const {
  struct alignas(kProbeBytes) Page {
    std::array<volatile cl_uint, kProbeBytes / sizeof(cl_uint)> words = {};
  };
  const auto page = std::make_unique<Page>();
  const Probe probe(*api_, handle_, candidate_.device, reinterpret_cast<std::byte*>(page.get()));
  if (!probe.ready()) return false;
  for (const cl_uint value : {0x5a5a1234U, 0xa5a54321U}) {
    cl_uint seen = 0;
    if (!probe.fill(value) || page->words.front() != value || page->words.back() != value) return false;
    page->words.front() = value + 1;
    if (!probe.read(&seen) || seen != value + 1) return false;
  }
  return true;
}

}  // namespace dhpvm::offload
