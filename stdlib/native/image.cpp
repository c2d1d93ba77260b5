// SPDX-License-Identifier: Apache-2.0
// Natives of module image.
#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"
#include "stdlib/native/picture.h"
#include "stdlib/native/problem.h"

namespace dhpvm::stdlib {
namespace {

Result<std::string_view> picture_data(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::span<char> data, bytes(call, 0, 0, array(call, 0)->length, Access::kRead));
  return std::string_view(data.data(), data.size());
}

}  // namespace

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

Status image_shape(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string_view data, picture_data(call));
  const Result<PictureShape> shape = picture_shape(data);
  const PictureShape found = shape.ok() ? *shape : PictureShape();
  return_integer(call, 1, found.width);
  return_integer(call, 2, found.height);
  return_integer(call, 3, found.channels);
  return return_problem(call, 0, shape.ok() ? Status() : Status(shape.error()));
}

Status image_decode(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string_view data, picture_data(call));
  const Result<PictureShape> shape = picture_shape(data);
  if (!shape.ok()) return return_problem(call, 0, shape.error());
  if (shape->samples() != array(call, 1)->length)
    return error(ErrorCode::kUserTrap, "image: the array has {} bytes, and the picture {}",
                 array(call, 1)->length, shape->samples());
  DHPVM_ASSIGN(const std::span<char> pixels, bytes(call, 1, 0, shape->samples(), Access::kWrite));
  return return_problem(
      call, 0, decode_picture(data, *shape, {reinterpret_cast<std::uint8_t*>(pixels.data()), pixels.size()}));
}

Status image_encode(vm::NativeCall& call) {
  const PictureShape shape{integer(call, 0), integer(call, 1), integer(call, 2)};
  const std::int64_t quality = integer(call, 3);
  constexpr std::int64_t kMostSide = 1000000;
  const bool fits = shape.width > 0 && shape.height > 0 && shape.width <= kMostSide &&
                    shape.height <= kMostSide && shape.channels >= 1 && shape.channels <= 4;
  if (!fits || shape.samples() != array(call, 0)->length)
    return error(ErrorCode::kUserTrap, "image: {} bytes are no picture of {} x {} with {} channels",
                 array(call, 0)->length, shape.width, shape.height, shape.channels);
  if (quality < 0 || quality > 100 || (quality > 0 && shape.channels % 2 == 0))
    return error(ErrorCode::kUserTrap, "image: no JPEG of quality {} with {} channels can be made", quality,
                 shape.channels);
  DHPVM_ASSIGN(const std::span<char> data, bytes(call, 0, 0, shape.samples(), Access::kRead));
  const std::span<const std::uint8_t> pixels(reinterpret_cast<const std::uint8_t*>(data.data()), data.size());
  return return_bytes_or_problem(
      call, quality == 0 ? encode_png(shape, pixels) : encode_jpeg(shape, pixels, static_cast<int>(quality)));
}

}  // namespace dhpvm::stdlib
