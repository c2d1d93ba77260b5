// SPDX-License-Identifier: Apache-2.0
// Natives of module image.
#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"

namespace dhpvm::stdlib {

Status image_parse_samples(vm::NativeCall& call) {
  const std::int64_t length = array(call, 0)->length, from = integer(call, 0), wanted = integer(call, 1);
  if (from < 0 || from > length) {
    return error(ErrorCode::kIndexOutOfRange, "position {} is not inside the {} bytes of the picture", from,
                 length);
  }
  DHPVM_ASSIGN(const std::span<char> source, bytes(call, 0, from, length - from, Access::kRead));
  DHPVM_TRY(check_elements(call, *array(call, 1), 0, wanted, Access::kWrite));
  auto* samples = reinterpret_cast<std::int32_t*>(array(call, 1)->data);

  // No sample of the format is larger than 65535.
  constexpr std::int32_t kMostSample = 1 << 20;
  std::int64_t found = 0;
  const char* at = source.data();
  const char* const end = at + source.size();
  Poller poller(call);
  while (found < wanted && at != end) {
    DHPVM_TRY(poller.advance(8));
    if (*at == '#') {
      for (; at != end && *at != '\n'; ++at) DHPVM_TRY(poller.advance(1));
    } else if (*at == ' ' || (*at >= '\t' && *at <= '\r')) {
      ++at;
    } else {
      std::int32_t value = 0;
      const char* const first = at;
      for (; at != end && *at >= '0' && *at <= '9' && value < kMostSample; ++at)
        value = value * 10 + (*at - '0');
      // Not a number: the caller sees that samples are missing.
      if (at == first || value >= kMostSample) break;
      samples[found++] = value;
    }
  }
  return_integer(call, 0, found);
  return {};
}

}  // namespace dhpvm::stdlib
