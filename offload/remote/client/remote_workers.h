// SPDX-License-Identifier: Apache-2.0
// The workers of a program: dialled workers, and workers that dial in.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread.h"
#include "offload/devices/device_registry.h"
#include "offload/remote/client/remote_link.h"
#include "offload/remote/fabric/fabric.h"
#include "offload/remote/fabric/strangers.h"

namespace dhpvm::offload {

// The first part of the names of their devices.
inline constexpr std::string_view kRemotePrefix = "remote";

struct RemoteWorkersOptions {
  std::vector<Address> workers;   // to be dialled
  std::optional<Address> listen;  // where workers may dial in
  // Neither key nor certificate: workers on this machine only.
  Credentials credentials;
  SealMode seal = SealMode::kFull;
  std::string provider = {};  // as in TransportOptions
  std::chrono::milliseconds handshake_deadline{5000};
  std::chrono::milliseconds silence_deadline{3000};
  bool writes_back = true;                   // as RemoteLinkOptions has it
  std::uint16_t version = kProtocolVersion;  // the highest that is offered
  std::string name;                          // of this program
  std::string release;                       // of DHPVM
};

// Thread-safe.
class RemoteWorkers {
 public:
  // Fabric must outlive it. Listens if `listen` is set, and begins to dial.
  static Result<std::unique_ptr<RemoteWorkers>> create(Fabric& fabric, RemoteWorkersOptions options);
  // The same on an existing transport, which must outlive it.
  static Result<std::unique_ptr<RemoteWorkers>> create(Fabric& fabric, Transport& transport,
                                                       RemoteWorkersOptions options);
  // Devices of the workers must be destroyed before.
  ~RemoteWorkers();
  RemoteWorkers(const RemoteWorkers&) = delete;
  RemoteWorkers& operator=(const RemoteWorkers&) = delete;

  // The worker at an address, or the reason why it is not there. From now on it is dialled whenever it is not
  // connected: after a second, then at growing intervals. Waits only for the first attempt, and not long if another
  // worker is there.
  Result<std::shared_ptr<RemoteLink>> link(const Address& address);
  // All connected workers: dialled, and dialled in.
  struct Present {
    std::vector<std::shared_ptr<RemoteLink>> links;
    std::vector<Error> absent;  // the reasons for the missing ones
  };
  Present present();
  // Every worker that has been or should be connected.
  std::vector<PeerStatus> status();
  // The workers that have dialled in and are still connected.
  std::vector<std::shared_ptr<RemoteLink>> arrived();
  // Waits until `count` workers have dialled in; false if there were fewer by `deadline`.
  bool wait_for_arrivals(std::size_t count, std::chrono::steady_clock::time_point deadline);
  // Where workers can dial in, with the port that the system chose.
  std::optional<Address> listening() const;
  const std::vector<Address>& workers() const { return options_.workers; }

 private:
  class Entrance;
  // The part of this object that incoming connections use. Only for the progress thread.
  struct Gate {
    RemoteWorkers* workers;
    const std::shared_ptr<Strangers> strangers;
  };

  // A worker that is dialled on its own thread, so that one without an answer delays no other.
  struct Dialled {
    Address address;
    std::chrono::steady_clock::time_point since;
    Thread thread;
    bool tried = false;
    std::shared_ptr<RemoteLink> attempt;  // the last attempt, to be cancelled
    std::shared_ptr<RemoteLink> link;     // the last link that was ready
    std::optional<Error> problem;         // why the last attempt failed
    PeerStatus past;                      // totals over ended connections
  };

  RemoteWorkers(Fabric& fabric, Transport& transport, RemoteWorkersOptions options);
  Status start();
  RemoteLinkOptions link_options() const;
  Dialled& keep_dialled(const Address& address);
  bool has_any() const;
  void run(Dialled& worker);
  Result<std::shared_ptr<RemoteLink>> dial(Dialled& worker);
  std::shared_ptr<Lane> make_lane(const std::shared_ptr<Channel>& channel, LaneKind kind);

  Fabric& fabric_;
  std::unique_ptr<Transport> own_transport_;
  Transport& transport_;
  const RemoteWorkersOptions options_;
  std::shared_ptr<Identity> identity_;
  const std::shared_ptr<Gate> gate_;
  std::unique_ptr<Listener> listener_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::map<std::string, Dialled> dialled_;
  std::vector<std::shared_ptr<RemoteLink>> arrived_;
  std::vector<PeerStatus> departed_;  // of workers that had dialled in and are gone
};

}  // namespace dhpvm::offload
