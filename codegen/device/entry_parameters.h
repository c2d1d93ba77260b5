// SPDX-License-Identifier: Apache-2.0
// The parameters of a kernel for a device, and the array descriptors that the loop's body takes instead.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/device/device_loop.h"

namespace dhpvm::codegen {

class EntryParameters {
 public:
  // Makes the function `name` with every parameter that such a kernel may have.
  EntryParameters(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                  const KernelBody& body, Buffers buffers, const char* name, llvm::Module& module);

  llvm::Function* function() const { return function_; }
  const std::vector<KernelParameter>& list() const { return list_; }

  llvm::Value* low(unsigned dimension) const { return at(ParameterKind::kLow, dimension); }
  llvm::Value* high(unsigned dimension) const { return at(ParameterKind::kHigh, dimension); }
  llvm::Value* scalar(llvm::IRBuilderBase& builder, std::size_t index) const;
  llvm::Value* partials(llvm::IRBuilderBase& builder) const;
  llvm::Value* report(llvm::IRBuilderBase& builder) const;
  // KernelArrays in private memory. Inlining the body removes them.
  llvm::Value* make_descriptors(llvm::IRBuilderBase& builder) const;

 private:
  llvm::Value* at(ParameterKind kind, std::size_t index = 0, std::uint32_t dimension = 0) const;
  // A buffer, or the address computed from it and its offset.
  llvm::Value* address(llvm::IRBuilderBase& builder, ParameterKind kind, ParameterKind offset,
                       std::size_t index = 0) const;

  const KernelBody& body_;
  const Buffers buffers_;
  std::vector<KernelParameter> list_;
  std::uint32_t arrays_ = 0;
  llvm::Function* function_ = nullptr;
};

// Asserts the ranges that KernelRequest::has_small_indices promises for bounds of the loop and sizes of arrays.
void mark_small_indices(DeviceEntry& entry);

// Asserts that element 0 of each array is aligned to kDataAlignment.
void mark_alignment(DeviceEntry& entry);

// Asserts that the arrays do not overlap others.
void mark_distinct_arrays(DeviceEntry& entry);

// Removes unused parameters; the function is replaced by a new one.
void drop_unused_parameters(DeviceEntry& entry);

}  // namespace dhpvm::codegen
