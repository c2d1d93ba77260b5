// SPDX-License-Identifier: Apache-2.0
// Linked structures that change: sorting a list by its links, and a binary search tree that grows and
// shrinks. Plain pointers, `new` and `delete`.
#include <cinttypes>
#include <cstdio>

#include "../measure.h"

namespace {

struct Link {
  std::int64_t value = 0;
  Link* next = nullptr;
};

// Two sorted lists become one.
Link* merge(Link* x, Link* y) {
  Link head;
  Link* tail = &head;
  while (x != nullptr && y != nullptr) {
    if (x->value <= y->value) {
      tail->next = x;
      tail = x;
      x = x->next;
    } else {
      tail->next = y;
      tail = y;
      y = y->next;
    }
  }
  tail->next = x != nullptr ? x : y;
  return head.next;
}

// Sorts the first n links; what follows them is cut off.
Link* sort(Link* list, std::int64_t n) {
  if (list == nullptr) return nullptr;
  if (n == 1) {
    list->next = nullptr;
    return list;
  }
  Link* middle = list;
  for (std::int64_t i = 0; i < n / 2; ++i) {
    if (middle != nullptr) middle = middle->next;
  }
  // The second half first: sorting the first half cuts it off.
  Link* second = sort(middle, n - n / 2);
  return merge(sort(list, n / 2), second);
}

Link* reverse(Link* rest) {
  Link* done = nullptr;
  while (rest != nullptr) {
    Link* next = rest->next;
    rest->next = done;
    done = rest;
    rest = next;
  }
  return done;
}

struct Node {
  std::int64_t key = 0;
  std::int64_t count = 0;
  Node* left = nullptr;
  Node* right = nullptr;
};

class Tree {
 public:
  Tree() = default;
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() { free(root_); }

  const Node* root() const { return root_; }

  void insert(std::int64_t key) {
    Node* node = root_;
    if (node == nullptr) {
      root_ = new Node{key, 1};
      return;
    }
    while (true) {
      if (key == node->key) {
        ++node->count;
        return;
      }
      Node* below = key < node->key ? node->left : node->right;
      if (below == nullptr) {
        (key < node->key ? node->left : node->right) = new Node{key, 1};
        return;
      }
      node = below;
    }
  }

  // Takes the key out; whether it was there.
  bool remove(std::int64_t key) {
    Node* parent = nullptr;
    Node* node = root_;
    while (node != nullptr && node->key != key) {
      parent = node;
      node = key < node->key ? node->left : node->right;
    }
    if (node == nullptr) return false;
    if (node->left != nullptr && node->right != nullptr) {
      // The next larger key takes its place.
      Node* above = node;
      Node* next = node->right;
      while (next->left != nullptr) {
        above = next;
        next = next->left;
      }
      node->key = next->key;
      node->count = next->count;
      replace(above, next, next->right);
      delete next;
    } else {
      replace(parent, node, node->left != nullptr ? node->left : node->right);
      delete node;
    }
    return true;
  }

 private:
  void replace(Node* parent, const Node* node, Node* by) {
    if (parent == nullptr) {
      root_ = by;
    } else if (parent->left == node) {
      parent->left = by;
    } else {
      parent->right = by;
    }
  }
  static void free(Node* node) {
    if (node == nullptr) return;
    free(node->left);
    free(node->right);
    delete node;
  }

  Node* root_ = nullptr;
};

// A hash of all keys and their counts, in order.
std::int64_t digest(const Node* node, std::int64_t start) {
  if (node == nullptr) return start;
  const std::int64_t before = digest(node->left, start);
  return digest(node->right, (before * 31 + node->key * node->count) % 1000000007);
}

void linked(std::int64_t n) {
  Link* list = nullptr;
  std::int64_t x = 42;
  for (std::int64_t i = 0; i < n; ++i) {
    x = (x * 1103515245 + 12345) % 2147483648;
    list = new Link{x >> 8, list};
  }
  std::int64_t sum = 0;
  list = reverse(sort(reverse(list), n));
  while (list != nullptr) {
    sum = (sum * 31 + list->value) % 1000000007;
    Link* next = list->next;
    delete list;
    list = next;
  }

  Tree tree;
  for (std::int64_t i = 0; i < n; ++i) {
    x = (x * 1103515245 + 12345) % 2147483648;
    tree.insert((x >> 8) % n);
  }
  std::int64_t removed = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    x = (x * 1103515245 + 12345) % 2147483648;
    if (tree.remove((x >> 8) % n)) ++removed;
  }
  std::printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", sum, removed, digest(tree.root(), 0));
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 200'000);
  while (run.next()) {
    linked(run.size());
    run.done();
  }
}
