// SPDX-License-Identifier: Apache-2.0
// Stands in for the compiler in builds without one.
#include "dhpvm/module.h"

namespace dhpvm {

Result<Module> Module::compile(const Engine& /*engine*/, std::string_view /*source*/,
                               const CompileOptions& options) {
  return Error(ErrorCode::kUnsupported,
               "cannot compile '" + options.file_name + "': this build has no compiler");
}

}  // namespace dhpvm
