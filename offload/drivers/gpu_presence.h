// SPDX-License-Identifier: Apache-2.0
// Whether it is worth looking for a GPU: loading the vendors' libraries takes a tenth of a second and 50 MiB,
// and most machines that have none show that in /dev.
#pragma once

namespace dhpvm::offload {

// False only if no kernel driver of a GPU has made a device file.
bool may_have_gpu();

}  // namespace dhpvm::offload
