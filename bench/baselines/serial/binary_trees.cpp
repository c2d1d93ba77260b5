// SPDX-License-Identifier: Apache-2.0
// Allocation and freeing: perfect binary trees. Each node is allocated by `new` and freed by `delete`,
// through std::unique_ptr, where the language leaves freeing to its collector.
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <utility>

#include "../measure.h"

namespace {

struct Node {
  std::unique_ptr<Node> left;
  std::unique_ptr<Node> right;

  std::int64_t check() const {
    return 1 + (left != nullptr ? left->check() : 0) + (right != nullptr ? right->check() : 0);
  }
};

std::unique_ptr<Node> tree(std::int64_t depth) {
  auto node = std::make_unique<Node>();
  if (depth > 0) {
    node->left = tree(depth - 1);
    node->right = tree(depth - 1);
  }
  return node;
}

void binary_trees(std::int64_t depth) {
  std::printf("stretch tree of depth %" PRId64 "\t check: %" PRId64 "\n", depth + 1,
              tree(depth + 1)->check());
  const std::unique_ptr<Node> long_lived = tree(depth);
  for (std::int64_t d = 4; d <= depth; d += 2) {
    const std::int64_t count = std::int64_t{1} << (depth - d + 4);
    std::int64_t check = 0;
    for (std::int64_t i = 0; i < count; ++i) check += tree(d)->check();
    std::printf("%" PRId64 "\t trees of depth %" PRId64 "\t check: %" PRId64 "\n", count, d, check);
  }
  std::printf("long lived tree of depth %" PRId64 "\t check: %" PRId64 "\n", depth, long_lived->check());
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 14);
  while (run.next()) {
    binary_trees(run.size());
    run.done();
  }
}
