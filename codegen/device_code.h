// SPDX-License-Identifier: Apache-2.0
// What the code generator makes of a kernel for a device: text that the device's driver compiles, and how to call it.
//
// Such a kernel is launched over any number of work-items: each takes the iterations of its chunk that are its own, as
// DeviceCode::runs says. With reductions and without runs, kReductionGroup work-items form a group, and each run of
// bytecode::kReductionLanes of them works off one block of bytecode::kReductionBlock iterations at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dhpvm::codegen {

struct KernelSite;

enum class DeviceLanguage : std::uint8_t { kOpenClC, kPtx };

struct DeviceTarget {
  DeviceLanguage language = DeviceLanguage::kOpenClC;
  // PTX: the architecture, "sm_75" to "sm_90". OpenCL C: empty.
  std::string processor;
  // OpenCL C: what the device offers. PTX has it all.
  bool has_f64 = true;
  bool has_atomics_64 = true;
  // f32 as IEEE 754 has it: denormals are kept, quotients and roots correctly rounded when DeviceCode::options ask for it.
  bool has_exact_f32 = true;
  // OpenCL C for a processor, which works off the items of a group one after the other: runs of iterations are wanted, as
  // DeviceCode::runs says. Items that step over each other's iterations are slower by a factor of 5 to 500 there.
  bool wants_runs = false;
};

// One argument of the kernel, in order. All but kData, kPartials and kReport are 64-bit integers; scalars are registers,
// whatever their type.
enum class ParameterKind : std::uint8_t {
  kLow,     // of the chunk, by `index`: the dimension
  kHigh,    //
  kScalar,  // captured scalar `index`
  kData,  // captured array `index`: PTX, the address of its element 0, which need not exist; OpenCL C, a buffer
  kDataOffset,  // OpenCL C: the signed distance in bytes from the start of that buffer to element 0
  kReadable,    // captured array `index`: fields of KernelArray
  kWritable,    //
  kLength,      //
  kDimension,   // dims[`dimension`]
  kPartials,  // one register per reduction and block of the chunk, as in KernelChunk: an address or a buffer
  kPartialsOffset,  // OpenCL C: the distance in bytes from the start of that buffer to the first register
  kReport,          // a KernelReport: an address or a buffer
  kReportOffset,    // OpenCL C: the distance in bytes from the start of that buffer to the report
};

struct KernelParameter {
  ParameterKind kind = ParameterKind::kLow;
  std::uint32_t index = 0;
  std::uint32_t dimension = 0;
  bool operator==(const KernelParameter&) const = default;
};

// Work-items of a group of a kernel with reductions.
inline constexpr std::uint32_t kReductionGroup = 256;

struct DeviceCode {
  std::string text;     // OpenCL C, or PTX
  std::string entry;    // the kernel in it
  std::string options;  // OpenCL C: what the driver's compiler is to be told
  std::vector<KernelParameter> parameters;
  std::vector<KernelSite> sites;  // where it can trap; by KernelTrap::site
  std::uint32_t group = 0;        // the size that groups must have; 0: any
  // How each dimension is dealt out among the work-items along its axis of the grid (axis 0 is the innermost dimension).
  // False: in steps of their number, so that neighbours do neighbouring iterations. True: one run of neighbouring iterations
  // each, ceil(extent / number) long and in order; with reductions the blocks of the chunk, numbered in iteration order, are
  // dealt out so along axis 0, one work-item working off a block alone, with `group` 0.
  bool runs = false;
};

}  // namespace dhpvm::codegen
