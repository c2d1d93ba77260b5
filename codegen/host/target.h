// SPDX-License-Identifier: Apache-2.0
// The processor that code is made for: this one, or a subset of its features.
//
// A Target is a value and names what the machine code may use; a TargetMachine is LLVM's working state for
// one compilation at a time and is made from it.
#pragma once

#include <llvm/IR/DataLayout.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"

namespace llvm {
class Module;
}

namespace dhpvm::codegen {

// Immutable after creation; may be read by several threads.
class Target {
 public:
  // `cpu` is "native", or a processor or level that LLVM knows ("x86-64-v3", "znver4"), then any number of
  // ",+feature" and ",-feature". kInvalidArgument when a name is unknown, kUnsupported when this processor
  // lacks a requested feature: such code would die of an illegal instruction.
  static Result<Target> create(std::string_view cpu = "native");

  const std::string& triple() const { return triple_; }
  const std::string& cpu() const { return cpu_; }
  const llvm::DataLayout& data_layout() const { return data_layout_; }

  // The width of vectors that kernels should use, in bits: 128, 256 or 512.
  unsigned vector_bits() const { return vector_bits_; }
  // Whether code may use a feature, by LLVM's name of it ("fma", "avx512f").
  bool has(std::string_view feature) const;
  // Everything that changes the machine code, for cache keys: triple, processor, the full list of features,
  // vector width. One line, the same for equal targets.
  const std::string& description() const { return description_; }

  // Triple and data layout, for a module that is about to be filled.
  void configure(llvm::Module& module) const;
  // Makes every function definition in `module` be compiled for this target, whatever its attributes said.
  // With `traceable` debuggers and profilers can walk the stack through it: frame pointers and unwind tables.
  void constrain(llvm::Module& module, bool traceable) const;

  // Not to be used by two threads at once. Takes about 0.1 ms, and as much again for its first function:
  // reuse it.
  Result<std::unique_ptr<llvm::TargetMachine>> new_machine() const;

 private:
  Target() : data_layout_("") {}

  std::string triple_;
  std::string cpu_;
  std::string feature_flags_;          // as LLVM takes them: "+a,-b"
  std::vector<std::string> features_;  // those that are on, sorted
  std::string description_;
  llvm::DataLayout data_layout_;
  unsigned vector_bits_ = 128;
};

}  // namespace dhpvm::codegen
