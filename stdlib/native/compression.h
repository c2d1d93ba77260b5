// SPDX-License-Identifier: Apache-2.0
// Packing and unpacking whole pieces of memory, by zlib or Zstandard. The bytes to unpack may be a stranger's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "dhpvm/result.h"
#include "stdlib/native/patience.h"

namespace dhpvm::stdlib {

// The numbers are those of `Compression` in compress.dhp.
enum class Compression : std::uint8_t { kGzip = 0, kZlib = 1, kDeflate = 2, kZstd = 3 };

// `level` 0 leaves the choice to the library; others are the library's. kNotFound if the library is not there; the
// error of `check`, which is called every few milliseconds.
Result<std::string> pack(std::string_view data, Compression format, int level, const StopCheck& check);

// All of the data: each member of a gzip file, and each frame of a Zstandard file. kNotFound if the library is not
// there; kMalformed for bytes that are cut off, damaged or followed by others; kUnsupported if there are more than
// `most` bytes. While the text grows, up to 2.5 times `most` are held, and the library's window (at most 128 MiB).
Result<std::string> unpack(std::string_view data, Compression format, std::size_t most,
                           const StopCheck& check);

}  // namespace dhpvm::stdlib
