// SPDX-License-Identifier: Apache-2.0
// A transport inside one process, for tests: faults that could happen on a network are injected on demand.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "offload/remote/fabric/transport.h"

namespace dhpvm::offload {

// A fault injected into one message.
struct Fault {
  enum class Kind : std::uint8_t {
    kNone,
    kDrop,
    kDelay,     // by `delay`; later messages wait as well
    kTruncate,  // to `at` bytes
    kFlip,      // the lowest bit of byte `at`
    kReorder,   // the next message overtakes it
    kRepeat,    // it arrives twice
    kCut,       // the connection ends instead, at both ends
  };
  Kind kind = Kind::kNone;
  std::size_t at = 0;
  std::chrono::milliseconds delay{0};
};

// Decides for each message that a transport sends. Messages are numbered from 0 for each connection, and connections in
// the order in which they were made or accepted. Called on any thread.
using FaultPlan = std::function<Fault(unsigned connection, std::uint64_t message, ConstBytes bytes)>;

// The addresses with a listener. Thread-safe.
class LoopbackNetwork {
 public:
  LoopbackNetwork();
  ~LoopbackNetwork();

  // The network must outlive it.
  std::unique_ptr<Transport> create_transport(FaultPlan plan = {});

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace dhpvm::offload
