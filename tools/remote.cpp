// SPDX-License-Identifier: Apache-2.0
#include "remote.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <mutex>

#include <nlohmann/json.hpp>

#include "options.h"

namespace dhpvm::tools {
namespace {

// How long sessions may continue after SIGTERM.
constexpr std::chrono::seconds kDrain{30};
// How often a second signal is looked for meanwhile.
constexpr std::chrono::milliseconds kLook{50};

Error unknown(std::string_view option, std::string_view value, std::string_view known) {
  return Error(ErrorCode::kInvalidArgument,
               std::string(option) + "=" + std::string(value) + " is not known; write " + std::string(known));
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> items;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    if (!item.empty()) items.emplace_back(item);
    list.remove_prefix(std::min(item.size() + 1, list.size()));
  }
  return items;
}

Status set_lend(WorkerOptions& options, std::string_view list) {
  for (const std::string& item : split(list)) {
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string name = item.substr(0, equals);
    const std::string value = item.substr(std::min(equals + 1, item.size()));
    if (name == "memory") {
      DHPVM_ASSIGN(options.memory_bytes, parse_size(value));
    } else if (name == "code") {
      DHPVM_ASSIGN(options.code_bytes, parse_size(value));
    } else if (name == "time") {
      DHPVM_ASSIGN(const std::chrono::nanoseconds time, parse_duration(value));
      options.time = std::chrono::ceil<std::chrono::milliseconds>(time);
    } else if (name == "total-memory") {
      DHPVM_ASSIGN(options.total_memory_bytes, parse_size(value));
    } else if (name == "idle") {
      DHPVM_ASSIGN(const std::chrono::nanoseconds time, parse_duration(value));
      options.idle = std::chrono::ceil<std::chrono::milliseconds>(time);
    } else if (name == "waiting") {
      DHPVM_ASSIGN(const std::uint64_t waiting, parse_count(value));
      options.waiting = static_cast<unsigned>(std::min<std::uint64_t>(waiting, 1 << 16));
    } else if (name == "sessions") {
      DHPVM_ASSIGN(const std::uint64_t sessions, parse_count(value));
      options.sessions = static_cast<unsigned>(std::min<std::uint64_t>(sessions, 1 << 16));
    } else {
      return Error(
          ErrorCode::kInvalidArgument,
          "'" + item +
              "' is no limit of a worker: there are memory=4G, code=64M, time=1h and idle=10m for each "
              "session, and sessions=16, waiting=16 and total-memory=16G for all");
    }
  }
  return {};
}

constexpr std::array<std::string_view, 4> kLevels{"error", "warning", "info", "debug"};
std::string_view name_of(LogLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

// One line with a timestamp, because a worker runs unattended for long.
void log_text(const WorkerLogEntry& entry) {
  std::array<char, 32> time{};
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S", &parts);
  std::string text = entry.to_line();
  if (entry.level < LogLevel::kInfo) text = std::string(name_of(entry.level)) + ": " + text;
  std::ranges::replace(text, '\n', ' ');
  std::fprintf(stderr, "%s %s\n", time.data(), text.c_str());
}

// The same for programs that read logs: one JSON object on each line.
void log_json(const WorkerLogEntry& from) {
  std::array<char, 32> time{};
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::strftime(time.data(), time.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  nlohmann::ordered_json entry{{"time", time.data()}, {"level", name_of(from.level)}};
  if (from.session != 0) entry["session"] = from.session;
  if (from.end) {
    entry["cause"] = row_of(from.end->cause).word;
    entry["reason"] = from.end->reason;
    entry["seconds"] = std::chrono::duration<double>(from.end->duration).count();
    entry["seal"] = from.end->seal;
    if (!from.end->client.empty()) entry["client"] = from.end->client;
    if (!from.end->key.empty()) entry["key"] = from.end->key;
    if (from.end->work) {
      entry["jobs"] = from.end->work->jobs;
      entry["bytes_in"] = from.end->work->bytes_in;
      entry["bytes_out"] = from.end->work->bytes_out;
    }
  }
  entry["text"] = from.text;
  // Names from other machines need not be UTF-8.
  const std::string written = entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::fprintf(stderr, "%s\n", written.c_str());
}

}  // namespace

Status set_remote(RemoteRequest& request, std::string_view name, std::string_view value) {
  WorkerOptions& options = request.options;
  if (name == "--connect") {
    for (std::string& address : split(value)) request.connect.push_back(std::move(address));
  } else if (name == "--listen") {
    request.listen.emplace_back(value);
  } else if (name == "--key-file") {
    options.security.key_file = value;
  } else if (name == "--log") {
    if (value != "text" && value != "json") return unknown(name, value, "text or json");
    options.log = value == "json" ? log_json : log_text;
  } else if (name == "--log-level") {
    const auto level = std::ranges::find(kLevels, value);
    if (level == kLevels.end()) return unknown(name, value, "error, warning, info or debug");
    request.log_level = static_cast<LogLevel>(level - kLevels.begin());
  } else if (name == "--clients") {
    options.clients_file = value;
  } else if (name == "--metrics") {
    options.metrics = value;
  } else if (name == "--certificate") {
    options.security.certificate_file = value;
  } else if (name == "--private-key") {
    options.security.private_key_file = value;
  } else if (name == "--authority") {
    options.security.authority_file = value;
  } else if (name == "--seal") {
    if (value == "full") {
      options.security.seal = Seal::kFull;
    } else if (value == "integrity") {
      options.security.seal = Seal::kIntegrity;
    } else if (value == "none") {
      options.security.seal = Seal::kNone;
    } else {
      return unknown(name, value, "full, integrity or none");
    }
  } else if (name == "--provider") {
    options.provider = value;
  } else if (name == "--silence") {
    DHPVM_ASSIGN(const std::chrono::nanoseconds time, parse_duration(value));
    options.silence = std::chrono::ceil<std::chrono::milliseconds>(time);
    if (options.silence < std::chrono::milliseconds(10)) return unknown(name, value, "10ms or more");
  } else if (name == "--write-back") {
    if (value != "eager" && value != "lazy") return unknown(name, value, "eager or lazy");
    request.write_back = value == "eager";
  } else if (name == "--lend") {
    DHPVM_TRY(set_lend(options, value));
  }
  return {};
}

Status check_remote(const RemoteRequest& request, std::string_view device) {
  const Security& security = request.options.security;
  const int files = !security.certificate_file.empty() + !security.private_key_file.empty() +
                    !security.authority_file.empty();
  if (files != 0 && files != 3) {
    return Error(ErrorCode::kInvalidArgument,
                 "--certificate, --private-key and --authority go together: give all three");
  }
  if (files != 0 && !security.key_file.empty()) {
    return Error(ErrorCode::kInvalidArgument,
                 "--key-file and certificates exclude each other: give one of them");
  }
  if (!request.options.clients_file.empty() &&
      (!request.worker || !security.key_file.empty() || !request.connect.empty())) {
    return Error(ErrorCode::kInvalidArgument,
                 "--clients=FILE is for a --worker that listens, and has the keys: leave out --key-file and "
                 "--connect");
  }
  if (request.worker && request.listen.empty() && request.connect.empty()) {
    return Error(ErrorCode::kInvalidArgument,
                 "--worker needs --listen=ADDRESS, where clients dial in, or --connect=HOST:PORT, a client "
                 "to be dialled");
  }
  if (!request.worker && request.listen.size() > 1) {
    return Error(ErrorCode::kInvalidArgument,
                 "a program listens for workers at one address only: give --listen once");
  }
  if (request.worker && device.starts_with("remote")) {
    return Error(ErrorCode::kInvalidArgument,
                 "a worker lends devices of its own machine: leave out --device=remote");
  }
  return {};
}

RemoteOptions workers_of(const RemoteRequest& request) {
  RemoteOptions options;
  options.workers = request.connect;
  if (!request.listen.empty()) options.listen = request.listen.front();
  options.security = request.options.security;
  options.provider = request.options.provider;
  options.silence = request.options.silence;
  options.write_back = request.write_back;
  return options;
}

Result<int> lend(EngineOptions engine, const RemoteRequest& request, std::string_view devices,
                 std::span<const char* const> words) {
  // Blocked before there are other threads, so that none of them takes the signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  if (!request.options.clients_file.empty()) sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  WorkerOptions options = request.options;
  options.listen = request.listen;
  options.clients = request.connect;
  if (devices != "auto") options.devices = split(devices);
  options.log = [write = options.log ? options.log : log_text,
                 most = request.log_level](const WorkerLogEntry& entry) {
    if (entry.level <= most) write(entry);
  };
  const auto log = [write = options.log](const std::string& text, LogLevel level = LogLevel::kInfo) {
    write({level, 0, text, {}});
  };
  if (request.is_session) {
    DHPVM_TRY(Worker::serve_session(std::move(engine), options));
    return 0;
  }
  options.session_command.emplace_back("/proc/self/exe");
  options.session_command.insert(options.session_command.end(), words.begin(), words.end());
  options.session_command.emplace_back("--worker-session");
  DHPVM_ASSIGN(Worker worker, Worker::start(Engine(std::move(engine)), std::move(options)));
  for (const std::string& address : worker.addresses()) log("listening at " + address);
  if (!worker.metrics_address().empty()) log("metrics at http://" + worker.metrics_address() + "/metrics");
  while (worker.is_needed()) {
    const timespec tick{0, 100'000'000};
    const int signal =
        request.listen.empty() ? sigtimedwait(&signals, nullptr, &tick) : sigwaitinfo(&signals, nullptr);
    if (signal == SIGINT) break;
    if (signal == SIGHUP) {
      const Status reloaded = worker.reload_clients();
      if (reloaded.ok()) {
        log("the file of clients was read anew");
      } else {
        log("the clients stay as they were: " + reloaded.error().to_string(), LogLevel::kError);
      }
    }
    if (signal != SIGTERM) continue;
    log("draining: no new sessions, and " + std::to_string(kDrain.count()) + " s for those there are");
    const auto deadline = std::chrono::steady_clock::now() + kDrain;
    constexpr timespec kNow{0, 0};
    // A second signal ends the waiting.
    bool is_drained = worker.drain(kLook);
    while (!is_drained && std::chrono::steady_clock::now() < deadline) {
      const int second = sigtimedwait(&signals, nullptr, &kNow);
      if (second == SIGTERM || second == SIGINT) break;
      is_drained = worker.drain(kLook);
    }
    if (!is_drained) log("some sessions are cut short", LogLevel::kWarning);
    break;
  }
  log("ended");
  return 0;
}

}  // namespace dhpvm::tools
