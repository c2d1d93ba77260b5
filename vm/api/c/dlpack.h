// SPDX-License-Identifier: Apache-2.0
// The structures of DLPack 1 (github.com/dmlc/dlpack), as their binary interface fixes them.
#pragma once

#include <cstdint>

struct DlDevice {
  std::int32_t type;  // DlDeviceType
  std::int32_t id;
};
enum DlDeviceType : std::int32_t { kDlCpu = 1 };

enum DlTypeCode : std::uint8_t { kDlInt = 0, kDlUInt = 1, kDlFloat = 2, kDlComplex = 5, kDlBool = 6 };
struct DlDataType {
  std::uint8_t code;  // DlTypeCode
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t dimensions;
  DlDataType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: dense, row-major
  std::uint64_t byte_offset;
};

inline constexpr std::uint32_t kDlMajorVersion = 1;
inline constexpr std::uint32_t kDlMinorVersion = 0;
inline constexpr std::uint64_t kDlReadOnly = 1;

// The name is that of DLPack's own header, because the C interface shows it.
struct DLManagedTensorVersioned {
  std::uint32_t major_version;
  std::uint32_t minor_version;
  void* context;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DlTensor tensor;
};
