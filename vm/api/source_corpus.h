// SPDX-License-Identifier: Apache-2.0
// The programs of tests/programs that consist of one file, for tests that change them.
#pragma once

#include <string>
#include <vector>

namespace dhpvm {

// In the order of their names. `folder` is tests/programs.
std::vector<std::string> corpus_programs(const std::string& folder);

}  // namespace dhpvm
