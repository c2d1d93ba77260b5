// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/workers_for_tests.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "offload/devices/host/host_device.h"
#include "offload/devices/sim/sim_device.h"
#include "offload/remote/client/remote_device.h"
#include "offload/remote/client/remote_factory.h"
#include "offload/remote/fabric/key_file.h"
#include "offload/remote/fabric/load_fabric.h"
#include "offload/remote/fabric/loopback.h"
#include "offload/remote/worker/local_sessions.h"
#include "offload/remote/worker/worker.h"

namespace dhpvm::offload {
namespace {

using Generator = std::function<Result<codegen::CodeGenerator*>()>;

// A worker and a client of it, on a network between them.
class Network {
 public:
  static Result<std::unique_ptr<Network>> create(Fabric& fabric, std::string_view kind, Generator generator) {
    auto made = std::make_unique<Network>();
    WorkerOptions worker;
    worker.name = "test worker";
    worker.generator = std::move(generator);
    RemoteWorkersOptions client;
    if (kind == "sealed") {
      client.credentials.key = SecretBytes(kKeyBytes, std::byte{42});
      DHPVM_ASSIGN(worker.identity, fabric.load_identity(client.credentials));
    }
    if (kind == "earlier") client.version = kVersionWithoutElements;
    if (kind == "former") client.version = kVersionWithoutBatches;
    if (kind == "last") client.version = kVersionWithoutSmallIndices;
    if (kind == "loopback") {
      made->here_ = made->loopback_.create_transport();
      made->there_ = made->loopback_.create_transport();
    } else {
      DHPVM_ASSIGN(made->here_, fabric.create_transport({}));
      DHPVM_ASSIGN(made->there_, fabric.create_transport({}));
    }
    std::vector<std::shared_ptr<Device>> devices;
    const auto pool = std::make_shared<ThreadPool>(2);
    for (const auto& factory : {host_factory(pool), sim_factory(pool)}) {
      DHPVM_ASSIGN(std::shared_ptr<Device> device, factory->open(factory->prefix()));
      devices.push_back(std::move(device));
    }
    auto runner = make_local_sessions(fabric, *made->there_, std::move(devices), worker);
    made->worker_ = std::make_unique<Worker>(*made->there_, std::move(runner), std::move(worker));
    DHPVM_ASSIGN(made->address_, made->worker_->listen({"127.0.0.1", 0}));
    DHPVM_ASSIGN(std::shared_ptr<RemoteWorkers> workers,
                 RemoteWorkers::create(fabric, *made->here_, std::move(client)));
    made->workers_ = std::move(workers);
    return made;
  }

  Result<std::unique_ptr<Device>> open(std::string_view device) {
    const auto factory =
        remote_factory([this]() -> Result<std::shared_ptr<RemoteWorkers>> { return workers_; });
    return factory->open("remote/" + address_.to_string() + "/" + std::string(device));
  }

 private:
  LoopbackNetwork loopback_;
  std::unique_ptr<Transport> here_;
  std::unique_ptr<Transport> there_;
  std::unique_ptr<Worker> worker_;
  std::shared_ptr<RemoteWorkers> workers_;
  Address address_;
};

// Keeps the network of a device for as long as that is open.
class NetworkFactory final : public DeviceFactory {
 public:
  explicit NetworkFactory(Generator generator) : generator_(std::move(generator)) {}

  std::string_view prefix() const override { return "remote"; }
  std::vector<DeviceListing> list() override { return {}; }
  Result<std::unique_ptr<Device>> open(std::string_view name) override {
    const std::string rest(name.substr(std::min<std::size_t>(name.size(), 7)));
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    if (fabric_ == nullptr) {
      DHPVM_ASSIGN(fabric_, load_fabric(DHPVM_FABRIC_FOLDER));
    }
    std::unique_ptr<Network>& network = networks_[rest.substr(0, slash)];
    if (network == nullptr) {
      DHPVM_ASSIGN(network, Network::create(*fabric_, rest.substr(0, slash), generator_));
    }
    return network->open(rest.substr(std::min(slash + 1, rest.size())));
  }

 private:
  const Generator generator_;
  std::unique_ptr<Fabric> fabric_;
  std::map<std::string, std::unique_ptr<Network>> networks_;
};

}  // namespace

std::unique_ptr<DeviceFactory> test_worker_factory(
    std::function<Result<codegen::CodeGenerator*>()> generator) {
  return std::make_unique<NetworkFactory>(std::move(generator));
}

}  // namespace dhpvm::offload
