// SPDX-License-Identifier: Apache-2.0
// Starts the processes of a worker's sessions in advance, listens to them, and ends them.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/thread.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/fabric/transport.h"
#include "offload/remote/worker/code_keeper.h"
#include "offload/remote/worker/session_child.h"
#include "offload/remote/worker/session_groups.h"
#include "offload/remote/worker/session_processes.h"

namespace dhpvm::offload {

// The folder below `caches` for code compiled for the client, made now; empty: none. The name must have been checked.
std::string cache_folder(const std::string& caches, const std::string& client);

// A name for the session's client as a folder or control group: from its name, or else from its key. Names in
// certificates may contain any letters, but the result is never a path.
std::string folder_of(const SessionStart& start);

// Owns the processes, and listens to them on its own thread.
class SessionWatcher {
 public:
  SessionWatcher(Transport& transport, SessionProcessesOptions options)
      : transport_(transport),
        command_(std::move(options.command)),
        caches_(std::move(options.caches)),
        memory_bytes_(options.memory_bytes),
        log_(std::move(options.log)),
        keeper_(options.code_bytes, [this](const std::string& problem) { warn(problem); }) {}
  SessionWatcher(const SessionWatcher&) = delete;
  SessionWatcher& operator=(const SessionWatcher&) = delete;
  ~SessionWatcher();

  // Starts a process that opens the devices, and waits until it has; then starts one that waits for a session.
  Status start();
  const std::vector<wire::Device>& devices() const { return devices_; }
  const std::string& caches() const { return caches_; }
  // A process for the session, which owns it from now on.
  Result<std::shared_ptr<SessionChild>> assign(const SessionStart& start);
  void close(SessionChild& process, EndCause cause, const Error& reason);
  void kill(const SessionChild& process);
  // The session is served from now on.
  void limit(std::uint64_t session, const SessionPlace& place);
  // Keeps copies of the client's sockets for the last word.
  void keep(SessionChild& process, const std::function<void(LastWord&)>& keep_in);

 private:
  void run();
  void wait();
  void spawn_spare();
  void listen_to(const std::shared_ptr<SessionChild>& process);
  void take_code(SessionChild& process);
  static void refuse_code(const SessionChild& process);
  void handle(SessionChild& process, const control::FromSession& record);
  void finish(const std::shared_ptr<SessionChild>& process);
  void log(SessionChild& process, LogLevel level, std::string_view text);
  void warn(std::string text) const { log_({LogLevel::kWarning, 0, std::move(text), {}}); }
  std::list<std::shared_ptr<SessionChild>> processes();

  Status probe();
  void make_groups();

  Transport& transport_;
  const std::vector<std::string> command_;
  const std::string caches_;
  const std::uint64_t memory_bytes_;
  const WorkerLog log_;
  CodeKeeper keeper_;                  // only for the watching thread
  std::vector<wire::Device> devices_;  // set by start()
  Descriptor wake_;
  std::mutex mutex_;
  std::unique_ptr<SessionGroups> groups_;
  bool stopping_ = false;
  bool wants_spare_ = false;
  std::list<std::shared_ptr<SessionChild>> processes_;
  Thread thread_;
};

}  // namespace dhpvm::offload
