// SPDX-License-Identifier: Apache-2.0
// Objects behind an interface: tasks of six classes pass messages through queues, and a scheduler calls them
// in turn. The interface is a class with a virtual function; a message is freed by the task that drops it.
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <utility>

#include "../measure.h"

namespace {

struct Message {
  std::int64_t value = 0;
  std::int64_t hops = 0;
  Message* next = nullptr;
};

class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() {
    while (Message* m = take()) delete m;
  }

  std::int64_t len() const { return len_; }
  void put(Message* m) {
    m->next = nullptr;
    if (last_ == nullptr) {
      first_ = m;
    } else {
      last_->next = m;
    }
    last_ = m;
    ++len_;
  }
  Message* take() {
    Message* m = first_;
    if (m == nullptr) return nullptr;
    first_ = m->next;
    if (first_ == nullptr) last_ = nullptr;
    --len_;
    return m;
  }

 private:
  Message* first_ = nullptr;
  Message* last_ = nullptr;
  std::int64_t len_ = 0;
};

// The interface of a task: step() does a little work, and returns for how many rounds the task rests.
class Task {
 public:
  virtual ~Task() = default;
  virtual std::int64_t step() = 0;
};

// Makes messages, unless too many are waiting.
class Producer : public Task {
 public:
  Producer(Queue* out, std::int64_t state) : out_(out), state_(state) {}
  std::int64_t step() override {
    if (out_->len() >= 64) return 5;
    state_ = (state_ * 1103515245 + 12345) % 2147483648;
    out_->put(new Message{state_ / 8});
    return state_ >> 28;
  }

 private:
  Queue* out_;
  std::int64_t state_;
};

// Lets two of three messages through.
class Filter : public Task {
 public:
  Filter(Queue* input, Queue* out) : input_(input), out_(out) {}
  std::int64_t dropped() const { return dropped_; }
  std::int64_t step() override {
    Message* m = input_->take();
    if (m == nullptr) return 2;
    if (m->value % 3 == 0) {
      ++dropped_;
      delete m;
    } else {
      out_->put(m);
    }
    return 0;
  }

 private:
  Queue* input_;
  Queue* out_;
  std::int64_t dropped_ = 0;
};

// Sends each message to one of several queues.
class Router : public Task {
 public:
  Router(Queue* input, std::vector<Queue*> outs) : input_(input), outs_(std::move(outs)) {}
  std::int64_t step() override {
    Message* m = input_->take();
    if (m == nullptr) return 1;
    ++m->hops;
    outs_[m->value % static_cast<std::int64_t>(outs_.size())]->put(m);
    return 0;
  }

 private:
  Queue* input_;
  std::vector<Queue*> outs_;
};

// Computes with a message for some rounds, then passes it on.
class Worker : public Task {
 public:
  Worker(Queue* input, Queue* out) : input_(input), out_(out) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() override { delete current_; }
  std::int64_t step() override {
    Message* m = current_;
    if (m == nullptr) {
      current_ = input_->take();
      left_ = 3;
      return 0;
    }
    m->value = (m->value * 31 + left_) % 1000003;
    --left_;
    if (left_ == 0) {
      ++m->hops;
      out_->put(m);
      current_ = nullptr;
    }
    return 0;
  }

 private:
  Queue* input_;
  Queue* out_;
  Message* current_ = nullptr;
  std::int64_t left_ = 0;
};

// Sends messages back that have not gone far enough.
class Gate : public Task {
 public:
  Gate(Queue* input, Queue* back, Queue* out) : input_(input), back_(back), out_(out) {}
  std::int64_t step() override {
    Message* m = input_->take();
    if (m == nullptr) return 1;
    if (m->hops < 6) {
      back_->put(m);
    } else {
      out_->put(m);
    }
    return 0;
  }

 private:
  Queue* input_;
  Queue* back_;
  Queue* out_;
};

class Consumer : public Task {
 public:
  explicit Consumer(Queue* input) : input_(input) {}
  std::int64_t count() const { return count_; }
  std::int64_t sum() const { return sum_; }
  std::int64_t step() override {
    Message* m = input_->take();
    if (m == nullptr) return 3;
    ++count_;
    sum_ = (sum_ * 7 + m->value) % 1000000007;
    delete m;
    return 0;
  }

 private:
  Queue* input_;
  std::int64_t count_ = 0;
  std::int64_t sum_ = 0;
};

// A task in the list of the scheduler.
struct Entry {
  std::unique_ptr<Task> task;
  std::int64_t rest = 0;
  std::unique_ptr<Entry> next;
};

class Scheduler {
 public:
  std::int64_t steps() const { return steps_; }
  template <typename T>
  T* add(std::unique_ptr<T> task) {
    T* added = task.get();
    auto entry = std::make_unique<Entry>();
    entry->task = std::move(task);
    Entry* tail = last_;
    last_ = entry.get();
    (tail == nullptr ? first_ : tail->next) = std::move(entry);
    return added;
  }
  void run(std::int64_t rounds) {
    for (std::int64_t round = 0; round < rounds; ++round) {
      for (Entry* entry = first_.get(); entry != nullptr; entry = entry->next.get()) {
        if (entry->rest > 0) {
          --entry->rest;
        } else {
          entry->rest = entry->task->step();
          ++steps_;
        }
      }
    }
  }

 private:
  std::unique_ptr<Entry> first_;
  Entry* last_ = nullptr;
  std::int64_t steps_ = 0;
};

void simulate(std::int64_t rounds) {
  Queue made, fit, left, right, worked, ready;
  Scheduler scheduler;
  scheduler.add(std::make_unique<Producer>(&made, 42));
  const Filter* filter = scheduler.add(std::make_unique<Filter>(&made, &fit));
  scheduler.add(std::make_unique<Router>(&fit, std::vector<Queue*>{&left, &right}));
  scheduler.add(std::make_unique<Worker>(&left, &worked));
  scheduler.add(std::make_unique<Worker>(&right, &worked));
  scheduler.add(std::make_unique<Gate>(&worked, &fit, &ready));
  const Consumer* consumer = scheduler.add(std::make_unique<Consumer>(&ready));
  scheduler.run(rounds);
  std::printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", scheduler.steps(), filter->dropped(),
              consumer->count(), consumer->sum());
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 1'000'000);
  while (run.next()) {
    simulate(run.size());
    run.done();
  }
}
