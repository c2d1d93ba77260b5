// SPDX-License-Identifier: Apache-2.0
// NVIDIA's library of mathematical functions, the LLVM bitcode of the CUDA toolkit.
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
  // Searches for it: in DHPVM_LIBDEVICE if that is set, else in CUDA_HOME and CUDA_PATH, in the usual places of
  // toolkits and distributions, and next to this library. Does not fail: a missing file is reported when it is needed.
  static Libdevice find();
  Libdevice(Libdevice&&) noexcept;
  ~Libdevice();

  // Replaces calls of the C library's mathematical functions by those of libdevice and links these into the module, for
  // an architecture of this number (80 for sm_80). Does nothing if there are none; kUnsupported if the library was not
  // found or lacks one.
  Status link(llvm::Module& module, unsigned architecture) const;

  // For cache keys: identifies the file.
  const std::string& identity() const { return identity_; }

 private:
  Libdevice();

  std::unique_ptr<llvm::MemoryBuffer> bitcode_;  // null if it was not found
  std::string path_;
  std::string identity_;
  std::string looked_at_;  // the searched paths, for the message
};

}  // namespace dhpvm::codegen::ptx
