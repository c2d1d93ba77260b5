// SPDX-License-Identifier: Apache-2.0
// The parameters of a kernel for a device, and the descriptors of arrays that the body of its loop takes instead.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/device/device_loop.h"

namespace dhpvm::codegen {

class EntryParameters {
 public:
  // Makes the function `name` with all parameters that such a kernel can have.
  EntryParameters(const bytecode::Module& bytecode, const bytecode::KernelRecord& record,
                  const KernelBody& body, Buffers buffers, const char* name, llvm::Module& module);

  llvm::Function* function() const { return function_; }
  const std::vector<KernelParameter>& list() const { return list_; }

  llvm::Value* low(unsigned dimension) const { return at(ParameterKind::kLow, dimension); }
  llvm::Value* high(unsigned dimension) const { return at(ParameterKind::kHigh, dimension); }
  llvm::Value* scalar(llvm::IRBuilderBase& builder, std::size_t index) const;
  llvm::Value* partials(llvm::IRBuilderBase& builder) const;
  llvm::Value* report(llvm::IRBuilderBase& builder) const;
  // KernelArrays in private memory. Once the body is inlined, nothing is left of them.
  llvm::Value* make_descriptors(llvm::IRBuilderBase& builder) const;

 private:
  llvm::Value* at(ParameterKind kind, std::size_t index = 0, std::uint32_t dimension = 0) const;
  // A buffer, or the address that it and its offset make.
  llvm::Value* address(llvm::IRBuilderBase& builder, ParameterKind kind, ParameterKind offset,
                       std::size_t index = 0) const;

  const KernelBody& body_;
  const Buffers buffers_;
  std::vector<KernelParameter> list_;
  std::uint32_t arrays_ = 0;
  llvm::Function* function_ = nullptr;
};

// Says that bounds of the loop and sizes of arrays are as KernelRequest::has_small_indices promises.
void mark_small_indices(DeviceEntry& entry);

// Says that element 0 of each array lies at a multiple of kDataAlignment.
void mark_alignment(DeviceEntry& entry);

// Says that the arrays overlap no other ones.
void mark_distinct_arrays(DeviceEntry& entry);

// Leaves out the parameters that nothing is done with; the function is replaced by another.
void drop_unused_parameters(DeviceEntry& entry);

}  // namespace dhpvm::codegen
