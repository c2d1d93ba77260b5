// SPDX-License-Identifier: Apache-2.0
// The option --allow=read:DIR,write:DIR,env,run.
#pragma once

#include <string_view>

#include "dhpvm/result.h"
#include "dhpvm/rights.h"

namespace dhpvm::tools {

// Adds the rights in the list. kInvalidArgument for an unknown one, and for a folder that does not exist.
Status add_rights(SystemRights& rights, std::string_view list);

}  // namespace dhpvm::tools
