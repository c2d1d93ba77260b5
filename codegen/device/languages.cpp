// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/languages.h"

#include <algorithm>

#include "base/error.h"

namespace dhpvm::codegen {

#define X(language) std::unique_ptr<KernelLanguage> language##_language();
#include "codegen/device/languages.def"
#undef X

KernelLanguages::KernelLanguages() {
#define X(language) all_.push_back(language##_language());
#include "codegen/device/languages.def"
#undef X
}

Result<const KernelLanguage*> KernelLanguages::find(std::string_view name) const {
  const auto found = std::ranges::find(all_, name, [](const auto& language) { return language->name(); });
  if (found != all_.end()) return found->get();
  std::string names;
  for (const auto& language : all_) names += fmt::format("{}{}", names.empty() ? "" : ", ", language->name());
  return error(ErrorCode::kInvalidArgument, "'{}' is no language of kernels for devices: there are {}", name,
               names);
}

Result<DeviceTarget> KernelLanguages::target_of(std::string_view text) const {
  const std::size_t colon = std::min(text.find(':'), text.size());
  DHPVM_ASSIGN(const KernelLanguage* const language, find(text.substr(0, colon)));
  DeviceTarget target = language->usual_target();
  if (colon == text.size()) return target;
  if (target.processor.empty()) {
    return error(ErrorCode::kInvalidArgument, "{} is the same for all processors: leave out '{}'",
                 language->title(), text.substr(colon));
  }
  target.processor = text.substr(colon + 1);
  return target;
}

}  // namespace dhpvm::codegen
