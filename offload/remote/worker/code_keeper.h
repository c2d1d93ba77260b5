// SPDX-License-Identifier: Apache-2.0
// Writes the code that sessions have compiled into the caches of their clients, a folder for each. The process of a
// session only reads that folder, and sends its code to the worker in parts (code_writer.h): an attacker who controls
// it reaches no other client's code, and no more of the disk and of the worker's memory than the limits allow.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cached/code_cache.h"
#include "codegen/cached/code_writer.h"
#include "offload/remote/worker/task_thread.h"

namespace dhpvm::offload {

// The bytes of code and the entries that a client may still write; both grow with time.
class CodeBudget {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
  static constexpr std::uint64_t kBytesASecond = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kMostEntries = 1024;
  static constexpr std::uint64_t kEntriesASecond = 16;

  bool take(std::uint64_t bytes, Clock::time_point now);
  bool is_full(Clock::time_point now);

 private:
  void fill(Clock::time_point now);

  std::optional<Clock::time_point> since_;  // the last fill
  std::uint64_t bytes_ = kMostBytes;
  std::uint64_t entries_ = kMostEntries;
};

// A client's cache, and its budget for writing.
struct ClientCode {
  std::shared_ptr<codegen::CodeCache> cache;
  CodeBudget budget;
  std::atomic<bool> has_failed = false;  // writing has failed: the cache is opened again
};

// An entry that is arriving from the process of one session.
struct ArrivingCode {
  std::shared_ptr<ClientCode> client;  // null: no entry is arriving
  codegen::CodePart entry;             // its first part, without the bytes
  std::vector<std::byte> bytes;        // so far
};

// Used by one thread at a time; files are written on a separate thread, which the destructor waits for.
class CodeKeeper {
 public:
  using Clock = CodeBudget::Clock;
  // Kernels have tens of KiB.
  static constexpr std::uint64_t kLargestEntry = std::uint64_t{4} << 20;

  // `limit`: the bytes that each client may have on the disk; 0: no code is kept. `warn` is called when code cannot be
  // written, on a thread of this object.
  CodeKeeper(std::uint64_t limit, std::function<void(const std::string&)> warn)
      : limit_(limit), warn_(std::move(warn)) {}

  // A message of the process of a session whose client has this folder. A message that does not continue the arriving
  // entry is dropped together with that entry; so are entries beyond the client's budget.
  void take(ArrivingCode& arriving, const std::string& folder, std::span<const std::byte> message,
            Clock::time_point now);

 private:
  void begin(ArrivingCode& arriving, const std::string& folder, const codegen::CodePart& part,
             Clock::time_point now);
  void open(ClientCode& client, const std::string& folder) const;
  std::shared_ptr<ClientCode> client(const std::string& folder, Clock::time_point now);

  const std::uint64_t limit_;
  const std::function<void(const std::string&)> warn_;
  std::map<std::string, std::shared_ptr<ClientCode>> clients_;  // by their folders
  TaskThread writer_;
};

}  // namespace dhpvm::offload
