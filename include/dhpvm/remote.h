// SPDX-License-Identifier: Apache-2.0
// Workers: processes, on other machines mostly, that lend their devices to programs here. Needs libfabric and
// OpenSSL, which are loaded when they are first used.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dhpvm/export.h"
#include "dhpvm/result.h"

namespace dhpvm {

class Engine;

// What is done to the data of arrays on its way. Everything else is always encrypted when there is a key. Of
// what client and worker ask for, the stronger holds.
enum class Seal : std::uint8_t {
  kNone,       // anybody on the network can read and change it
  kIntegrity,  // anybody on the network can read it, and nobody change it unnoticed
  kFull,       // encrypted
};

// How client and worker prove to each other who they are: by a key that both have, or by certificates. With
// neither, only processes of this machine are talked to.
struct Security {
  // A file of make_key_file(), which nobody but its owner may read.
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
  // To be dialled when their devices are asked for: "gpubox:7471", or "gpubox" for port 7471.
  std::vector<std::string> workers = {};
  // Where workers may dial in, "0.0.0.0:7471" for instance; nowhere if empty.
  std::string listen = {};
  // How long to wait for the first of them when devices are asked for.
  std::chrono::milliseconds arrival{10'000};
  Security security = {};
  // Of libfabric: "tcp", or "verbs" for InfiniBand and RoCE.
  std::string provider = "tcp";
  // A worker that gives no sign of life for that long is lost.
  std::chrono::milliseconds silence{3000};
  // Whether the results of every loop are copied back as part of it. Then what a lost worker was doing is
  // done again elsewhere, on the host at least, and the program goes on. Otherwise they stay with the worker
  // until they are needed: loops that follow each other on the same arrays are quicker, and the program fails
  // when a worker is lost that had the only copy of something.
  bool write_back = true;
};

// Creates a file with 32 random bytes that only its owner may read. kIo where there is one already.
DHPVM_API Status make_key_file(const std::string& path);

struct WorkerOptions {
  // Devices to lend, by name; all that can be opened if empty. A simulated one only by name.
  std::vector<std::string> devices = {};
  // Where clients may dial in: "127.0.0.1:7471", port 0 for any that is free.
  std::vector<std::string> listen = {};
  // Clients to be dialled. One that does not answer is tried again, for `patience`.
  std::vector<std::string> clients = {};
  std::chrono::milliseconds patience{60'000};
  Security security = {};
  std::string provider = "tcp";
  std::chrono::milliseconds silence{3000};
  // Limits: of sessions at a time; and for each of device memory and code in bytes, and of the time for which it may
  // have work outstanding (0: without end).
  unsigned sessions = 16;
  std::uint64_t memory_bytes = ~std::uint64_t{0};
  std::uint64_t code_bytes = std::uint64_t{64} << 20;
  std::chrono::milliseconds time{0};
  // Told one line about every session and job, from any thread.
  std::function<void(const std::string& line)> log = {};
};

// Lends devices of this machine. Ends all sessions when it is destroyed. Thread-safe.
class DHPVM_API Worker {
 public:
  // Code for the devices is compiled as the engine's options say. kInvalidArgument when it would listen where
  // others than this machine could reach it, without a key or certificates.
  static Result<Worker> start(const Engine& engine, WorkerOptions options);
  ~Worker();
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;

  // Where it listens, with the ports that the system chose.
  std::vector<std::string> addresses() const;
  // Whether it still has, or can get, anything to do: a worker that listens nowhere has not, once its clients are gone.
  bool is_needed() const;
  // Takes no new sessions; true when all that there are have ended in time.
  bool drain(std::chrono::milliseconds patience);

 private:
  struct State;
  explicit Worker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dhpvm
