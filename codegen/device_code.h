// SPDX-License-Identifier: Apache-2.0
// A kernel compiled for a device: text that the device's driver compiles, and how to call it.
//
// Each work-item of a launch takes the iterations of its chunk that are its own, as DeviceCode::dealing says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dhpvm::codegen {

struct KernelSite;

// The device that a kernel is compiled for. A language takes notice of what differs among its devices, and of
// nothing else.
struct DeviceTarget {
  // As the language calls itself: "ptx", "opencl". Empty for devices that take no text.
  std::string language;
  // The architecture, as the language names them: "sm_75" to "sm_90" of PTX. Empty where it knows none.
  std::string processor;
  bool has_f64 = true;
  bool has_atomics_64 = true;
  // f32 as IEEE 754 has it: denormals are kept, quotients and roots correctly rounded when
  // DeviceCode::options ask for it.
  bool has_exact_f32 = true;
  // A processor works off the items of a group one after the other, or makes vectors of neighbours. Items
  // that step over each other's iterations are slower by a factor of 5 to 500 there.
  bool is_processor = false;
};

// The distribution of a chunk's iterations among the work-items of a launch. Axis 0 of the grid is the innermost
// dimension.
enum class Dealing : std::uint8_t {
  // In each dimension in steps of the number of work-items along its axis, so that neighbours do neighbouring
  // iterations; any number of work-items does the whole chunk. With reductions, a group is some runs of
  // bytecode::kReductionLanes work-items along axis 0, each of which works off one block of
  // bytecode::kReductionBlock iterations at a time.
  kStrides,
  // For processors, with reductions: the blocks of the chunk, numbered in iteration order, in one run of
  // neighbours for each work-item along axis 0, any number of them. A work-item works off a block alone.
  kRuns,
  // For processors, without reductions: one iteration for each work-item, as far behind the low bounds as its
  // global numbers say. A loop around it would keep the driver's compiler from making vectors of neighbours.
  kSingly,
  // Without reductions: iterations are few and long, and `group` is not 0. Each is done by one group, or by several
  // where there are more groups than iterations; any number of work-items along axis 0 does the whole chunk.
  kShared,
};

// One argument of the kernel, in order. All but kData, kPartials and kReport are 64-bit integers; scalars are
// registers, whatever their type.
enum class ParameterKind : std::uint8_t {
  kLow,     // of the chunk, by `index`: the dimension
  kHigh,    //
  kScalar,  // captured scalar `index`
  // Captured array `index`: the address of its element 0, which need not exist, a multiple of kDataAlignment; or, in
  // languages that know no addresses, a buffer.
  kData,
  kDataOffset,  // where there are buffers: the signed distance in bytes from the start of that one to element 0
  kReadable,    // captured array `index`: fields of KernelArray
  kWritable,    //
  kLength,      //
  kDimension,  // dims[`dimension`]
  kPartials,   // one register per reduction and block of the chunk, as in KernelChunk: an address or a buffer
  kPartialsOffset,  // where there are buffers: the distance in bytes from the start of that one to the first register
  kReport,          // a KernelReport: an address or a buffer
  kReportOffset,  // where there are buffers: the distance in bytes from the start of that one to the report
};

// An integer as the kernel gets it: by its value, or by a constant of division by it (codegen/division.h).
enum class ParameterForm : std::uint8_t { kValue, kMultiplier, kShift, kSmallMultiplier, kSmallShift };

struct KernelParameter {
  ParameterKind kind = ParameterKind::kLow;
  std::uint32_t index = 0;
  std::uint32_t dimension = 0;
  ParameterForm form = ParameterForm::kValue;
  bool operator==(const KernelParameter&) const = default;
};

// Fields that lie together, and elements that do, are then loaded and stored several at a time, as GPUs can.
inline constexpr std::uint64_t kDataAlignment = 16;

// Work-items of the largest groups of a kernel with reductions.
inline constexpr std::uint32_t kReductionGroup = 256;

// For OpenCL C: added to DeviceCode::options for launches whose arrays overlap.
inline constexpr char kMayOverlap[] = " -DRESTRICT=";

struct DeviceCode {
  std::string language;  // as in DeviceTarget
  std::string text;
  std::string entry;  // the kernel in it
  // Options for the driver's compiler. With these, OpenCL C takes arrays for distinct.
  std::string options;
  std::vector<KernelParameter> parameters;
  std::vector<KernelSite> sites;  // where it can trap; by KernelTrap::site
  // kStrides, kShared: the most work-items of a group; 0: any number of them. For kStrides without reductions also a
  // sign that they move tiles together: their number along axis 0 is a multiple of 32 then.
  std::uint32_t group = 0;
  // kStrides without reductions: iterations along axis 1 that a work-item does one after the other. If that is more
  // than one, groups have one work-item along that axis. With reductions: more than 1 if all of a group can work off
  // one block, which they do where there are as many groups as blocks, or one fewer in each row of blocks
  // (kLeastRunsForTwo).
  std::uint32_t run = 1;
  // Work-items for each iteration along axis 0, in loops of one dimension without reductions: 1 or kItemsForRow.
  std::uint32_t items = 1;
  // Groups of kSquareGroup by kSquareGroup work-items do squares of iterations (group_work.h); `run` is 1 then.
  bool has_squares = false;
  Dealing dealing = Dealing::kStrides;
};

}  // namespace dhpvm::codegen
