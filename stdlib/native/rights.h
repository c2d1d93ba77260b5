// SPDX-License-Identifier: Apache-2.0
// Which folders of the system a program may read and write. Every native function of reach kSystem asks here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dhpvm/result.h"
#include "dhpvm/rights.h"

namespace dhpvm::stdlib {

// The use that a call makes of a path. kReplace acts on a link itself, as removing does, and follows only those above.
enum class PathUse : std::uint8_t { kRead, kReadLink, kWrite, kReplace };

// The path without links, `.` and `..`, as the system would walk it; what does not exist stays as it is, behind the
// target of a link as well. With kReadLink and kReplace the last part is not followed. kIoTrap if links go in a circle
// or `..` stands behind something that does not exist.
Result<std::string> physical_path(const std::string& path, PathUse use);

// Immutable, so that isolates on all threads may share it.
class Rights {
 public:
  explicit Rights(const SystemRights& given);

  // The physical path, for the system's calls: between the check and the call, only other processes can put another
  // link in its place. kPermissionDenied outside of the folders, whether there is such a file or not, and for kReplace
  // also for the folders themselves.
  Result<std::string> permitted(const std::string& path, PathUse use) const;
  Status check_environment() const;
  Status check_run() const;

 private:
  std::vector<std::string> read_;
  std::vector<std::string> write_;
  bool environment_;
  bool run_;
};

}  // namespace dhpvm::stdlib
