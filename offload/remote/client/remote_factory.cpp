// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/remote_factory.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/error.h"
#include "offload/remote/client/remote_device.h"
#include "offload/remote/fabric/key_file.h"
#include "offload/remote/fabric/load_fabric.h"

namespace dhpvm::offload {
namespace {

class RemoteFactory final : public DeviceFactory {
 public:
  // `lists`: whether workers can be found without their names.
  RemoteFactory(OpenWorkers workers, bool lists) : open_workers_(std::move(workers)), lists_(lists) {}

  std::string_view prefix() const override { return kRemotePrefix; }

  std::vector<DeviceListing> list() override {
    std::vector<DeviceListing> listings;
    if (!lists_) return listings;
    auto workers = this->workers();
    if (!workers.ok()) return {{std::string(kRemotePrefix), {}, false, workers.error()}};
    const RemoteWorkers::Present present = present_of(**workers);
    for (const auto& link : present.links) list(*link, listings);
    for (const Error& absent : present.absent) {
      listings.push_back({std::string(kRemotePrefix), {}, false, absent});
    }
    return listings;
  }

  DevicePresence present(std::string_view name) override {
    DevicePresence presence;
    if (name == kRemotePrefix && !lists_) return {{}, {nobody()}};
    auto workers = this->workers();
    if (!workers.ok()) return {{}, {workers.error()}};
    const auto parts = parse(name);
    if (name == kRemotePrefix) {
      RemoteWorkers::Present present = present_of(**workers);
      for (const auto& link : present.links) add_devices(*link, presence.names);
      presence.absent = std::move(present.absent);
    } else if (!parts.ok()) {
      presence.absent.push_back(parts.error());
    } else if (auto link = (*workers)->link(parts->address); !link.ok()) {
      presence.absent.push_back(std::move(link).error());
    } else if (parts->device.empty()) {
      add_devices(**link, presence.names);
    } else {
      presence.names.emplace_back(name);
    }
    return presence;
  }

  std::vector<PeerStatus> peers() override {
    return opened_ && opened_->ok() ? (**opened_)->status() : std::vector<PeerStatus>();
  }

  Result<std::unique_ptr<Device>> open(std::string_view name) override {
    DHPVM_ASSIGN(const Parts parts, parse(name));
    const auto& [address, wanted] = parts;
    DHPVM_ASSIGN(std::shared_ptr<RemoteWorkers> workers, this->workers());
    DHPVM_ASSIGN(std::shared_ptr<RemoteLink> link, workers->link(address));
    const std::vector<wire::Device>& devices = link->welcome().devices;
    std::string known;
    for (std::size_t number = 0; number < devices.size(); ++number) {
      if (wanted.empty() || devices[number].name == wanted) {
        return std::unique_ptr<Device>(
            std::make_unique<RemoteDevice>(std::move(workers), std::move(link), number));
      }
      known += (known.empty() ? "" : ", ") + devices[number].name;
    }
    return error(ErrorCode::kNotFound, "worker {} has no device '{}', but: {}", address.to_string(), wanted,
                 known.empty() ? "none" : known);
  }

 private:
  Result<std::shared_ptr<RemoteWorkers>> workers() {
    if (!opened_) opened_ = open_workers_();
    return *opened_;
  }

  struct Parts {
    Address address;
    std::string device;
  };
  static Result<Parts> parse(std::string_view name) {
    const std::string_view rest = name.substr(std::min(name.size(), kRemotePrefix.size() + 1));
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    if (rest.empty()) {
      return error(ErrorCode::kNotFound, "'{}' names no worker: write remote/HOST:PORT/DEVICE", name);
    }
    DHPVM_ASSIGN(Address address, Address::parse(rest.substr(0, slash)));
    return Parts{std::move(address), std::string(rest.substr(std::min(slash + 1, rest.size())))};
  }

  // Adds the reason if there is no worker.
  static RemoteWorkers::Present present_of(RemoteWorkers& workers) {
    RemoteWorkers::Present present = workers.present();
    if (!present.links.empty() || !present.absent.empty()) return present;
    const std::optional<Address> listening = workers.listening();
    present.absent.push_back(
        listening ? error(ErrorCode::kDeviceLost,
                          "no worker has dialled in at {} yet. One is started with `dhpvm-run --worker "
                          "--connect HOST:PORT`",
                          listening->to_string())
                  : nobody());
    return present;
  }

  static Error nobody() {
    return Error(ErrorCode::kNotFound,
                 "there are no workers: name them with --connect, or let them dial in with --listen");
  }

  static std::string full_name(const RemoteLink& link, const wire::Device& device) {
    return fmt::format("{}/{}/{}", kRemotePrefix, link.address(), device.name);
  }

  static void add_devices(const RemoteLink& link, std::vector<std::string>& names) {
    const std::vector<wire::Device>& devices = link.welcome().devices;
    const std::size_t before = names.size();
    for (const wire::Device& device : devices) {
      if (device.is_gpu) names.push_back(full_name(link, device));
    }
    if (names.size() == before && !devices.empty()) names.push_back(full_name(link, devices[0]));
  }

  static void list(const RemoteLink& link, std::vector<DeviceListing>& listings) {
    for (const wire::Device& device : link.welcome().devices) {
      listings.push_back({full_name(link, device),
                          fmt::format("{} of {}", device.description, link.welcome().name),
                          device.is_gpu,
                          {}});
    }
  }

  const OpenWorkers open_workers_;
  const bool lists_;
  std::optional<Result<std::shared_ptr<RemoteWorkers>>> opened_;
};

// The workers, and the library that they use.
struct LoadedWorkers {
  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<RemoteWorkers> workers;  // destroyed first
};

Result<std::shared_ptr<RemoteWorkers>> load_workers(const RemoteSetup& setup) {
  RemoteWorkersOptions options = setup.options;
  if (!setup.key_file.empty()) {
    DHPVM_ASSIGN(options.credentials.key, read_key_file(setup.key_file));
  }
  const auto loaded = std::make_shared<LoadedWorkers>();
  DHPVM_ASSIGN(loaded->fabric, load_fabric());
  DHPVM_ASSIGN(loaded->workers, RemoteWorkers::create(*loaded->fabric, std::move(options)));
  // If all workers dial in, wait for the first.
  if (loaded->workers->listening() && setup.options.workers.empty()) {
    loaded->workers->wait_for_arrivals(1, std::chrono::steady_clock::now() + setup.arrival);
  }
  return std::shared_ptr<RemoteWorkers>(loaded, loaded->workers.get());
}

}  // namespace

std::unique_ptr<DeviceFactory> remote_factory(OpenWorkers workers) {
  return std::make_unique<RemoteFactory>(std::move(workers), true);
}

std::unique_ptr<DeviceFactory> remote_factory(RemoteSetup setup) {
  const bool lists = setup.options.listen || !setup.options.workers.empty();
  return std::make_unique<RemoteFactory>([setup = std::move(setup)] { return load_workers(setup); }, lists);
}

}  // namespace dhpvm::offload
