// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/gpu_presence.h"

#include <filesystem>
#include <system_error>

namespace dhpvm::offload {

bool may_have_gpu() {
  // NVIDIA's, AMD's compute interface, that of Windows' Linux subsystem, Mali's; and then render nodes of all others.
  for (const char* const file : {"/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/mali0"}) {
    std::error_code problem;
    if (std::filesystem::exists(file, problem)) return true;
  }
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/dri", problem)) {
    if (entry.path().filename().string().starts_with("renderD")) return true;
  }
  return false;
}

}  // namespace dhpvm::offload
