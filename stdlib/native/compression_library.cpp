// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/compression_library.h"

#include <optional>

#include "base/private_library.h"
#include "stdlib/native/loaded_library.h"

namespace dhpvm::stdlib {
namespace {

std::optional<ZlibLibrary> load_zlib() {
  void* const from = open_first(library_names("DHPVM_ZLIB", {"libz.so.1", "libz.so"})).handle;
  ZlibLibrary out{};
  const bool whole =
      from != nullptr && find_function(from, "deflateInit2_", out.deflate_init) &&
      find_function(from, "deflate", out.deflate) && find_function(from, "deflateEnd", out.deflate_end) &&
      find_function(from, "inflateInit2_", out.inflate_init) && find_function(from, "inflate", out.inflate) &&
      find_function(from, "inflateReset", out.inflate_reset) &&
      find_function(from, "inflateEnd", out.inflate_end);
  return whole ? std::optional(out) : std::nullopt;
}

std::optional<ZstdLibrary> load_zstd() {
  void* const from = open_first(library_names("DHPVM_ZSTD", {"libzstd.so.1", "libzstd.so"})).handle;
  ZstdLibrary out{};
  const bool whole = from != nullptr && find_function(from, "ZSTD_createCCtx", out.create_packer) &&
                     find_function(from, "ZSTD_freeCCtx", out.free_packer) &&
                     find_function(from, "ZSTD_CCtx_setParameter", out.set_parameter) &&
                     find_function(from, "ZSTD_compressStream2", out.pack) &&
                     find_function(from, "ZSTD_createDCtx", out.create_unpacker) &&
                     find_function(from, "ZSTD_freeDCtx", out.free_unpacker) &&
                     find_function(from, "ZSTD_decompressStream", out.unpack) &&
                     find_function(from, "ZSTD_isError", out.is_error) &&
                     find_function(from, "ZSTD_getErrorName", out.error_name);
  return whole ? std::optional(out) : std::nullopt;
}

}  // namespace

const ZlibLibrary* zlib_library() {
  static const std::optional<ZlibLibrary> loaded = load_zlib();
  return loaded ? &*loaded : nullptr;
}

const ZstdLibrary* zstd_library() {
  static const std::optional<ZstdLibrary> loaded = load_zstd();
  return loaded ? &*loaded : nullptr;
}

}  // namespace dhpvm::stdlib
