// SPDX-License-Identifier: Apache-2.0
// The other end of the remote devices: lends the devices of this machine to programs on others.
//
// A worker listens for clients, or dials them. Each client has a session with objects of its own, within limits, and
// leaves nothing behind. Kernels arrive as bytecode; they are verified, compiled here, and each launch is checked
// against the memory that it was given (launch_guard.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "offload/devices/device.h"
#include "offload/remote/fabric/channel.h"
#include "offload/remote/fabric/fabric.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/fabric/strangers.h"

namespace dhpvm::offload {

// The limits of a worker for its clients.
struct WorkerLimits {
  unsigned sessions = 16;
  // Connections that have not authenticated yet, or not sent their first record.
  unsigned strangers = 1024;
  // The limits below apply to each session. Operations submitted and not done.
  std::uint64_t operations = 4096;
  std::uint64_t memory_bytes = ~std::uint64_t{0};  // of all devices together; they have limits of their own
  std::uint64_t module_bytes = std::uint64_t{64} << 20;
  // Memories, semaphores and kernels, each; queues a sixteenth of it.
  std::uint64_t objects = 4096;
  // Total time with operations outstanding; 0: unlimited.
  std::chrono::milliseconds time{0};
};

struct WorkerOptions {
  std::string name;     // for the messages of clients
  std::string release;  // of DHPVM
  std::shared_ptr<Identity> identity;
  SealMode seal = SealMode::kFull;
  WorkerLimits limits;
  std::chrono::milliseconds handshake_deadline{5000};
  std::chrono::milliseconds silence_deadline{3000};
  // The compiler of kernels, or why there is none. Called on any thread.
  std::function<Result<codegen::CodeGenerator*>()> generator;
  // One line for each session and job. Called on any thread.
  std::function<void(const std::string& line)> log;
};

class WorkerSession;

class Worker {
 public:
  // The transport and the fabric must outlive it.
  Worker(Fabric& fabric, Transport& transport, std::vector<std::shared_ptr<Device>> devices,
         WorkerOptions options);
  // Ends all sessions, and blocks until the devices are done with their operations.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // At a numeric address. kInvalidArgument without an identity, if others than this machine could connect.
  Result<Address> listen(const Address& address);
  // Offers this worker to a client that listens. `host` is its name, for its certificate. `ended` is called
  // once, on the progress thread: when that has failed, or when the session that began has ended.
  using Ended = std::function<void(const Error& reason, bool was_open)>;
  Status dial(const Address& address, const std::string& host, const Ended& ended);

  // Takes no new sessions, and asks the clients that are there to leave; true when the last session has ended by
  // `deadline`.
  bool drain(std::chrono::steady_clock::time_point deadline);
  unsigned sessions();

  // For sessions.
  Fabric& fabric() { return fabric_; }
  Transport& transport() { return transport_; }
  const WorkerOptions& options() const { return options_; }
  const std::vector<std::shared_ptr<Device>>& devices() const { return devices_; }
  void log(const std::string& line) const {
    if (options_.log) options_.log(line);
  }
  // The session has freed everything.
  void remove(WorkerSession& session);

 private:
  class Entrance;
  // The worker as seen by connections that are being opened. For the progress thread alone.
  struct Gate {
    Worker* worker;  // null when it is gone
    const std::shared_ptr<Strangers> strangers;
  };

  ChannelOptions channel_options() const;
  std::shared_ptr<ConnectionHandler> accept(std::shared_ptr<Connection> connection);
  Result<std::shared_ptr<WorkerSession>> begin_session(const std::shared_ptr<Channel>& channel, Ended ended);
  std::shared_ptr<WorkerSession> find(ConstBytes token);
  // A line about who did not come in; few of them, if many do not.
  void log_refusal(const std::string& peer, const std::string& reason);
  void dial_bulk(const Address& address, const std::string& host,
                 const std::shared_ptr<WorkerSession>& session);
  void run_on_progress_thread(const std::function<void()>& function);

  Fabric& fabric_;
  Transport& transport_;
  const std::vector<std::shared_ptr<Device>> devices_;
  const WorkerOptions options_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  // Lines about refusals in the second that began then; for the progress thread alone.
  Transport::Clock::time_point refusals_since_;
  unsigned refusals_ = 0;
  const std::shared_ptr<Gate> gate_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool draining_ = false;
  std::uint64_t next_session_ = 1;
  std::map<WorkerSession*, std::shared_ptr<WorkerSession>> sessions_;
};

}  // namespace dhpvm::offload
