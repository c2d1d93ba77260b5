// SPDX-License-Identifier: Apache-2.0
// Opens devices by name: "host", "sim?launch=5us", "opencl:0", "cuda:0"; and by what is wanted of them:
// "cuda", "gpu", "auto"; "remote" for those of workers. The factories are registered explicitly,
// one for each kind of device.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"
#include "offload/devices/device.h"

namespace dhpvm::offload {

// A device, as it is found without being opened.
struct DeviceListing {
  std::string name;  // what open() takes; the prefix of the factory if that does not even know its devices
  std::string description;  // for people; may be empty if there is a problem
  bool is_gpu = false;
  std::optional<Error> problem;  // why it cannot be opened, in words that say what to do
};

// The devices that a name stands for at the moment.
struct DevicePresence {
  std::vector<std::string> names;
  std::vector<Error> absent;  // why there are not more
};

// Another machine whose devices are used, and what has been done with them so far.
struct PeerStatus {
  std::string name;   // "remote/gpubox:7471"
  std::string host;   // as it calls itself; empty if it was never there
  std::string state;  // "ready", or why it is not
  std::string seal;   // of its data: "none", "integrity", "full"; "no key"
  std::uint64_t jobs = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::chrono::nanoseconds round_trip{0};  // 0: not known
};

// Opens one kind of device. Its methods are called by one thread at a time.
class DeviceFactory {
 public:
  virtual ~DeviceFactory() = default;
  // The names of its devices begin with this, up to the first of ":?/" or the end: "cuda".
  virtual std::string_view prefix() const = 0;
  // The devices there are now; one that cannot be opened has a problem. May load the vendor's library; opens nothing.
  virtual std::vector<DeviceListing> list() = 0;
  // `name` begins with the prefix. It need not be one that is listed: the device may take parameters.
  virtual Result<std::unique_ptr<Device>> open(std::string_view name) = 0;
  // See DeviceRegistry::present().
  virtual DevicePresence present(std::string_view name) { return {{std::string(name)}, {}}; }
  // The machines that have been asked for so far, those that are gone included.
  virtual std::vector<PeerStatus> peers() { return {}; }
};

// Thread-safe. Devices stay open until the registry and all who hold them are gone.
class DeviceRegistry {
 public:
  // In order of preference, for "gpu" and "auto". One factory for each prefix.
  void add(std::unique_ptr<DeviceFactory> factory);

  std::vector<DeviceListing> list();

  // The name of a device; the prefix of a factory, which is its first device that can be opened; "gpu", the
  // first such GPU of all; "auto", which is "gpu", or else "host". A name opens the same device every time.
  // kNotFound when there is none such, with the nearest name or the reasons why those that there are cannot
  // be used. A device that is gone is dropped, and opened again.
  Result<std::shared_ptr<Device>> open(std::string_view name);

  // The sum over all devices that have been opened.
  DeviceStats stats();

  // The devices that `name` stands for just now: "remote" for those of all workers that are there. Most names stand for
  // themselves. Quick after the first time, so that it can be asked before every loop.
  DevicePresence present(std::string_view name);

  std::vector<PeerStatus> peers();

 private:
  // All with mutex_ held.
  std::vector<DeviceListing> list_all();
  DeviceFactory* factory_of(std::string_view name);
  Result<std::shared_ptr<Device>> open_one(std::string_view name);
  Result<std::shared_ptr<Device>> open_first(std::string_view wanted, const std::vector<DeviceListing>& from);
  Error unknown(std::string_view name);

  std::mutex mutex_;
  std::vector<std::unique_ptr<DeviceFactory>> factories_;
  std::map<std::string, std::shared_ptr<Device>, std::less<>> opened_;
};

}  // namespace dhpvm::offload
