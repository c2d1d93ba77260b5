// SPDX-License-Identifier: Apache-2.0
// Workers are processes, mostly on other machines, that lend their devices to programs here. They need OpenSSL,
// and libfabric where a provider is named; both libraries are loaded when they are first used.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dhpvm/export.h"
#include "dhpvm/result.h"
#include "dhpvm/version.h"
#include "dhpvm/worker_log.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

class Engine;
struct EngineOptions;

// The protection of array data in transit. Everything else is always encrypted when there is a key. The stricter of the
// client's and the worker's setting applies.
enum class Seal : std::uint8_t {
  kNone,       // readable and changeable by anyone on the network
  kIntegrity,  // readable by anyone on the network; changes are detected
  kFull,       // encrypted
};

// Client and worker authenticate each other by a shared key, or by certificates. Without either, only processes of
// this machine can connect.
struct Security {
  // A file made by make_key_file(), readable only by its owner.
  std::string key_file = {};
  // PEM files: the certificate of this side, its private key, and the authority whose certificates are accepted.
  // All three or none.
  std::string certificate_file = {};
  std::string private_key_file = {};
  std::string authority_file = {};
  Seal seal = Seal::kFull;
};

// The workers of an engine. Their devices are named "remote/HOST:PORT/DEVICE", as Engine::devices() lists them.
struct RemoteOptions {
  // Workers to dial when a program needs their devices: "gpubox:7471", or "gpubox" for port 7471.
  std::vector<std::string> workers = {};
  // The address where workers may dial in, "0.0.0.0:7471" for instance; empty: none.
  std::string listen = {};
  // The wait for the first worker to dial in; applies if `listen` is set and `workers` is empty.
  std::chrono::milliseconds arrival{10'000};
  Security security = {};
  // Empty: TCP. Use a provider of libfabric ("verbs" for InfiniBand and RoCE) only where only clients and workers can
  // reach the port, because providers trust incoming data. Clients and workers must have the same.
  std::string provider = {};
  // A worker that sends nothing for this long is lost.
  std::chrono::milliseconds silence{3000};
  // Whether every loop ends with the write-back of its results. If so, the work of a lost worker is done again
  // elsewhere, at least on the host, and the program goes on. Otherwise results stay with the worker until they are
  // needed: loops that follow each other on the same arrays are quicker, but the program fails when a lost worker held
  // the only copy of some elements.
  bool write_back = true;
};

// Creates a file with 32 random bytes, readable only by its owner. kIo if the file exists.
DHPVM_API Status make_key_file(const std::string& path);

struct WorkerOptions {
  // Devices to lend, by name; empty: all usable ones. A simulated device is lent only by name.
  std::vector<std::string> devices = {};
  // Addresses where clients may dial in: "127.0.0.1:7471"; port 0: any free port.
  std::vector<std::string> listen = {};
  // Clients to dial. A client that does not answer is dialled again for `patience`.
  std::vector<std::string> clients = {};
  std::chrono::milliseconds patience{60'000};
  Security security = {};
  // Instead of a key file: a file of the clients that may come in, with their keys and limits (docs/deploying.md).
  std::string clients_file = {};
  std::string provider = {};  // as in RemoteOptions
  std::chrono::milliseconds silence{3000};
  // Limits. `sessions`: at the same time. For each session: device memory over all devices and code, in bytes, and the
  // total time with work outstanding (0: unlimited).
  unsigned sessions = 16;
  std::uint64_t memory_bytes = ~std::uint64_t{0};
  std::uint64_t code_bytes = std::uint64_t{64} << 20;
  std::chrono::milliseconds time{0};
  // The length of the queue for sessions beyond `sessions`; their programs use other devices meanwhile.
  unsigned waiting = 16;
  // Device memory of all sessions together. Each gets a share when it begins: an even part of one half, and in addition
  // half of what is left of the other half.
  std::uint64_t total_memory_bytes = ~std::uint64_t{0};
  // An address of this machine ("127.0.0.1:9471") where metrics are served: /metrics in the format of Prometheus, and
  // /healthz. Empty: none.
  std::string metrics = {};
  // A session that has nothing to do for this long is ended; 0: never.
  std::chrono::milliseconds idle{0};
  // A program, and its arguments, that calls Worker::serve_session(): each session then has a process of its own, so
  // that a crash or an endless kernel ends with it. Empty: sessions are in this process, as they are with a provider.
  std::vector<std::string> session_command = {};
  // Receives one entry for every session and kernel, and for every refused connection, from any thread.
  WorkerLog log = {};
};

// Lends devices of this machine. Ends all sessions when it is destroyed. Thread-safe.
class DHPVM_API Worker {
 public:
  // Code for the devices is compiled as the engine's options say. kInvalidArgument if it would listen on an address
  // that other machines can reach, without a key or certificates.
  static Result<Worker> start(const Engine& engine, WorkerOptions options);
  // Serves one session in a process that a worker has started with its `session_command`, and ends the process with
  // it. Call it before the process has other threads, with the options of the worker's engine. `devices`, limits and
  // `silence` should be those of the worker; addresses, security and log are not used. Returns only on an error.
  static Status serve_session(EngineOptions engine, const WorkerOptions& options);
  ~Worker();
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;

  // The addresses it listens on, with the ports that the system chose.
  std::vector<std::string> addresses() const;
  // The address where metrics are served, likewise; empty: none.
  std::string metrics_address() const;
  // Whether work can still arrive: false for a worker that listens nowhere once all dialled clients are gone.
  bool is_needed() const;
  // Reads the file of clients anew, from the same path. Sessions whose key is no longer there end. On an error
  // everything stays as it was.
  Status reload_clients();
  // Accepts no new sessions; true if all current ones have ended within `patience`.
  bool drain(std::chrono::milliseconds patience);

 private:
  struct State;
  explicit Worker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
