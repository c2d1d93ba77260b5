// SPDX-License-Identifier: Apache-2.0
// The clients that may use a worker: a JSON file that only its owner can read, because it contains their keys.
//
//   {"clients": [
//     {"name": "anna", "keys": ["64 hexadecimal digits"], "sessions": 4, "memory": 1048576, "time": 3600,
//      "priority": 200},
//     {"name": "bert", "certificate": "bert.example.com", "rights": ["operate"]}
//   ]}
//
// A client has one key or two, so that one can replace the other, or a certificate with this common name. The rest may
// be left out: what it may do ("use" devices, unless "rights" says otherwise, and "operate": see and end sessions), how
// many sessions at a time, bytes of memory and seconds of computing for each, and its priority from 1 to 10000.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"
#include "offload/remote/fabric/secret_bytes.h"

namespace dhpvm::offload {

struct ClientEntry {
  static constexpr std::uint64_t kUsualPriority = 100;
  static constexpr std::uint64_t kHighestPriority = 10'000;

  std::string name;
  std::vector<SecretBytes> keys;  // one or two; none with a certificate
  std::string certificate;        // the common name in it; empty: none
  bool may_use = true;
  bool may_operate = false;
  std::size_t sessions = std::numeric_limits<std::size_t>::max();
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();
  std::chrono::seconds time{0};  // 0: no limit
  std::uint64_t priority = kUsualPriority;
};

// kInvalidArgument, with the remedy, when others can read the file, or when it does not have the form above.
Result<std::vector<ClientEntry>> read_clients_file(const std::string& path);
Result<std::vector<ClientEntry>> parse_clients(std::string_view text);

}  // namespace dhpvm::offload
