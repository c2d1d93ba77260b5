// SPDX-License-Identifier: Apache-2.0
// The clients that may use a worker: a file in JSON, which only its owner can read, because it has their keys.
//
//   {"clients": [{"name": "anna", "keys": ["64 hexadecimal digits"], "sessions": 4, "memory": 1048576}, ..]}
//
// A client has a second key while the first is being replaced. `sessions` at a time, and `memory` in bytes for each,
// may be left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm::offload {

struct ClientEntry {
  std::string name;
  std::vector<std::vector<std::byte>> keys;  // one or two
  std::size_t sessions = std::numeric_limits<std::size_t>::max();
  std::uint64_t memory_bytes = std::numeric_limits<std::uint64_t>::max();
};

// kInvalidArgument with what to do when others can read the file, or when it is not as above.
Result<std::vector<ClientEntry>> read_clients_file(const std::string& path);
Result<std::vector<ClientEntry>> parse_clients(std::string_view text);

}  // namespace dhpvm::offload
