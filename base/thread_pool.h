// SPDX-License-Identifier: Apache-2.0
// A pool of threads for data-parallel work. The calling thread takes part; the others start with the first loop that
// has work for them; when they run out of work, they spin for a few microseconds and then sleep.
//
// The chunks of a loop are dealt out as one contiguous share per thread, the same one every time, so that
// successive loops over the same arrays find them in the caches of the cores that had them before. A thread
// that has finished its share takes single chunks from the ends of the others' shares.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

namespace dhpvm {

// Thread-safe: several threads may run loops at once, and the workers divide themselves between them.
class ThreadPool {
 public:
  // `size` threads work on a loop, the caller included; 0 means one for each core that this process may use.
  // A pool of size 1 starts no threads at all.
  explicit ThreadPool(unsigned size = 0);
  // No loop may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const { return size_; }

  // Whether a loop of a few microseconds is worth sharing: true while workers spin, because they join at once. While
  // they sleep and the question is asked often, it is true now and then, to wake them: they are late for this loop, but
  // in time for the next ones.
  bool ready_for_short_loop();

  // Calls body(chunk) once for every chunk in [0, count), on any of the threads, and returns when all calls
  // have. Alone, a thread takes the chunks in ascending order. `body` may itself run loops on this pool; it
  // must not throw.
  template <typename Body>
  void parallel_for_chunks(std::uint32_t count, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run(
        count,
        [](const void* context, std::uint32_t chunk) {
          (*static_cast<Plain*>(const_cast<void*>(context)))(chunk);
        },
        std::addressof(body));
  }

 private:
  using Call = void (*)(const void* context, std::uint32_t chunk);
  struct Share;
  struct Job;
  struct Worker {
    ThreadPool* pool;
    unsigned share;  // the share of every job that belongs to this worker; the caller has share 0
    pthread_t thread;
  };

  void run(std::uint32_t count, Call call, const void* context);
  void start_workers();
  void publish(Job& job, unsigned helpers);
  void withdraw(Job& job);
  void work(unsigned share);
  Job* find_job();
  template <typename Predicate>
  bool spin_until(Predicate predicate) const;

  const unsigned size_;
  bool spins_ = false;  // whether there is a core for each thread

  std::mutex mutex_;
  std::condition_variable wake_;      // a job was published, or the pool stops
  std::condition_variable finished_;  // a worker has left a job
  std::atomic<std::uint32_t> epoch_{
      0};                              // counts the published jobs; read without the mutex by those that spin
  std::atomic<unsigned> spinning_{0};  // written under the mutex
  // The short loops that came while the workers slept, each within the spinning time of the one before. Threads that
  // race here only miss a chance to wake the workers.
  std::atomic<std::uint32_t> streak_{0};
  std::atomic<std::chrono::steady_clock::rep> last_short_{0};
  // mutex_ guards the members below.
  std::vector<Worker> workers_;
  std::vector<Job*> jobs_;
  unsigned sleeping_ = 0;
  unsigned waiting_callers_ = 0;
  bool started_ = false;
  bool stopping_ = false;
};

}  // namespace dhpvm
