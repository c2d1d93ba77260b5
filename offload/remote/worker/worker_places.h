// SPDX-License-Identifier: Apache-2.0
// Decides which of a worker's sessions are served, which wait, and how much memory each gets.
//
// A free place goes to the client that would have, with one more session, the fewest for its priority, and among its
// waiting sessions to the oldest. Half of the memory is divided evenly, so that every session gets some; of the other
// half, each new session gets half of the rest, so that a few sessions get much.
//
// Arithmetic only. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "offload/remote/worker/clients_file.h"
#include "offload/remote/worker/session_runner.h"
#include "offload/remote/worker/worker_options.h"

namespace dhpvm::offload {

class WorkerPlaces {
 public:
  explicit WorkerPlaces(const WorkerLimits& limits);
  // The limits of these clients; other clients have none of their own.
  void set_clients(const std::vector<ClientEntry>& clients);

  // A place for session `number` of a client. Nothing when the queue is full, too, or when the session does not wait.
  enum class Patience : std::uint8_t { kNone, kWaits };
  std::optional<SessionPlace> enter(std::uint64_t number, const std::string& client, Patience patience);
  // The sessions that move because another one has ended, with their new places.
  using Moves = std::vector<std::pair<std::uint64_t, SessionPlace>>;
  Moves leave(std::uint64_t number);

  std::size_t served() const { return served_.size(); }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  struct Served {
    std::string client;
    std::uint64_t extra_bytes = 0;  // in addition to the even share
  };
  using Waiting = std::list<std::pair<std::uint64_t, std::string>>;

  SessionPlace serve(std::uint64_t number, const std::string& client);
  std::size_t served_for(const std::string& client) const;
  bool has_room_for(const std::string& client) const;
  std::uint64_t priority_of(const std::string& client) const;
  bool goes_before(const std::string& one, const std::string& other) const;
  // The waiting sessions, in the order in which free places would go to them now.
  std::vector<Waiting::const_iterator> order() const;

  const std::size_t most_served_;
  const std::size_t most_waiting_;
  const std::uint64_t total_bytes_;
  std::uint64_t extra_bytes_ = 0;  // that was given out
  struct ClientLimits {
    std::size_t sessions;
    std::uint64_t memory_bytes;
    std::chrono::milliseconds time;
    std::uint64_t priority;
  };
  std::map<std::string, ClientLimits> clients_;
  std::map<std::uint64_t, Served> served_;
  Waiting waiting_;
};

}  // namespace dhpvm::offload
