// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_groups.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "offload/remote/worker/clients_file.h"

namespace dhpvm::offload {
namespace {

// A session's memory in addition to its client's arrays: compilers, drivers, code, stacks.
constexpr std::uint64_t kOwnBytes = std::uint64_t{1} << 30;
// Reserved private memory counts for a process as well: each thread reserves some for its stack and its heap.
constexpr std::uint64_t kReservedBytes = std::uint64_t{8} << 30;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// Threads: those of compilers and drivers, and several for each processor.
std::uint64_t most_threads() { return 256 + 16 * std::uint64_t{std::thread::hardware_concurrency()}; }

std::uint64_t sum(std::uint64_t one, std::uint64_t other) {
  return one > kUnlimited - other ? kUnlimited : one + other;
}

Error cannot(const std::string& what) {
  return error(ErrorCode::kUnsupported, "{}: {}", what, std::strerror(errno));
}

Status write_file_of(const std::string& group, const char* name, const std::string& text) {
  const std::string path = group + "/" + name;
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open() || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return cannot(path);
  return {};
}

Status make_group(const std::string& path) {
  if (mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return cannot(path);
}

// The niceness at which a process gets about the share of the processors that its priority asks for: each step takes
// away a fifth. Without privileges, a process cannot get more than usual.
int niceness(std::uint64_t priority) {
  const double steps =
      std::log(static_cast<double>(ClientEntry::kUsualPriority) / static_cast<double>(priority)) /
      std::log(1.25);
  return static_cast<int>(std::clamp(std::round(steps), 0.0, 19.0));
}

// The limits that groups with these controllers enforce, for the log.
template <typename Has>
std::string limits_text(Has has) {
  return fmt::format("memory by {}, processors by {}, threads {}",
                     has("memory") ? "control groups" : "the address space of each process",
                     has("cpu") ? "control groups, shared between clients" : "the priority of each process",
                     has("pids") ? "by control groups" : "without limit");
}

class ProcessLimits final : public SessionGroups {
 public:
  Status enter(std::uint64_t number, pid_t process, const std::string&, std::uint64_t priority) override {
    processes_[number] = process;
    if (const int nice = niceness(priority);
        nice != 0 && setpriority(PRIO_PROCESS, static_cast<id_t>(process), nice) != 0)
      return cannot("the priority of a session");
    return {};
  }
  Status limit_memory(std::uint64_t number, std::uint64_t bytes) override {
    const auto process = processes_.find(number);
    if (bytes == kUnlimited || process == processes_.end()) return {};
    const std::uint64_t most = sum(bytes, kReservedBytes);
    const rlimit limit{most, most};
    if (prlimit(process->second, RLIMIT_DATA, &limit, nullptr) != 0) return cannot("the memory of a session");
    return {};
  }
  void leave(std::uint64_t number) override { processes_.erase(number); }
  std::string limits() const override {
    return limits_text([](std::string_view) { return false; });
  }

 private:
  std::map<std::uint64_t, pid_t> processes_;
};

class ControlGroups final : public SessionGroups {
 public:
  explicit ControlGroups(std::string own)
      : own_(std::move(own)),
        worker_(fmt::format("{}/dhpvm-worker-{}", own_, getpid())),
        clients_(fmt::format("{}/dhpvm-clients-{}", own_, getpid())) {}
  ~ControlGroups() override {
    while (!sessions_.empty()) leave(sessions_.begin()->first);
    rmdir(clients_.c_str());
    move_back();
  }

  Status start() {
    std::ifstream file(own_ + "/cgroup.controllers");
    std::string present;
    std::getline(file, present);
    std::istringstream words(present);
    for (std::string word; words >> word;) {
      if (word == "cpu" || word == "memory" || word == "pids")
        controllers_ += (controllers_.empty() ? "+" : " +") + word;
    }
    if (controllers_.empty()) return error(ErrorCode::kUnsupported, "{} has no controllers", own_);
    // A group that divides its resources among others must have no process of its own.
    DHPVM_TRY(make_group(worker_));
    Status status = write_file_of(worker_, "cgroup.procs", std::to_string(getpid()));
    if (status.ok()) status = write_file_of(own_, "cgroup.subtree_control", controllers_);
    if (status.ok()) status = make_group(clients_);
    if (status.ok()) status = write_file_of(clients_, "cgroup.subtree_control", controllers_);
    return status;
  }

  Status enter(std::uint64_t number, pid_t process, const std::string& client,
               std::uint64_t priority) override {
    const std::string of_client = clients_ + "/" + client;
    const std::string group = of_client + "/" + std::to_string(number);
    sessions_[number] = group;
    DHPVM_TRY(others_.enter(number, process, client, has("cpu") ? ClientEntry::kUsualPriority : priority));
    DHPVM_TRY(make_group(of_client));
    if (has("cpu")) DHPVM_TRY(write_file_of(of_client, "cpu.weight", std::to_string(priority)));
    DHPVM_TRY(write_file_of(of_client, "cgroup.subtree_control", controllers_));
    DHPVM_TRY(make_group(group));
    if (has("pids")) DHPVM_TRY(write_file_of(group, "pids.max", std::to_string(most_threads())));
    return write_file_of(group, "cgroup.procs", std::to_string(process));
  }
  Status limit_memory(std::uint64_t number, std::uint64_t bytes) override {
    const auto session = sessions_.find(number);
    if (bytes == kUnlimited || session == sessions_.end()) return {};
    if (!has("memory")) return others_.limit_memory(number, bytes);
    return write_file_of(session->second, "memory.max", std::to_string(sum(bytes, kOwnBytes)));
  }
  void leave(std::uint64_t number) override {
    const auto session = sessions_.find(number);
    if (session == sessions_.end()) return;
    const std::string group = session->second;
    sessions_.erase(session);
    others_.leave(number);
    rmdir(group.c_str());
    rmdir(group.substr(0, group.rfind('/')).c_str());  // fails if the client has other sessions
  }

  std::string limits() const override {
    return limits_text([this](std::string_view controller) { return has(controller); });
  }

 private:
  bool has(std::string_view controller) const { return controllers_.find(controller) != std::string::npos; }
  void move_back() const {
    static_cast<void>(write_file_of(own_, "cgroup.procs", std::to_string(getpid())));
    rmdir(worker_.c_str());
  }

  const std::string own_;
  const std::string worker_;
  const std::string clients_;
  std::string controllers_;                        // "+cpu +memory +pids"
  std::map<std::uint64_t, std::string> sessions_;  // the sessions' groups
  ProcessLimits others_;                           // for limits without a controller
};

}  // namespace

Result<std::unique_ptr<SessionGroups>> make_control_groups(const std::string& own) {
  if (own.empty()) return error(ErrorCode::kUnsupported, "the system has none of version 2");
  auto groups = std::make_unique<ControlGroups>(own);
  DHPVM_TRY(groups->start());
  return std::unique_ptr<SessionGroups>(std::move(groups));
}

std::string own_control_group() {
  std::string mount;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; mount.empty() && std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device;
    std::string place;
    std::string kind;
    words >> device >> place >> kind;
    if (kind == "cgroup2") mount = place;
  }
  if (mount.empty()) return {};
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    const std::string path = line.substr(3);
    return path == "/" ? mount : mount + path;
  }
  return {};
}

std::unique_ptr<SessionGroups> make_process_limits() { return std::make_unique<ProcessLimits>(); }

}  // namespace dhpvm::offload
