// SPDX-License-Identifier: Apache-2.0
// libpng and libjpeg-turbo, each loaded when a program first uses it. Both are called by the interface that needs no
// setjmp and no knowledge of the library's structures.
#pragma once

#include <png.h>

#include <cstddef>

namespace dhpvm::stdlib {

struct PngLibrary {
  int (*begin_read)(png_image* image, const void* data, std::size_t size);
  int (*finish_read)(png_image* image, const png_color* background, void* pixels, png_int_32 row_stride,
                     void* colormap);
  int (*write)(png_image* image, void* memory, png_alloc_size_t* size, int convert_to_8_bit,
               const void* pixels, png_int_32 row_stride, const void* colormap);
  void (*free)(png_image* image);
};

// The part of turbojpeg.h that is used here. Its numbers have been the same since version 1.2.
struct JpegLibrary {
  using Handle = void*;
  enum PixelFormat : int { kRgb = 0, kGrey = 6 };
  enum Colours : int { kGreyFile = 2, kCmykFile = 3, kYcckFile = 4 };
  enum Subsampling : int { kFull = 0, kHalf = 2, kGreyOnly = 3 };
  enum Flags : int { kAccurate = 4096, kStopOnWarning = 8192, kLimitScans = 32768 };

  Handle (*init_decoder)();
  Handle (*init_encoder)();
  int (*read_head)(Handle decoder, const unsigned char* data, unsigned long size, int* width, int* height,
                   int* subsampling, int* colours);
  int (*decode)(Handle decoder, const unsigned char* data, unsigned long size, unsigned char* pixels,
                int width, int row_bytes, int height, int format, int flags);
  int (*encode)(Handle encoder, const unsigned char* pixels, int width, int row_bytes, int height, int format,
                unsigned char** data, unsigned long* size, int subsampling, int quality, int flags);
  void (*free)(unsigned char* data);
  int (*destroy)(Handle handle);
  char* (*reason)(Handle handle);
};

// The libraries of this process, loaded by the first call; null where there is none. DHPVM_PNG and DHPVM_JPEG name
// others, or none. Thread-safe.
const PngLibrary* png_library();
const JpegLibrary* jpeg_library();

}  // namespace dhpvm::stdlib
