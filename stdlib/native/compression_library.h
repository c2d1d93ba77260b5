// SPDX-License-Identifier: Apache-2.0
// zlib and Zstandard, each loaded when a program first uses it.
#pragma once

#include <zlib.h>

#include <cstddef>

namespace dhpvm::stdlib {

struct ZlibLibrary {
  int (*deflate_init)(z_stream* stream, int level, int method, int window_bits, int memory_level,
                      int strategy, const char* version, int stream_size);
  int (*deflate)(z_stream* stream, int flush);
  int (*deflate_end)(z_stream* stream);
  int (*inflate_init)(z_stream* stream, int window_bits, const char* version, int stream_size);
  int (*inflate)(z_stream* stream, int flush);
  int (*inflate_reset)(z_stream* stream);
  int (*inflate_end)(z_stream* stream);
};

// The part of zstd.h that is used here: the header's package would change how LLVM's archives are found.
struct ZstdLibrary {
  struct Context;
  struct Input {
    const void* data;
    std::size_t size;
    std::size_t position;
  };
  struct Output {
    void* data;
    std::size_t size;
    std::size_t position;
  };
  enum Parameter : int { kCompressionLevel = 100, kChecksum = 201 };
  enum EndDirective : int { kContinue = 0, kEnd = 2 };

  Context* (*create_packer)();
  std::size_t (*free_packer)(Context* context);
  std::size_t (*set_parameter)(Context* context, Parameter parameter, int value);
  std::size_t (*pack)(Context* context, Output* output, Input* input, EndDirective end);
  Context* (*create_unpacker)();
  std::size_t (*free_unpacker)(Context* context);
  std::size_t (*unpack)(Context* context, Output* output, Input* input);
  unsigned (*is_error)(std::size_t code);
  const char* (*error_name)(std::size_t code);
};

// The libraries of this process, loaded by the first call; null where there is none. DHPVM_ZLIB and DHPVM_ZSTD name
// others, or none. Thread-safe.
const ZlibLibrary* zlib_library();
const ZstdLibrary* zstd_library();

}  // namespace dhpvm::stdlib
