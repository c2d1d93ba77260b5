// SPDX-License-Identifier: Apache-2.0
// The processor for which code is generated: this one, or a subset of its features.
//
// A Target is a value and lists what the machine code may use; a TargetMachine is LLVM's working state for one
// compilation at a time and is made from it.
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

// Immutable after creation and thread-safe.
class Target {
 public:
  // `cpu` is "native", or a processor or level that LLVM knows ("x86-64-v3", "znver4"), followed by any number of
  // ",+feature" and ",-feature". kInvalidArgument if a name is unknown, kUnsupported if this processor lacks a
  // requested feature: such code would raise an illegal instruction.
  static Result<Target> create(std::string_view cpu = "native");

  const std::string& triple() const { return triple_; }
  const std::string& cpu() const { return cpu_; }
  const llvm::DataLayout& data_layout() const { return data_layout_; }

  // The preferred vector width for kernels, in bits: 128, 256 or 512.
  unsigned vector_bits() const { return vector_bits_; }
  // Whether code may use a feature, by LLVM's name ("fma", "avx512f").
  bool has(std::string_view feature) const;
  // Everything that affects the machine code, for cache keys: triple, processor, the full list of features, vector
  // width. One line, the same for equal targets.
  const std::string& description() const { return description_; }

  // Sets triple and data layout of a new module.
  void configure(llvm::Module& module) const;
  // Makes every function definition in `module` be compiled for this target, whatever its attributes said. With
  // `traceable`, debuggers and profilers can unwind through it: frame pointers and unwind tables.
  void constrain(llvm::Module& module, bool traceable) const;

  // Not thread-safe. Takes about 0.1 ms, and as much again for its first function: reuse it.
  Result<std::unique_ptr<llvm::TargetMachine>> new_machine() const;

 private:
  Target() : data_layout_("") {}

  std::string triple_;
  std::string cpu_;
  std::string feature_flags_;          // in LLVM's notation: "+a,-b"
  std::vector<std::string> features_;  // enabled ones, sorted
  std::string description_;
  llvm::DataLayout data_layout_;
  unsigned vector_bits_ = 128;
};

}  // namespace dhpvm::codegen
