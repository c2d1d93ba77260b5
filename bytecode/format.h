// SPDX-License-Identifier: Apache-2.0
// The constants of the module file, shared by reader and writer. docs/bytecode.md describes the format.
#pragma once

#include <cstdint>
#include <string_view>

namespace dhpvm::bytecode {

constexpr std::string_view kMagic = "DHPV";
constexpr std::size_t kHeaderBytes = 24;  // magic, major, minor, features, section count, table CRC, zero
constexpr std::size_t kSectionEntryBytes = 32;  // kind, flags, offset, size, CRC, zero
constexpr std::size_t kSectionAlignment = 16;
constexpr std::uint32_t kSectionRequired = 1;  // flag: a reader that does not know the section must refuse
constexpr std::uint32_t kKnownFeatures = 0;    // version 1.0 defines no optional feature

// X(kind, name, number, required)
#define DHPVM_SECTIONS(X)             \
  X(kStrings, "strings", 1, true)     \
  X(kTypes, "types", 2, true)         \
  X(kImports, "imports", 3, true)     \
  X(kFunctions, "functions", 4, true) \
  X(kCode, "code", 5, true)           \
  X(kKernels, "kernels", 6, true)     \
  X(kLines, "lines", 7, false)        \
  X(kNames, "names", 8, false)        \
  X(kLoops, "loops", 9, false)        \
  X(kStructs, "structs", 10, false)

enum class Section : std::uint32_t {
#define X(kind, name, number, required) kind = number,
  DHPVM_SECTIONS(X)
#undef X
};
constexpr std::uint32_t kSectionKinds = 10;

// Limits of a module. They bound what a small hostile file can make a reader allocate, and keep every index
// within its operand.
constexpr std::uint32_t kMaxSections = 64;
constexpr std::uint32_t kMaxStrings = 1 << 20;
constexpr std::uint32_t kMaxTypes = 1 << 16;
constexpr std::uint32_t kMaxImports = 1 << 16;
constexpr std::uint32_t kMaxFunctions = 1 << 16;
constexpr std::uint32_t kMaxKernels = 1 << 16;
constexpr std::uint32_t kMaxDimensions = 3;       // of a kernel, and of the loops in a block
constexpr std::uint32_t kMaxMembers = 1 << 16;    // fields, methods, parameters, results, locals of one owner
constexpr std::uint32_t kMaxCodeWords = 1 << 28;  // 2 GiB
constexpr std::uint32_t kMaxObjectBytes = 0xffff;  // of an instance or a struct: offsets are 16-bit operands
constexpr std::uint32_t kMaxLocalBytes = 64 * 1024;  // all local arrays of a function, each rounded up to 8

}  // namespace dhpvm::bytecode
