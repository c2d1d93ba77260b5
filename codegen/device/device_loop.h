// SPDX-License-Identifier: Apache-2.0
// The kernel that a device runs, around the body of a parallel loop: the assignment of iterations to work-items,
// reductions in their prescribed order (bytecode/module.h), and traps. device_code.h describes its launch.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/device/terms.h"
#include "codegen/device_code.h"
#include "codegen/lower/kernel_lowering.h"

namespace dhpvm::codegen {

// A function with the arguments `parameters`.
struct DeviceEntry {
  llvm::Function* function = nullptr;
  std::vector<KernelParameter> parameters;
};

// How a kernel addresses the elements of arrays, the partial results and the report.
enum class Buffers : std::uint8_t {
  kAddresses,   // by addresses of element 0, of the first register of the partial results, of the report
  kAndOffsets,  // by a buffer and an offset in it
};

struct DeviceForm {
  Buffers buffers = Buffers::kAddresses;
  Dealing dealing = Dealing::kStrides;
  std::uint32_t group = 0;         // as in DeviceCode
  std::uint32_t run = 1;           // as in DeviceCode
  std::uint32_t items = 1;         // as in DeviceCode
  bool has_small_indices = false;  // as in KernelRequest
  // Called in place of the body, if not null: a tiled body (tile_loops.h). Without reductions, kStrides.
  llvm::Function* tiled = nullptr;
  // Called for whole squares of iterations, if not null (square_loops.h). Without reductions, kStrides.
  llvm::Function* square = nullptr;
  // kShared: called by all work-items that share an iteration (shared_turns.h).
  llvm::Function* shared = nullptr;
  // With reductions, kStrides: not null if groups share blocks when there are as many groups as blocks.
  const BodyTerms* terms = nullptr;
};

// Emits `name`, which calls the body; the body must be inlined into it.
DeviceEntry make_device_loop(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                             const KernelBody& body, const DeviceForm& form, const char* name,
                             llvm::Module& module);

}  // namespace dhpvm::codegen
