// SPDX-License-Identifier: Apache-2.0
// Whole files: read, and replace atomically so that a failure leaves nothing half-written.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm {

// All bytes of the file at `path`; "-" reads standard input to its end. kNotFound where
// there is none, otherwise kIo, with the system's reason.
Result<std::vector<std::byte>> read_file(const std::string& path);

// The same, as text. No conversion takes place.
Result<std::string> read_text_file(const std::string& path);

// Replaces the file at `path` by `bytes`: writes a temporary file next to it, syncs, renames. On any failure
// (a full disk, say) the temporary file is removed and an existing `path` is left as it was. An existing file keeps
// its permissions, a symbolic link stays and its target is replaced. A path that is not a regular file (/dev/stdout,
// a pipe) is written in place.
Status write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace dhpvm
