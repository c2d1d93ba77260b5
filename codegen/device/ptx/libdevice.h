// SPDX-License-Identifier: Apache-2.0
// NVIDIA's library of mathematical functions, as LLVM bitcode of the CUDA toolkit.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "dhpvm/result.h"

namespace llvm {
class MemoryBuffer;
}

namespace dhpvm::codegen::ptx {

// Immutable; any number of threads may link it at once.
class Libdevice {
 public:
  // Looks for it: in DHPVM_LIBDEVICE if that is set, else in CUDA_HOME and CUDA_PATH, in the places where toolkits and
  // distributions put it, and next to this library. Does not fail: a missing file is reported when it is needed.
  static Libdevice find();
  Libdevice(Libdevice&&) noexcept;
  ~Libdevice();

  // Replaces calls of the C library's mathematical functions by what stands for them here, and adds that to
  // the module, for an architecture of this number (80 for sm_80). Nothing is done if there are none;
  // kUnsupported when there are and the library was not found, or does not have one.
  Status link(llvm::Module& module, unsigned architecture) const;

  // For cache keys: what there is.
  const std::string& identity() const { return identity_; }

 private:
  Libdevice();

  std::unique_ptr<llvm::MemoryBuffer> bitcode_;  // null if it was not found
  std::string path_;
  std::string identity_;
  std::string looked_at_;  // the paths, for the message
};

}  // namespace dhpvm::codegen::ptx
