// SPDX-License-Identifier: Apache-2.0
// Shared by both kinds of measurements, for the command line and the terminal.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "dhpvm/result.h"

namespace dhpvm::tools {

// Calls take(item) for each item of a list with commas.
template <typename Take>
Status for_each_item(std::string_view list, Take&& take) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    DHPVM_TRY(take(item));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
  }
  return {};
}

// Shows the current step as one line on a terminal; prints nothing in a pipe.
void show_progress(const std::string& text);

}  // namespace dhpvm::tools
