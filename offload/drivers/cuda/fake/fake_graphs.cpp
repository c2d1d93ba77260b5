// SPDX-License-Identifier: Apache-2.0
// Graphs of the fake driver. A launch runs the nodes in the last order that their dependencies permit. It is refused,
// and counts as a misuse, if a node refers to memory that was freed since, even if other memory has its address now, or
// to a function of a module that is not loaded any more.
#include <algorithm>
#include <cstring>
#include <utility>

#include "offload/drivers/cuda/fake/fake_call.h"

using namespace dhpvm::offload::cu;        // NOLINT: it defines what these declare
using namespace dhpvm::offload::cu::fake;  // NOLINT

namespace {

bool is_of(const CUgraphExec_st& exec, const CUgraphNode_st* node) {
  return std::ranges::any_of(exec.nodes, [&](const auto& entry) { return entry.first == node; });
}

// Whether a node can be added to the graph after these.
bool fits(const CUgraph_st* graph, const GraphNode* after, std::size_t count) {
  if (!state().graphs.contains(const_cast<Graph>(graph))) return false;
  return std::all_of(after, after + count, [&](const CUgraphNode_st* other) {
    const auto is_other = [&](const std::unique_ptr<CUgraphNode_st>& node) { return node.get() == other; };
    return std::ranges::any_of(graph->nodes, is_other) && std::count(after, after + count, other) == 1;
  });
}

GraphNode add(Graph graph, const GraphNode* after, std::size_t count) {
  graph->nodes.push_back(std::make_unique<CUgraphNode_st>());
  graph->nodes.back()->graph = graph;
  graph->nodes.back()->after.assign(after, after + count);
  return graph->nodes.back().get();
}

bool is_plain(const CopyEnd& end) {
  return end.x == 0 && end.y == 0 && end.z == 0 && end.level == 0 && end.array == nullptr &&
         end.reserved == nullptr;
}

// The memory at one end of a copy; registered memory of the host has none.
bool find_memory(const CopyEnd& end, std::size_t bytes,
                 std::vector<std::weak_ptr<dhpvm::ptx::Allocation>>& memories) {
  if (!is_plain(end)) return false;
  if (end.type == MEMORYTYPE_HOST) return is_registered(end.host, bytes);
  const auto memory = allocation_of(end.device, bytes);
  if (memory != nullptr) memories.emplace_back(memory);
  return memory != nullptr;
}

void set_launch(CUgraphNode_st& node, const KernelNodeParams& params) {
  node.function = params.function;
  node.launch = launch_of(*params.function, params);
  node.memories.clear();
  for (std::size_t at = 0; at + sizeof(Address) <= node.launch.parameters.size(); at += sizeof(Address)) {
    Address argument = 0;
    std::memcpy(&argument, node.launch.parameters.data() + at, sizeof(argument));
    if (const auto memory = allocation_of(argument, 1); memory != nullptr) node.memories.emplace_back(memory);
  }
}

bool is_alive(const CUgraphNode_st& node) {
  for (const std::weak_ptr<dhpvm::ptx::Allocation>& memory : node.memories) {
    const auto known = memory.lock();
    if (known == nullptr || allocation_of(known->address(), 1) != known) return false;
  }
  if (node.function != nullptr) return is_loaded(node.function);
  std::vector<std::weak_ptr<dhpvm::ptx::Allocation>> ignored;
  return find_memory(node.copy.from, node.copy.bytes, ignored) &&
         find_memory(node.copy.to, node.copy.bytes, ignored);
}

// Puts the node that was added last first, if its dependencies permit.
std::vector<GraphNode> last_order(const CUgraph_st& graph) {
  std::vector<GraphNode> order;
  const auto is_done = [&](const CUgraphNode_st* node) {
    return std::ranges::find(order, node) != order.end();
  };
  while (order.size() < graph.nodes.size()) {
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
      if (is_done(node->get()) || !std::ranges::all_of((*node)->after, is_done)) continue;
      order.push_back(node->get());
      break;
    }
  }
  return order;
}

// Called without the mutex.
void copy_bytes(const CopyNodeParams& copy) {
  const auto pointer_of = [](const CopyEnd& end) {
    return end.type == MEMORYTYPE_HOST ? end.host : reinterpret_cast<void*>(end.device);
  };
  const auto memory_of = [&](const CopyEnd& end) {
    const std::lock_guard lock(state().mutex);
    return end.type == MEMORYTYPE_HOST ? nullptr : allocation_of(end.device, copy.bytes);
  };
  std::memcpy(pointer_of(copy.to), pointer_of(copy.from), copy.bytes);
  const auto target = memory_of(copy.to);
  const auto source = memory_of(copy.from);
  if (target == nullptr) return;
  const std::uint64_t at = copy.to.device - target->address();
  if (source == nullptr) {
    target->mark_written(at, copy.bytes);
  } else {
    target->copy_marks(at, *source, copy.from.device - source->address(), copy.bytes);
  }
}

}  // namespace

FAKE Code cuGraphCreate(Graph* graph, unsigned flags) {
  FAKE_CALL(cuGraphCreate, true);
  if (flags != 0) return misuse(CUDA_ERROR_INVALID_VALUE);
  *graph = new CUgraph_st{current().back(), {}};
  all.graphs.insert(*graph);
  ++all.counts.graphs;
  return CUDA_SUCCESS;
}

FAKE Code cuGraphDestroy(Graph graph) {
  FAKE_RELEASE(cuGraphDestroy);
  if (all.graphs.erase(graph) == 0) return misuse(CUDA_ERROR_INVALID_VALUE);
  --all.counts.graphs;
  delete graph;
  return answer;
}

FAKE Code cuGraphAddKernelNode_v2(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                                  const KernelNodeParams* launch) {
  FAKE_CALL(cuGraphAddKernelNode_v2, true);
  if (!fits(graph, after, count) || !is_loaded(launch->function) || !is_possible(*launch->function, *launch))
    return misuse(CUDA_ERROR_INVALID_VALUE);
  *node = add(graph, after, count);
  set_launch(**node, *launch);
  return CUDA_SUCCESS;
}

FAKE Code cuGraphAddMemcpyNode(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                               const CopyNodeParams* copy, Context context) {
  FAKE_CALL(cuGraphAddMemcpyNode, true);
  std::vector<std::weak_ptr<dhpvm::ptx::Allocation>> memories;
  if (!fits(graph, after, count) || context != current().back() || copy->bytes == 0 || copy->height != 1 ||
      copy->depth != 1 || !find_memory(copy->from, copy->bytes, memories) ||
      !find_memory(copy->to, copy->bytes, memories))
    return misuse(CUDA_ERROR_INVALID_VALUE);
  *node = add(graph, after, count);
  (*node)->copy = *copy;
  (*node)->memories = std::move(memories);
  return CUDA_SUCCESS;
}

FAKE Code cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long flags) {
  FAKE_CALL(cuGraphInstantiateWithFlags, true);
  if (flags != 0 || !all.graphs.contains(graph) || graph->nodes.empty())
    return misuse(CUDA_ERROR_INVALID_VALUE);
  *exec = new CUgraphExec_st{graph->context, graph, {}, last_order(*graph), 0};
  for (const std::unique_ptr<CUgraphNode_st>& node : graph->nodes) (*exec)->nodes.emplace(node.get(), *node);
  all.execs.insert(*exec);
  ++all.counts.graphs;
  ++all.counts.graphs_made;
  return CUDA_SUCCESS;
}

FAKE Code cuGraphExecKernelNodeSetParams_v2(GraphExec exec, GraphNode node, const KernelNodeParams* launch) {
  FAKE_CALL(cuGraphExecKernelNodeSetParams_v2, true);
  // A node that was added later belongs to the graph, but not to this executable graph.
  if (!all.execs.contains(exec) || !all.graphs.contains(exec->graph) || !is_of(*exec, node))
    return misuse(CUDA_ERROR_INVALID_VALUE);
  CUgraphNode_st& own = exec->nodes.at(node);
  if (own.function == nullptr || own.function != launch->function || !is_loaded(launch->function) ||
      !is_possible(*launch->function, *launch))
    return misuse(CUDA_ERROR_INVALID_VALUE);
  set_launch(own, *launch);
  return CUDA_SUCCESS;
}

FAKE Code cuGraphExecDestroy(GraphExec exec) {
  FAKE_RELEASE(cuGraphExecDestroy);
  // With drivers before CUDA 12.3, this can break a graph in flight.
  if (all.execs.erase(exec) == 0) return misuse(CUDA_ERROR_INVALID_VALUE);
  --all.counts.graphs;
  if (exec->under_way != 0) {
    all.ended_early.emplace_back(exec);
    return misuse(CUDA_ERROR_INVALID_VALUE);
  }
  delete exec;
  return answer;
}

FAKE Code cuGraphLaunch(GraphExec exec, Stream stream) {
  FAKE_CALL(cuGraphLaunch, true);
  if (!all.execs.contains(exec) || exec->context != stream->context) return misuse(CUDA_ERROR_INVALID_VALUE);
  for (const auto& [node, own] : exec->nodes) {
    if (!is_alive(own)) return misuse(CUDA_ERROR_INVALID_VALUE);
  }
  // An update must not change a launch in flight.
  std::vector<CUgraphNode_st> nodes;
  for (const GraphNode node : exec->order) nodes.push_back(exec->nodes.at(node));
  std::vector<CUfunc_st> functions;
  for (const CUgraphNode_st& node : nodes)
    functions.push_back(node.function == nullptr ? CUfunc_st{} : *node.function);
  ++all.counts.graph_launches;
  report("launch of a graph");
  ++exec->under_way;
  push(*stream, [=] {
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      {
        const std::lock_guard inner(state().mutex);
        if (stream->context->lost != CUDA_SUCCESS) break;
      }
      if (functions[n].entry == nullptr) {
        copy_bytes(nodes[n].copy);
      } else {
        run(functions[n], nodes[n].launch, *stream->context);
      }
    }
    const std::lock_guard inner(state().mutex);
    --exec->under_way;
    state().changed.notify_all();
  });
  return CUDA_SUCCESS;
}
