// SPDX-License-Identifier: Apache-2.0
// A kernel compiled for a device: text for the device driver's compiler, and its calling convention.
//
// DeviceCode::dealing determines which iterations of a chunk each work-item runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dhpvm::codegen {

struct KernelSite;

// The device that a kernel is compiled for. A language uses only those fields in which its devices differ.
struct DeviceTarget {
  // The name of the language: "ptx", "opencl". Empty for devices that take no text.
  std::string language;
  // The architecture by its name in the language: "sm_75" to "sm_90" for PTX. Empty if it has none.
  std::string processor;
  bool has_f64 = true;
  bool has_atomics_64 = true;
  // f32 is IEEE 754: denormals are kept, and quotients and roots are correctly rounded if DeviceCode::options ask for
  // it.
  bool has_exact_f32 = true;
  // A CPU executes the items of a group one after the other, or vectorises over neighbours. Strided work-items are
  // slower there by a factor of 5 to 500.
  bool is_processor = false;
};

// How the iterations of a chunk are distributed over the work-items of a launch. Axis 0 of the grid is the innermost
// dimension.
enum class Dealing : std::uint8_t {
  // Strided by the number of work-items along each axis, so that neighbours run neighbouring iterations; any number of
  // work-items covers the whole chunk. With reductions, a group consists of runs of bytecode::kReductionLanes
  // work-items along axis 0, each of which processes one block of bytecode::kReductionBlock iterations at a time.
  kStrides,
  // For CPUs, with reductions: the blocks of the chunk, in iteration order, are divided into one contiguous run for
  // each work-item along axis 0, of any number. A work-item processes a block alone.
  kRuns,
  // For CPUs, without reductions: one iteration for each work-item, at the low bounds plus its global ids. A loop
  // around it would keep the driver's compiler from vectorising over neighbours.
  kSingly,
  // Without reductions: iterations are few and long, and `group` is not 0. One group runs each, or several if there are
  // more groups than iterations; any number of work-items along axis 0 covers the whole chunk.
  kShared,
};

// One argument of the kernel, in order. All but kData, kPartials and kReport are 64-bit integers; scalars are
// registers, whatever their type.
enum class ParameterKind : std::uint8_t {
  kLow,     // of the chunk, by `index`: the dimension
  kHigh,    //
  kScalar,  // captured scalar `index`
  // Captured array `index`: the address of its element 0, which may be outside the buffer, a multiple of
  // kDataAlignment; or a buffer, in languages without addresses.
  kData,
  kDataOffset,  // with buffers: the signed offset in bytes from the start of the buffer to element 0
  kReadable,    // captured array `index`: fields of KernelArray
  kWritable,    //
  kLength,      //
  kDimension,   // dims[`dimension`]
  kPartials,  // one register per reduction and block of the chunk, as in KernelChunk: an address or a buffer
  kPartialsOffset,  // with buffers: the offset in bytes from the start of the buffer to the first register
  kReport,          // a KernelReport: an address or a buffer
  kReportOffset,    // with buffers: the offset in bytes from the start of the buffer to the report
};

// The form in which a kernel receives an integer: its value, or a constant for division by it (codegen/division.h).
enum class ParameterForm : std::uint8_t { kValue, kMultiplier, kShift, kSmallMultiplier, kSmallShift };

struct KernelParameter {
  ParameterKind kind = ParameterKind::kLow;
  std::uint32_t index = 0;
  std::uint32_t dimension = 0;
  ParameterForm form = ParameterForm::kValue;
  bool operator==(const KernelParameter&) const = default;
};

// Alignment that lets GPUs load and store several adjacent fields or elements at a time.
inline constexpr std::uint64_t kDataAlignment = 16;

// The maximal number of work-items in a group of a kernel with reductions.
inline constexpr std::uint32_t kReductionGroup = 256;

// For OpenCL C: appended to DeviceCode::options for launches whose arrays overlap.
inline constexpr char kMayOverlap[] = " -DRESTRICT=";

struct DeviceCode {
  std::string language;  // as in DeviceTarget
  std::string text;
  std::string entry;  // the kernel in it
  // Options for the driver's compiler. By default, OpenCL C assumes that arrays do not overlap.
  std::string options;
  std::vector<KernelParameter> parameters;
  std::vector<KernelSite> sites;  // where it can trap; by KernelTrap::site
  // kStrides, kShared: the maximal number of work-items in a group; 0: any number. For kStrides without reductions, not
  // 0 also means that they move tiles together: their number along axis 0 is a multiple of 32 then.
  std::uint32_t group = 0;
  // kStrides without reductions: the number of iterations along axis 1 that a work-item runs one after the other; if
  // that is more than one, groups have one work-item along that axis. With reductions: more than 1 if a whole group can
  // process one block, which happens if there are as many groups as blocks, or one fewer in each row of blocks
  // (kLeastRunsForTwo).
  std::uint32_t run = 1;
  // Work-items for each iteration along axis 0, in loops of one dimension without reductions: 1 or kItemsForRow.
  std::uint32_t items = 1;
  // Groups of kSquareGroup by kSquareGroup work-items run squares of iterations (group_work.h); `run` is 1 then.
  bool has_squares = false;
  Dealing dealing = Dealing::kStrides;
};

}  // namespace dhpvm::codegen
