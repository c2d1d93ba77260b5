// SPDX-License-Identifier: Apache-2.0
// The rights that the process of a session gives up, because a client's code may gain control of it.
//
// It keeps what compilers and drivers of devices need: reading files, running tools, memory, threads. It loses what
// would reach beyond it: the memory of other processes, the system's settings, files outside of a few folders, TCP, and
// more descriptors, larger files or core dumps than it needs.
#pragma once

#include <string>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm::offload {

// Applies to this thread and those that it starts from now on. Files can then be changed only below `folders`, and in
// the folders of devices and temporary files; folders that do not exist are ignored. Returns the rights that the system
// cannot take away, for the log; kIo when the process cannot even give up what every system lets it give up.
Result<std::string> give_up_rights(const std::vector<std::string>& folders);

// Restricts changes of files further, once it is known whom the process serves. Must be called before the process has
// other threads, which keep their rights.
Status keep_changes_to(const std::vector<std::string>& folders);

}  // namespace dhpvm::offload
