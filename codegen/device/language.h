// SPDX-License-Identifier: Apache-2.0
// A language of kernels for devices, such as PTX. Each language is implemented in its folder, behind this interface;
// languages.cpp lists all of them.
#pragma once

#include <string>
#include <string_view>

#include "codegen/codegen.h"

namespace dhpvm::codegen {

// Thread-safe.
class KernelLanguage {
 public:
  virtual ~KernelLanguage() = default;

  // One word in small letters: DeviceTarget::language, and the name for --print-kernel.
  virtual std::string_view name() const = 0;
  // For people: "PTX".
  virtual std::string_view title() const = 0;
  // The default target of listings: --print-kernel=NAME.
  virtual DeviceTarget usual_target() const = 0;
  // For keys of the cache: identifies libraries that are found at run time and linked into kernels, in addition to LLVM
  // and this program. Empty if there are none.
  virtual std::string identity() const = 0;
  // From the bytecode of a parallel loop to the text of a kernel. kUnsupported, with the reason, if the language or the
  // target lacks something that the loop needs. LLVM may abort the call (host/guard.h). The caller sets
  // DeviceCode::language.
  virtual Result<DeviceCode> make(const KernelRequest& request, const DeviceTarget& target) const = 0;
};

}  // namespace dhpvm::codegen
