// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/picture_library.h"

#include <optional>

#include "base/private_library.h"
#include "stdlib/native/loaded_library.h"

namespace dhpvm::stdlib {
namespace {

std::optional<PngLibrary> load_png() {
  void* const from = open_first(library_names("DHPVM_PNG", {"libpng16.so.16", "libpng16.so"})).handle;
  PngLibrary out{};
  const bool whole = from != nullptr &&
                     find_function(from, "png_image_begin_read_from_memory", out.begin_read) &&
                     find_function(from, "png_image_finish_read", out.finish_read) &&
                     find_function(from, "png_image_write_to_memory", out.write) &&
                     find_function(from, "png_image_free", out.free);
  return whole ? std::optional(out) : std::nullopt;
}

std::optional<JpegLibrary> load_jpeg() {
  void* const from = open_first(library_names("DHPVM_JPEG", {"libturbojpeg.so.0", "libturbojpeg.so"})).handle;
  JpegLibrary out{};
  const bool whole =
      from != nullptr && find_function(from, "tjInitDecompress", out.init_decoder) &&
      find_function(from, "tjInitCompress", out.init_encoder) &&
      find_function(from, "tjDecompressHeader3", out.read_head) &&
      find_function(from, "tjDecompress2", out.decode) && find_function(from, "tjCompress2", out.encode) &&
      find_function(from, "tjFree", out.free) && find_function(from, "tjDestroy", out.destroy) &&
      find_function(from, "tjGetErrorStr2", out.reason);
  return whole ? std::optional(out) : std::nullopt;
}

}  // namespace

const PngLibrary* png_library() {
  static const std::optional<PngLibrary> loaded = load_png();
  return loaded ? &*loaded : nullptr;
}

const JpegLibrary* jpeg_library() {
  static const std::optional<JpegLibrary> loaded = load_jpeg();
  return loaded ? &*loaded : nullptr;
}

}  // namespace dhpvm::stdlib
