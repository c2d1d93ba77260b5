// SPDX-License-Identifier: Apache-2.0
// Serves metrics and health of a worker over HTTP, to this machine only.
// || One separate thread serves all connections: a peer that can reach the port may send any requests, as often and as
// slowly as it likes, without effect on sessions. A connection carries one request and has two seconds; if there are
// too many connections, the oldest is closed.
#pragma once

#include <functional>
#include <memory>

#include "base/descriptor.h"
#include "base/thread.h"
#include "dhpvm/result.h"
#include "offload/remote/fabric/address.h"
#include "offload/remote/worker/worker_report.h"

namespace dhpvm::offload {

class MetricsServer {
 public:
  // Called on the server's thread, at most ten times a second.
  using Report = std::function<WorkerReport()>;
  // At a numeric address of this machine; other addresses are kInvalidArgument.
  static Result<std::unique_ptr<MetricsServer>> start(const Address& address, Report report);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  // With the port that the system chose if 0 was given.
  const Address& address() const { return address_; }

 private:
  MetricsServer() = default;
  void run();

  Report report_;
  Address address_;
  Descriptor door_;
  Descriptor stop_;
  Thread thread_;
};

}  // namespace dhpvm::offload
