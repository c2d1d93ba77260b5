// SPDX-License-Identifier: Apache-2.0
// The records that a worker and its operator exchange, on a frame lane of their own (LaneKind::kOperator): the state of
// the worker, and the end of a session. docs/protocol.md describes them; fields are in the order of the wire.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dhpvm/result.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload::wire {

// ---- From the operator ----------------------------------------------------------------------------------------------

// Answered by WorkerFacts, a Device for each device, a SessionFacts for each session, and FactsEnd.
struct AskFacts {};
// Answered by SessionEnding.
struct EndSession {
  std::uint64_t number = 0;
  std::string reason;  // for its client and the log; may be empty
};
using FromOperator = std::variant<AskFacts, EndSession>;

// ---- From the worker ------------------------------------------------------------------------------------------------

struct WorkerFacts {
  std::string name;
  std::string release;
  std::uint64_t up_ms = 0;
  std::uint64_t most_served = 0;
  std::uint64_t most_waiting = 0;
  bool is_draining = false;
};
struct SessionFacts {
  std::uint64_t number = 0;
  std::uint64_t place = 0;  // in the queue; 0: it is served
  std::string program;      // the name that it gives itself; empty until it has sent it
  std::string client;       // its authenticated name; empty where all have the same key
  std::string key;          // the key's name; empty: none
  std::string peer;         // its address
  std::string seal;         // how array data is protected in transit: none, integrity, full
  std::uint64_t age_ms = 0;
  std::uint64_t jobs = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t memory_bytes = 0;  // on all devices together
  std::uint64_t devices = 0;       // that it uses: one bit for each, in the order of the Device records
  std::uint64_t priority = 0;
};
struct FactsEnd {
  std::uint64_t left_out = 0;  // sessions beyond kMostSessionFacts
};
struct SessionEnding {
  std::uint64_t number = 0;
  std::optional<Failure> failure;
};
using ToOperator = std::variant<WorkerFacts, Device, SessionFacts, FactsEnd, SessionEnding>;

inline constexpr std::size_t kMostSessionFacts = 4096;

// As in protocol.h.
void write(std::vector<std::byte>& frame, const FromOperator& record);
void write(std::vector<std::byte>& frame, const ToOperator& record);
Result<std::vector<FromOperator>> read_from_operator(ConstBytes frame);
Result<std::vector<ToOperator>> read_to_operator(ConstBytes frame);

}  // namespace dhpvm::offload::wire
