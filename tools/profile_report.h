// SPDX-License-Identifier: Apache-2.0
// Writes a profile: a table for the terminal, and files for other programs and for a browser.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dhpvm/isolate.h"
#include "dhpvm/result.h"

namespace dhpvm::tools {

// The format of the file, from the end of its name.
enum class ProfileForm : std::uint8_t {
  kFolded,      // .folded: a line for each stack, for flamegraph.pl and similar programs
  kSpeedscope,  // .json: for speedscope.app
  kFlameGraph,  // .html: a page with a picture
};
// kInvalidArgument.
Result<ProfileForm> profile_form_of(std::string_view path);

// The functions and lines that take most of the time.
std::string profile_table(std::span<const ProfileStack> stacks);
// `title`: the program's name.
std::string profile_text(std::span<const ProfileStack> stacks, ProfileForm form, std::string_view title);

}  // namespace dhpvm::tools
