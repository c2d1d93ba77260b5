// SPDX-License-Identifier: Apache-2.0
// Pictures as PNG and JPEG. The bytes to decode may be a stranger's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dhpvm/result.h"

namespace dhpvm::stdlib {

struct PictureShape {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 0;  // grey, grey and opacity, colour, colour and opacity

  std::int64_t samples() const { return width * height * channels; }
};

// The shape of the picture in PNG or JPEG data; the first bytes tell which it is. kMalformed if the data is damaged, or
// too short for so many pixels: memory for the pixels is in proportion to the data. kUnsupported for colours that are
// not read; kNotFound if the library is not installed.
Result<PictureShape> picture_shape(std::string_view data);

// Decodes into shape.samples() bytes, row by row, as sRGB. The same errors, after which the bytes mean nothing. Data
// that is cut off or damaged inside is kMalformed: no part of the picture is returned.
Status decode_picture(std::string_view data, const PictureShape& shape, std::span<std::uint8_t> pixels);

// PNG of 1 to 4 channels, and JPEG of 1 or 3 with a quality of 1 to 100. kNotFound if the library is not installed,
// kUnsupported if the format has no such pictures.
Result<std::string> encode_png(const PictureShape& shape, std::span<const std::uint8_t> pixels);
Result<std::string> encode_jpeg(const PictureShape& shape, std::span<const std::uint8_t> pixels, int quality);

}  // namespace dhpvm::stdlib
