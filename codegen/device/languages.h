// SPDX-License-Identifier: Apache-2.0
// All languages of kernels for devices.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "codegen/device/language.h"

namespace dhpvm::codegen {

// Thread-safe.
class KernelLanguages {
 public:
  KernelLanguages();

  // kInvalidArgument, with the list of names, for an unknown one.
  Result<const KernelLanguage*> find(std::string_view name) const;
  // The target for a listing: "opencl", or "ptx:sm_90" with a processor. kInvalidArgument.
  Result<DeviceTarget> target_of(std::string_view text) const;

 private:
  std::vector<std::unique_ptr<KernelLanguage>> all_;
};

}  // namespace dhpvm::codegen
