// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/picture.h"

#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "base/error.h"
#include "stdlib/native/loaded_library.h"
#include "stdlib/native/picture_library.h"

namespace dhpvm::stdlib {
namespace {

constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n";

Error malformed(std::string_view reason) {
  return error(ErrorCode::kMalformed, "the picture is damaged: {}", reason);
}
Error too_short(std::size_t size, const PictureShape& shape) {
  return error(ErrorCode::kMalformed, "{} bytes are too few for {} x {} pixels", size, shape.width,
               shape.height);
}

// A png_image that frees itself.
struct Png {
  png_image image{};
  const PngLibrary& library;
  explicit Png(const PngLibrary& from) : library(from) { image.version = PNG_IMAGE_VERSION; }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
  ~Png() { library.free(&image); }

  // A warning is no failure: much software writes profiles of colours that libpng does not like.
  Status outcome(int done) const {
    if (done != 0) return {};
    if (std::strstr(image.message, "memory") != nullptr) throw std::bad_alloc();
    return malformed(image.message);
  }
  // Reads the head, and chooses samples of 8 bits.
  Status begin(std::string_view data) {
    DHPVM_TRY(outcome(library.begin_read(&image, data.data(), data.size())));
    image.format &= PNG_FORMAT_FLAG_ALPHA | PNG_FORMAT_FLAG_COLOR;
    // Files with 16 bits are sRGB in practice, where they do not say otherwise; libpng would take them as linear.
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    return {};
  }
  PictureShape shape() const {
    return {image.width, image.height, static_cast<std::int64_t>(PNG_IMAGE_SAMPLE_CHANNELS(image.format))};
  }
};

// Bits of a pixel in the file, by the first chunk, whose place is fixed.
std::int64_t bits_of_pixel(std::string_view png) {
  constexpr std::array<std::int64_t, 7> kSamples{1, 0, 3, 1, 2, 0, 4};  // by the type of colours
  constexpr std::size_t kDepth = 24, kColours = 25;
  if (png.size() <= kColours) return 0;
  const auto colours = static_cast<std::uint8_t>(png[kColours]);
  return colours < kSamples.size() ? kSamples[colours] * static_cast<std::uint8_t>(png[kDepth]) : 0;
}

Result<PictureShape> png_shape(std::string_view data) {
  const PngLibrary* const library = png_library();
  if (library == nullptr) return no_library("libpng (libpng16.so.16)");
  Png png(*library);
  DHPVM_TRY(png.begin(data));
  const PictureShape shape = png.shape();
  // Deflate makes at most 1032 bytes of one (258 bytes by two bits).
  const auto bytes = shape.width * shape.height / 8 * bits_of_pixel(data);
  if (bytes / 1032 > static_cast<std::int64_t>(data.size())) return too_short(data.size(), shape);
  return shape;
}

Status decode_png(std::string_view data, const PictureShape& shape, std::span<std::uint8_t> pixels) {
  const PngLibrary* const library = png_library();
  if (library == nullptr) return no_library("libpng (libpng16.so.16)");
  Png png(*library);
  DHPVM_TRY(png.begin(data));
  const PictureShape found = png.shape();
  if (found.samples() != shape.samples() || found.samples() != static_cast<std::int64_t>(pixels.size()))
    return error(ErrorCode::kInternal, "a picture has another size than its head said");
  return png.outcome(library->finish_read(&png.image, nullptr, pixels.data(), 0, nullptr));
}

// A handle of libjpeg-turbo that destroys itself.
class Jpeg {
 public:
  Jpeg(const JpegLibrary& library, JpegLibrary::Handle (*init)()) : handle_(init(), library.destroy) {
    if (handle_ == nullptr) throw std::bad_alloc();
  }
  JpegLibrary::Handle get() const { return handle_.get(); }

 private:
  std::unique_ptr<void, int (*)(JpegLibrary::Handle)> handle_;
};

const unsigned char* bytes_of(std::string_view data) {
  return reinterpret_cast<const unsigned char*>(data.data());
}

Result<PictureShape> jpeg_shape(std::string_view data) {
  const JpegLibrary* const library = jpeg_library();
  if (library == nullptr) return no_library("libjpeg-turbo (libturbojpeg.so.0)");
  const Jpeg jpeg(*library, library->init_decoder);
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (library->read_head(jpeg.get(), bytes_of(data), data.size(), &width, &height, &subsampling, &colours) !=
      0)
    return malformed(library->reason(jpeg.get()));
  // A file that ends before the head of its picture.
  if (width <= 0 || height <= 0) return malformed("it has no head");
  if (colours == JpegLibrary::kCmykFile || colours == JpegLibrary::kYcckFile)
    return Error(ErrorCode::kUnsupported,
                 "pictures for printing (CMYK) are not read; convert it to RGB first");
  const PictureShape shape{width, height, colours == JpegLibrary::kGreyFile ? 1 : 3};
  // A block of 64 samples takes at least one bit in a Huffman code. With halved colours, 256 pixels have 6 blocks; a
  // grey picture has the most pixels of a byte. An arithmetic code may need less, for pictures without any content.
  constexpr std::int64_t kMostPixelsOfByte = 64 * 8;
  if (shape.width * shape.height / kMostPixelsOfByte > static_cast<std::int64_t>(data.size()))
    return too_short(data.size(), shape);
  return shape;
}

Status decode_jpeg(std::string_view data, const PictureShape& shape, std::span<std::uint8_t> pixels) {
  const JpegLibrary* const library = jpeg_library();
  if (library == nullptr) return no_library("libjpeg-turbo (libturbojpeg.so.0)");
  if (shape.samples() != static_cast<std::int64_t>(pixels.size()))
    return error(ErrorCode::kInternal, "a picture has another size than its head said");
  const Jpeg jpeg(*library, library->init_decoder);
  const int format = shape.channels == 1 ? JpegLibrary::kGrey : JpegLibrary::kRgb;
  // Without these flags, the library fills in what is missing, and a file of a few kilobytes with thousands of passes
  // over a large picture keeps it busy for minutes.
  const int flags = JpegLibrary::kAccurate | JpegLibrary::kStopOnWarning | JpegLibrary::kLimitScans;
  if (library->decode(jpeg.get(), bytes_of(data), data.size(), pixels.data(), static_cast<int>(shape.width),
                      0, static_cast<int>(shape.height), format, flags) != 0)
    return malformed(library->reason(jpeg.get()));
  return {};
}

bool is_png(std::string_view data) { return data.starts_with(kPngSignature); }
bool is_jpeg(std::string_view data) { return data.starts_with("\xff\xd8\xff"); }

}  // namespace

Result<PictureShape> picture_shape(std::string_view data) {
  if (is_png(data)) return png_shape(data);
  if (is_jpeg(data)) return jpeg_shape(data);
  return Error(ErrorCode::kMalformed, "it is neither PNG nor JPEG");
}

Status decode_picture(std::string_view data, const PictureShape& shape, std::span<std::uint8_t> pixels) {
  return is_png(data) ? decode_png(data, shape, pixels) : decode_jpeg(data, shape, pixels);
}

Result<std::string> encode_png(const PictureShape& shape, std::span<const std::uint8_t> pixels) {
  const PngLibrary* const library = png_library();
  if (library == nullptr) return no_library("libpng (libpng16.so.16)");
  constexpr std::array<png_uint_32, 4> kFormats{PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB,
                                                PNG_FORMAT_RGBA};
  Png png(*library);
  png.image.width = static_cast<png_uint_32>(shape.width);
  png.image.height = static_cast<png_uint_32>(shape.height);
  png.image.format = kFormats.at(static_cast<std::size_t>(shape.channels - 1));
  // libpng counts in 32 bits what is compressed.
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;
  if (shape.samples() + shape.height > kMostBytes)
    return error(ErrorCode::kUnsupported, "a PNG picture may have {} bytes of samples, not {}", kMostBytes,
                 shape.samples());
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png.image);
  std::string out(size, '\0');
  DHPVM_TRY(png.outcome(library->write(&png.image, out.data(), &size, 0, pixels.data(), 0, nullptr)));
  out.resize(size);
  return out;
}

Result<std::string> encode_jpeg(const PictureShape& shape, std::span<const std::uint8_t> pixels,
                                int quality) {
  const JpegLibrary* const library = jpeg_library();
  if (library == nullptr) return no_library("libjpeg-turbo (libturbojpeg.so.0)");
  const bool is_grey = shape.channels == 1;
  const Jpeg jpeg(*library, library->init_encoder);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  // Colours at half the resolution, as cameras and other programs do, unless the quality is high.
  constexpr int kFullColours = 95;
  const int subsampling = is_grey                   ? JpegLibrary::kGreyOnly
                          : quality >= kFullColours ? JpegLibrary::kFull
                                                    : JpegLibrary::kHalf;
  const int done =
      library->encode(jpeg.get(), pixels.data(), static_cast<int>(shape.width), 0,
                      static_cast<int>(shape.height), is_grey ? JpegLibrary::kGrey : JpegLibrary::kRgb, &data,
                      &size, subsampling, quality, JpegLibrary::kAccurate);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(data, library->free);
  if (done != 0)
    return error(ErrorCode::kUnsupported, "the picture cannot be written: {}", library->reason(jpeg.get()));
  return std::string(reinterpret_cast<const char*>(data), size);
}

}  // namespace dhpvm::stdlib
