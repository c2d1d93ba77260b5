// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as a PNG or JPEG picture. Decoding must not crash, hang, or want memory out of proportion
// to the data; a picture that was decoded is the same when it is written as PNG and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "stdlib/native/picture.h"

namespace dhpvm::stdlib {
namespace {

void insist(bool condition) {
  if (!condition) std::abort();
}
void insist_on_problem(const Error& problem) {
  insist(problem.code() == ErrorCode::kMalformed || problem.code() == ErrorCode::kUnsupported);
  insist(!problem.message().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<PictureShape> shape = picture_shape(bytes);
  if (!shape.ok()) {
    insist_on_problem(shape.error());
    return 0;
  }
  // A byte of PNG can stand for 8256 pixels of 1 bit, with 4 channels each.
  insist(shape->samples() / 40000 <= static_cast<std::int64_t>(size));
  constexpr std::int64_t kMostSamples = std::int64_t{1} << 22;  // keeps a round short
  if (shape->samples() > kMostSamples) return 0;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(shape->samples()));
  const Status decoded = decode_picture(bytes, *shape, pixels);
  if (!decoded.ok()) {
    insist_on_problem(decoded.error());
    return 0;
  }
  const Result<std::string> written = encode_png(*shape, pixels);
  insist(written.ok());
  std::vector<std::uint8_t> again(pixels.size());
  insist(decode_picture(*written, *shape, again).ok() && again == pixels);
  return 0;
}

}  // namespace dhpvm::stdlib
