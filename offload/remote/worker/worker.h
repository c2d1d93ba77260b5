// SPDX-License-Identifier: Apache-2.0
// The other end of remote devices: lends the devices of this machine to programs on other machines.
//
// A worker listens for clients, or dials them, and finds out who they are. Each client then has a session with objects
// of its own, within limits, which leaves nothing behind (worker_session.h); session_runner.h says where it runs.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "offload/remote/fabric/channel.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/fabric/strangers.h"
#include "offload/remote/worker/log_budget.h"
#include "offload/remote/worker/session_runner.h"
#include "offload/remote/worker/worker_access.h"
#include "offload/remote/worker/worker_options.h"
#include "offload/remote/worker/worker_places.h"
#include "offload/remote/worker/worker_report.h"

namespace dhpvm::offload {

class Worker {
 public:
  // The transport must outlive it.
  Worker(Transport& transport, std::unique_ptr<SessionRunner> runner, WorkerOptions options);
  // Ends all sessions, and blocks until what they had is free.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // At a numeric address. kInvalidArgument without an identity, if others than this machine could connect.
  Result<Address> listen(const Address& address);
  // Offers this worker to a client that listens. `host`: the client's name, for its certificate. `ended` is called
  // once, on the progress thread: when dialling has failed, or when the session has ended.
  using Ended = std::function<void(const Error& reason, bool was_open)>;
  Status dial(const Address& address, const std::string& host, const Ended& ended);

  // The clients that may come in from now on, with their keys. Sessions of clients that may not use the worker any more
  // end, with the reason.
  void set_access(WorkerAccess access);
  // From any thread.
  WorkerReport report();
  // Ends a session that is served or waits; its client gets `reason`. kNotFound when there is no such session.
  Status end_session(std::uint64_t number, const std::string& reason);
  // Accepts no new sessions, and asks the present clients to leave; true when the last session has ended by `deadline`.
  bool drain(std::chrono::steady_clock::time_point deadline);
  unsigned sessions();

  void log(const WorkerLogEntry& entry) const {
    if (options_.log) options_.log(entry);
  }

 private:
  class Entrance;
  // The part of the worker that connections use while they are being opened. Only for the progress thread.
  struct Gate {
    Worker* worker;  // null when it is gone
    const std::shared_ptr<Strangers> strangers;
  };

  ChannelOptions channel_options();
  std::shared_ptr<ConnectionHandler> accept(std::shared_ptr<Connection> connection);
  // The facts about a session that are known from its beginning.
  struct SessionFacts {
    std::string name;  // its authenticated name
    std::string key_name;
    std::string client;  // its name for limits
    std::string peer;
    std::uint64_t priority = 0;
    std::uint64_t place = 0;  // in the queue; 0: it is served
    bool has_identity = false;
    SealMode seal = SealMode::kNone;
    std::chrono::steady_clock::time_point began;
  };
  struct Session {
    wire::Token token{};
    std::shared_ptr<SessionHandle> handle;
    SessionFacts facts;
  };
  Result<std::shared_ptr<Lane>> begin_session(const std::shared_ptr<Channel>& channel, const Ended& ended,
                                              const std::function<void(std::uint64_t)>& dial_bulk);
  void log_beginning(std::uint64_t number, const SessionFacts& facts) const;
  std::shared_ptr<Lane> begin_visit(const std::shared_ptr<Channel>& channel);
  Result<SessionPlace> find_place(const Channel& channel, const std::string& client);
  void forget_session(std::uint64_t number, const ClientGone& gone);
  std::shared_ptr<SessionHandle> find(std::uint64_t number);
  std::shared_ptr<SessionHandle> find(ConstBytes token);
  // Logs a refused peer; only some lines if there are many.
  void log_refusal(const std::string& peer, const std::string& reason);
  void dial_bulk(const Address& address, const std::string& host, std::uint16_t version,
                 std::uint64_t number);
  void run_on_progress_thread(const std::function<void()>& function);

  Transport& transport_;
  const std::unique_ptr<SessionRunner> runner_;
  const WorkerOptions options_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  LogBudget refusals_{20};  // for the progress thread alone
  std::atomic<std::uint64_t> refused_ = 0;
  const std::shared_ptr<bool> visits_ = std::make_shared<bool>();  // shared by the visits of operators
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  const std::shared_ptr<Gate> gate_;

  std::mutex mutex_;
  std::condition_variable changed_;
  WorkerAccess access_;
  bool draining_ = false;
  std::uint64_t next_session_ = 1;
  std::map<std::uint64_t, Session> sessions_;  // served or waiting
  WorkerPlaces places_;
  WorkerReport totals_;  // only its figures since the worker's beginning
};

}  // namespace dhpvm::offload
