// SPDX-License-Identifier: Apache-2.0
// Operating a worker from elsewhere: its state, and the end of a session. Needs OpenSSL, as remote.h does.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "dhpvm/export.h"
#include "dhpvm/remote.h"
#include "dhpvm/result.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// A session of a worker, served or waiting.
struct WorkerSessionStatus {
  std::uint64_t number = 0;
  std::uint64_t place = 0;  // in the queue; 0: it is served
  std::string program;      // the name that it gives itself; empty until it has sent it
  std::string client;       // its authenticated name; empty where all have the same key
  std::string key;          // the name of its key; empty: none
  std::string peer;         // its address
  std::string seal;         // protection of array data in transit: "none", "integrity" or "full"
  std::chrono::milliseconds age{0};
  std::uint64_t jobs = 0;            // kernels launched
  std::uint64_t bytes_in = 0;        // of arrays, from the client
  std::uint64_t bytes_out = 0;       // to the client
  std::uint64_t memory_bytes = 0;    // that it has now, on all devices together
  std::vector<std::string> devices;  // that it has used
  std::uint64_t priority = 0;
};

struct WorkerDevice {
  std::string name;
  std::string description;
  std::uint64_t memory_bytes = 0;
};

struct WorkerStatus {
  std::string name;     // of its machine
  std::string release;  // of DHPVM
  std::chrono::milliseconds up{0};
  std::uint64_t most_served = 0;
  std::uint64_t most_waiting = 0;
  bool is_draining = false;
  std::vector<WorkerDevice> devices;
  std::vector<WorkerSessionStatus> sessions;  // by their numbers
  std::uint64_t left_out = 0;                 // sessions beyond the 4096 that are listed
};

// Asks the worker at an address, as in RemoteOptions::workers. Only the holder of its only key may do that, or a client
// with the right "operate" in its file of clients. kInvalidArgument without that right, kDeviceLost when the worker
// does not answer within ten seconds. All text in the result is printable.
DHPVM_API Result<WorkerStatus> worker_status(const std::string& address, const Security& security);

// Ends a session, served or waiting; its client is told `reason`, of at most 200 bytes, and goes on elsewhere. As
// above; kNotFound when there is no session of that number.
DHPVM_API Status end_worker_session(const std::string& address, const Security& security,
                                    std::uint64_t number, const std::string& reason = {});

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
