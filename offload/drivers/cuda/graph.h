// SPDX-License-Identifier: Apache-2.0
// Batches as graphs: several launches and copies, given to the driver as one.
//
// Graphs are built node by node. Capturing a stream would record what other threads do as well, and forbid the queries
// of events and the allocations that go on meanwhile.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "offload/devices/batch_records.h"
#include "offload/drivers/cuda/cuda_device.h"

namespace dhpvm::offload {

// The device's context must be current, but for the destructor.
class CudaGraph {
 public:
  static Result<std::shared_ptr<CudaGraph>> create(CudaDevice& device, const std::vector<Operation>& steps);
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // Launches with the scalars that `steps` have now; nothing else has changed. Launches under way keep theirs.
  Status update(const std::vector<Operation>& steps, std::span<const BatchRecords::Change> changes);
  cu::Code launch(cu::Stream stream) const { return device_.api().GraphLaunch(exec_, stream); }

 private:
  explicit CudaGraph(CudaDevice& device) : device_(device) {}
  Status add_nodes(const std::vector<Operation>& steps);

  CudaDevice& device_;
  cu::Graph graph_ = nullptr;
  cu::GraphExec exec_ = nullptr;
  std::vector<cu::GraphNode> nodes_;              // by step
  std::vector<std::shared_ptr<Kernel>> kernels_;  // whose code the nodes refer to
};

// The graphs of a queue's batches: of the last ones that have come twice. Used by the thread that uses the queue.
class CudaRecordings {
 public:
  explicit CudaRecordings(CudaDevice& device) : device_(device) {}

  struct Recording {
    std::shared_ptr<CudaGraph> graph;  // null: it is launched step by step
    std::string failure;               // why there will be none; empty: nothing has failed
    std::shared_ptr<StepTimes> times;
  };
  // That of the batch, ready to be launched. Stays until the next call.
  Recording& find(const std::vector<Operation>& steps);

  static bool is_recordable(const Operation& step);

 private:
  static constexpr std::size_t kPlaces = 32;
  struct Numbers final : BatchRecords::Numbers {
    std::uint64_t of(const Kernel& kernel) const override;
    std::optional<std::uint64_t> of(const DeviceMemory& memory) const override;
  };

  CudaDevice& device_;
  const Numbers numbers_;
  BatchRecords records_{numbers_, kPlaces};
  std::array<Recording, kPlaces> recordings_;  // by place
};

}  // namespace dhpvm::offload
