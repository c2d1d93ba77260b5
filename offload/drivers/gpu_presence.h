// SPDX-License-Identifier: Apache-2.0
// Tells whether it is worth looking for a GPU: loading the vendors' libraries takes a tenth of a second and 50 MiB, and
// /dev shows that most machines without a GPU have none.
#pragma once

namespace dhpvm::offload {

// False only if no kernel driver of a GPU has created a device file.
bool may_have_gpu();

}  // namespace dhpvm::offload
