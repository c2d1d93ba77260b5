// SPDX-License-Identifier: Apache-2.0
// Workers: processes, on other machines mostly, that lend their devices to programs here. Needs OpenSSL,
// and libfabric where a provider is named; they are loaded when they are first used.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dhpvm/export.h"
#include "dhpvm/result.h"
#include "dhpvm/worker_log.h"

namespace dhpvm {

class Engine;
struct EngineOptions;

// How array data is protected in transit. Everything else is always encrypted when there is a key. The stricter of the
// client's and the worker's setting applies.
enum class Seal : std::uint8_t {
  kNone,       // readable and changeable by anyone on the network
  kIntegrity,  // readable by anyone on the network; changes are detected
  kFull,       // encrypted
};

// How client and worker authenticate each other: by a shared key, or by certificates. Without either, only processes of
// this machine can connect.
struct Security {
  // A file of make_key_file(), readable by its owner alone.
  std::string key_file = {};
  // PEM files: the own certificate, its private key, and the authority whose certificates are accepted. All
  // three or none.
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
  // How long to wait for the first worker to dial in; applies if `listen` is set and `workers` is empty.
  std::chrono::milliseconds arrival{10'000};
  Security security = {};
  // Empty: TCP. A provider of libfabric ("verbs" for InfiniBand and RoCE) only where nobody but clients and workers can
  // reach the port: providers trust what arrives. Clients and workers must have the same.
  std::string provider = {};
  // A worker that sends nothing for this long is lost.
  std::chrono::milliseconds silence{3000};
  // Whether every loop ends with the write-back of its results. Then the work of a lost worker is done again elsewhere,
  // on the host at least, and the program goes on. Otherwise results stay with the worker until they are needed: loops
  // that follow each other on the same arrays are quicker, and the program fails when a lost worker held the only copy
  // of some elements.
  bool write_back = true;
};

// Creates a file with 32 random bytes, readable by its owner alone. kIo if the file exists.
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
  // In place of a key file: a file with the clients that may come in, with their keys and limits (docs/deploying.md).
  std::string clients_file = {};
  std::string provider = {};  // as in RemoteOptions
  std::chrono::milliseconds silence{3000};
  // Limits. `sessions`: at the same time. For each session: device memory over all devices and code, in bytes, and the
  // total time with work outstanding (0: unlimited).
  unsigned sessions = 16;
  std::uint64_t memory_bytes = ~std::uint64_t{0};
  std::uint64_t code_bytes = std::uint64_t{64} << 20;
  std::chrono::milliseconds time{0};
  // Sessions that wait in a queue while there are as many as that; their programs use other devices meanwhile.
  unsigned waiting = 16;
  // Device memory of all sessions together. Each gets a share of it when it begins: half of it is for even shares, and
  // half of what is left of the other half for each session that comes.
  std::uint64_t total_memory_bytes = ~std::uint64_t{0};
  // An address of this machine ("127.0.0.1:9471") where metrics are served: /metrics in the format of Prometheus, and
  // /healthz. Empty: nowhere.
  std::string metrics = {};
  // A session that has nothing to do for so long is ended; 0: it is not.
  std::chrono::milliseconds idle{0};
  // A program, and its arguments, that calls Worker::serve_session(): each session then has a process of its own, which
  // a crash or a kernel without end does not outlive. Empty: sessions are in this process, as they are with a provider.
  std::vector<std::string> session_command = {};
  // Receives one entry for every session and kernel, and for whoever is refused, from any thread.
  WorkerLog log = {};
};

// Lends devices of this machine. Ends all sessions when it is destroyed. Thread-safe.
class DHPVM_API Worker {
 public:
  // Code for the devices is compiled as the engine's options say. kInvalidArgument if it would listen on an address
  // that other machines can reach, without a key or certificates.
  static Result<Worker> start(const Engine& engine, WorkerOptions options);
  // Serves one session in a process that a worker has started with its `session_command`, and ends the process with
  // it. To be called before the process has other threads, with the options of the worker's engine. `devices`, limits
  // and `silence` should be those of the worker; addresses, security and log are not used. Returns why it cannot.
  static Status serve_session(EngineOptions engine, const WorkerOptions& options);
  ~Worker();
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;

  // The addresses it listens on, with the ports that the system chose.
  std::vector<std::string> addresses() const;
  // Where metrics are served, likewise; empty: nowhere.
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

}  // namespace dhpvm
