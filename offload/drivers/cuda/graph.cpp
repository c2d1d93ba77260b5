// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/graph.h"

#include <utility>

#include "offload/drivers/cuda/kernel.h"
#include "offload/drivers/cuda/memory.h"

namespace dhpvm::offload {
namespace {

using Kind = OperationRecord::Kind;

const CudaKernel& kernel_of(const Operation& launch) {
  return static_cast<const CudaKernel&>(*launch.kernel);
}

cu::CopyEnd end_of(const MemorySpan& span) {
  cu::CopyEnd end;
  const cu::Address address = static_cast<const CudaMemory&>(*span.memory).address();
  if (address != 0) {
    end.device = address + span.offset;
  } else {
    end.type = cu::MEMORYTYPE_HOST;
    end.host = span.memory->host() + span.offset;
  }
  return end;
}

}  // namespace

Result<std::shared_ptr<CudaGraph>> CudaGraph::create(CudaDevice& device,
                                                     const std::vector<Operation>& steps) {
  const cu::Api& api = device.api();
  std::shared_ptr<CudaGraph> made(new CudaGraph(device));
  cu::Code code = api.GraphCreate(&made->graph_, 0);
  if (code != cu::CUDA_SUCCESS) return api.error_of(code, "cuGraphCreate");
  DHPVM_TRY(made->add_nodes(steps));
  code = api.GraphInstantiate(&made->exec_, made->graph_, 0);
  if (code != cu::CUDA_SUCCESS) return api.error_of(code, "cuGraphInstantiate");
  return made;
}

CudaGraph::~CudaGraph() {
  const CudaCurrent current(device_);
  if (exec_ != nullptr) device_.api().GraphExecDestroy(exec_);
  if (graph_ != nullptr) device_.api().GraphDestroy(graph_);
}

// Each step comes after the one before it, as in a queue.
Status CudaGraph::add_nodes(const std::vector<Operation>& steps) {
  const cu::Api& api = device_.api();
  for (const Operation& step : steps) {
    const bool is_first = nodes_.empty();
    const cu::GraphNode* const after = is_first ? nullptr : &nodes_.back();
    cu::GraphNode node = nullptr;
    if (step.record.kind == Kind::kLaunch) {
      CudaKernel::Arguments arguments(kernel_of(step), step);
      const cu::KernelNodeParams params = kernel_of(step).node(step, arguments);
      const cu::Code code = api.GraphAddKernelNode(&node, graph_, after, is_first ? 0 : 1, &params);
      if (code != cu::CUDA_SUCCESS) return api.error_of(code, "cuGraphAddKernelNode");
      kernels_.push_back(step.kernel);
    } else {
      cu::CopyNodeParams params;
      params.from = end_of(step.from);
      params.to = end_of(step.to);
      params.bytes = step.to.bytes;
      const cu::Code code =
          api.GraphAddMemcpyNode(&node, graph_, after, is_first ? 0 : 1, &params, device_.context());
      if (code != cu::CUDA_SUCCESS) return api.error_of(code, "cuGraphAddMemcpyNode");
    }
    nodes_.push_back(node);
  }
  return {};
}

Status CudaGraph::update(const std::vector<Operation>& steps, std::span<const BatchRecords::Change> changes) {
  for (std::size_t n = 0; n < changes.size(); ++n) {
    const std::size_t step = changes[n].step;
    if (n != 0 && changes[n - 1].step == step) continue;
    CudaKernel::Arguments arguments(kernel_of(steps[step]), steps[step]);
    const cu::KernelNodeParams params = kernel_of(steps[step]).node(steps[step], arguments);
    const cu::Code code = device_.api().GraphExecKernelNodeSetParams(exec_, nodes_[step], &params);
    if (code != cu::CUDA_SUCCESS) return device_.api().error_of(code, "cuGraphExecKernelNodeSetParams");
  }
  return {};
}

CudaRecordings::Recording& CudaRecordings::find(const std::vector<Operation>& steps) {
  const BatchRecords::Entry entry = records_.enter(0, steps);
  Recording& recording = recordings_[entry.place];
  if (entry.is_new) {
    recording = {nullptr, "", std::make_shared<StepTimes>()};
    return recording;
  }
  if (!recording.failure.empty()) return recording;
  Status status;
  if (recording.graph != nullptr) {
    status = recording.graph->update(steps, entry.changes);
  } else if (Result<std::shared_ptr<CudaGraph>> made = CudaGraph::create(device_, steps); made.ok()) {
    recording.graph = std::move(made).value();
  } else {
    status = std::move(made).error();
  }
  if (status.ok()) return recording;
  recording.graph = nullptr;
  recording.failure = status.error().message();
  return recording;
}

// Not what a queue does in several pieces, or by a function of the host.
bool CudaRecordings::is_recordable(const Operation& step) {
  const auto is_reachable = [](const MemorySpan& span) {
    const auto& memory = static_cast<const CudaMemory&>(*span.memory);
    return memory.address() != 0 || memory.is_pinned();
  };
  switch (step.record.kind) {
    case Kind::kLaunch: return true;
    case Kind::kUpload:
    case Kind::kDownload: return step.to.bytes != 0 && is_reachable(step.to) && is_reachable(step.from);
    case Kind::kDeviceCopy: {
      const bool is_on_device = static_cast<const CudaMemory&>(*step.to.memory).address() != 0;
      return step.to.bytes != 0 && is_on_device;
    }
    case Kind::kFill:
    case Kind::kHostCall: break;
  }
  return false;
}

std::uint64_t CudaRecordings::Numbers::of(const Kernel& kernel) const {
  return static_cast<const CudaKernel&>(kernel).number();
}

std::optional<std::uint64_t> CudaRecordings::Numbers::of(const DeviceMemory& memory) const {
  return static_cast<const CudaMemory&>(memory).number();
}

}  // namespace dhpvm::offload
