// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/device_options.h"

#include <algorithm>

#include "base/error.h"
#include "base/spelling.h"

namespace dhpvm::offload {

Result<std::vector<DeviceOption>> parse_device_options(std::string_view name,
                                                       std::span<const std::string_view> known) {
  std::vector<DeviceOption> options;
  const std::size_t question = name.find('?');
  if (question == std::string_view::npos) return options;
  for (std::string_view rest = name.substr(question + 1);;) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view item = rest.substr(0, end);
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view key = item.substr(0, equals);
    if (std::ranges::find(known, key) == known.end()) {
      const std::string_view near = nearest_name(key, known);
      return error(ErrorCode::kInvalidArgument, "device '{}' has no option '{}'{}; it has: {}",
                   name.substr(0, question), key,
                   near.empty() ? "" : fmt::format("; did you mean '{}'?", near), fmt::join(known, ", "));
    }
    if (std::ranges::find(options, key, &DeviceOption::key) != options.end())
      return error(ErrorCode::kInvalidArgument, "option '{}' of device '{}' is given twice: keep one", key,
                   name.substr(0, question));
    options.push_back({key, item.substr(std::min(equals + 1, item.size()))});
    if (end == rest.size()) return options;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace dhpvm::offload
