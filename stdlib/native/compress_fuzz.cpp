// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as packed data. The first byte chooses the format. Unpacking must not crash, hang or give
// more than it was asked for, and what comes out packs and unpacks to the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "stdlib/native/compression.h"

namespace dhpvm::stdlib {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 20;

void insist(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto format = static_cast<Compression>(data[0] % 4);
  const std::string_view packed(reinterpret_cast<const char*>(data) + 1, size - 1);
  const StopCheck never = [] { return Status(); };
  const Result<std::string> content = unpack(packed, format, kMost, never);
  if (!content.ok()) {
    const ErrorCode code = content.error().code();
    insist(code == ErrorCode::kMalformed || code == ErrorCode::kUnsupported);
    insist(!content.error().message().empty());
    return 0;
  }
  insist(content->size() <= kMost);
  const Result<std::string> again = pack(*content, format, 0, never);
  insist(again.ok());
  const Result<std::string> same = unpack(*again, format, content->size(), never);
  insist(same.ok() && *same == *content);
  return 0;
}

}  // namespace dhpvm::stdlib
