// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/device_registry.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/spelling.h"

namespace dhpvm::offload {
namespace {

constexpr std::string_view kGpu = "gpu";
constexpr std::string_view kAuto = "auto";
constexpr std::string_view kHost = "host";

std::string_view prefix_of(std::string_view name) { return name.substr(0, name.find_first_of(":?/")); }

}  // namespace

void DeviceRegistry::add(std::unique_ptr<DeviceFactory> factory) {
  const std::lock_guard lock(mutex_);
  factories_.push_back(std::move(factory));
}

std::vector<DeviceListing> DeviceRegistry::list() {
  const std::lock_guard lock(mutex_);
  return list_all();
}

std::vector<DeviceListing> DeviceRegistry::list_all() {
  std::vector<DeviceListing> all;
  for (const std::unique_ptr<DeviceFactory>& factory : factories_)
    std::ranges::move(factory->list(), std::back_inserter(all));
  return all;
}

DeviceFactory* DeviceRegistry::factory_of(std::string_view name) {
  const auto found =
      std::ranges::find(factories_, prefix_of(name), [](const auto& factory) { return factory->prefix(); });
  return found == factories_.end() ? nullptr : found->get();
}

Result<std::shared_ptr<Device>> DeviceRegistry::open(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (name == kGpu || name == kAuto) {
    std::vector<DeviceListing> gpus = list_all();
    std::erase_if(gpus, [](const DeviceListing& listing) { return !listing.is_gpu && !listing.problem; });
    Result<std::shared_ptr<Device>> gpu = open_first(kGpu, gpus);
    // The host is always there: "auto" is a wish, and a missing GPU is no error.
    return gpu.ok() || name == kGpu ? std::move(gpu) : open_one(kHost);
  }
  DeviceFactory* const factory = factory_of(name);
  if (factory == nullptr) return unknown(name);
  if (name != factory->prefix()) return open_one(name);
  const std::vector<DeviceListing> listings = factory->list();
  const bool is_one = std::ranges::any_of(
      listings, [&](const DeviceListing& listing) { return listing.name == name && !listing.problem; });
  return is_one ? open_one(name) : open_first(name, listings);
}

DeviceStats DeviceRegistry::stats() {
  const std::lock_guard lock(mutex_);
  DeviceStats sum;
  for (const auto& [name, device] : opened_) {
    const DeviceStats one = device->stats();
    sum.bytes_allocated += one.bytes_allocated;
    sum.peak_bytes_allocated += one.peak_bytes_allocated;
    sum.imports += one.imports;
    sum.imports_made += one.imports_made;
    sum.copies += one.copies;
    sum.bytes_uploaded += one.bytes_uploaded;
    sum.bytes_downloaded += one.bytes_downloaded;
    sum.launches += one.launches;
  }
  return sum;
}

DevicePresence DeviceRegistry::present(std::string_view name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(opened_, [](const auto& entry) { return entry.second->gone().has_value(); });
  DeviceFactory* const factory = factory_of(name);
  if (factory == nullptr) return {{std::string(name)}, {}};  // open() says more
  return factory->present(name);
}

std::vector<PeerStatus> DeviceRegistry::peers() {
  const std::lock_guard lock(mutex_);
  std::vector<PeerStatus> all;
  for (const std::unique_ptr<DeviceFactory>& factory : factories_)
    std::ranges::move(factory->peers(), std::back_inserter(all));
  return all;
}

Result<std::shared_ptr<Device>> DeviceRegistry::open_one(std::string_view name) {
  if (const auto found = opened_.find(name); found != opened_.end()) {
    if (!found->second->gone()) return found->second;
    opened_.erase(found);
  }
  DeviceFactory* const factory = factory_of(name);
  if (factory == nullptr) return unknown(name);
  Result<std::unique_ptr<Device>> device = factory->open(name);
  if (!device.ok())
    return std::move(device).error().with_context(fmt::format("while opening device '{}'", name));
  return opened_.emplace(name, std::move(device).value()).first->second;
}

// The first of `from` that opens; or everything that stands in the way.
Result<std::shared_ptr<Device>> DeviceRegistry::open_first(std::string_view wanted,
                                                           const std::vector<DeviceListing>& from) {
  std::string reasons;
  for (const DeviceListing& listing : from) {
    std::optional<Error> problem = listing.problem;
    if (!problem) {
      Result<std::shared_ptr<Device>> device = open_one(listing.name);
      if (device.ok()) return device;
      problem = std::move(device).error();
    }
    reasons += fmt::format("\n  {}: {}", listing.name, problem->to_string());
  }
  return error(ErrorCode::kNotFound,
               "there is no device '{}' that can be used; --list-devices shows those that can{}", wanted,
               reasons);
}

Error DeviceRegistry::unknown(std::string_view name) {
  std::vector<std::string> names = {std::string(kGpu), std::string(kAuto)};
  for (const std::unique_ptr<DeviceFactory>& factory : factories_) names.emplace_back(factory->prefix());
  for (const DeviceListing& listing : list_all()) names.push_back(listing.name);
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string_view near = nearest_name(name, candidates);
  return error(ErrorCode::kNotFound, "there is no device '{}'{}; --list-devices shows those that there are",
               name, near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near));
}

}  // namespace dhpvm::offload
