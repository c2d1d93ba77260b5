// SPDX-License-Identifier: Apache-2.0
// The marker's explicit stack: a fixed reservation, touched only as deep as it is used.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/reservation_pool.h"
#include "gc/object.h"

namespace dhpvm::gc {

class MarkStack {
 public:
  MarkStack() = default;
  ~MarkStack() {
    if (used_ && pool_ != nullptr) memory_.discard(0, memory_.size());
    give_back_reservation(pool_, std::move(memory_));
  }
  MarkStack(const MarkStack&) = delete;
  MarkStack& operator=(const MarkStack&) = delete;

  // If the system refuses, tries half as much, and half again. False if it refuses even a page. `pool` may be null, and
  // otherwise outlives the stack.
  bool reserve(std::size_t bytes, ReservationPool* pool) {
    pool_ = pool;
    for (; bytes >= kPage; bytes /= 2) {
      memory_ = take_reservation(pool, (bytes + kPage - 1) / kPage * kPage, kPage);
      if (memory_.data() == nullptr) continue;
      top_ = bottom_ = begin();
      return true;
    }
    return false;
  }

  bool empty() const { return top_ == bottom_; }
  std::size_t size() const { return static_cast<std::size_t>(top_ - bottom_); }
  // False if the stack is full: the object is then not on it.
  bool push(Object* object) {
    if (top_ == end()) [[unlikely]]
      return false;
    *top_++ = object;
    return true;
  }

  // The stack's top, in registers of a loop that pushes and pops. While it is open, nothing else uses the stack.
  class Cursor {
   public:
    explicit Cursor(MarkStack& stack) : stack_(stack) { open(); }
    ~Cursor() { close(); }
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    void open() {
      top_ = stack_.top_;
      bottom_ = stack_.bottom_;
      end_ = stack_.end();
    }
    void close() { stack_.top_ = top_; }

    bool empty() const { return top_ == bottom_; }
    // How many more objects fit.
    std::size_t room() const { return static_cast<std::size_t>(end_ - top_); }
    // Precondition: there is room.
    void push_unless_null(Object* object) {
      *top_ = object;
      top_ += object != nullptr ? 1 : 0;
    }
    // Precondition: there is room, and `object` is not null.
    void push_again(Object* object) { *top_++ = object; }
    Object* pop() { return *--top_; }

   private:
    MarkStack& stack_;
    Object** top_ = nullptr;
    Object** bottom_ = nullptr;
    Object** end_ = nullptr;
  };

  // Empties the stack, and makes room again that was lost below when the oldest objects were taken.
  void rewind() {
    top_ = bottom_ = begin();
    used_ = true;
  }
  // Removes the `count` objects that were pushed first; more than these are here. Valid until the next push.
  std::span<Object* const> take_oldest(std::size_t count) {
    const std::span<Object* const> oldest(bottom_, count);
    bottom_ += count;
    return oldest;
  }

  std::span<Object* const> all() const { return {bottom_, top_}; }

  // After a collection: gives memory back if a deep structure has touched hundreds of MiB. A small stack is kept for
  // the next collection.
  void trim() const {
    if (memory_.size() > kKept) memory_.discard(kKept, memory_.size() - kKept);
  }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kKept = 1024 * 1024;
  Object** begin() const { return reinterpret_cast<Object**>(memory_.data()); }
  Object** end() const { return begin() + memory_.size() / sizeof(Object*); }

  ReservationPool* pool_ = nullptr;
  Reservation memory_;
  bool used_ = false;  // since it was taken from the pool
  Object** top_ = nullptr;
  Object** bottom_ = nullptr;  // entries below have been taken from there
};

}  // namespace dhpvm::gc
