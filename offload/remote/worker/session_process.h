// SPDX-License-Identifier: Apache-2.0
// The process of a session, from inside.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "offload/devices/device.h"
#include "offload/remote/fabric/fabric.h"
#include "offload/remote/worker/session_control.h"
#include "offload/remote/worker/session_figures.h"
#include "offload/remote/worker/worker_options.h"

namespace dhpvm::offload {

// The process of a session. The functions are called in this order, as the process learns what it is for. Until then it
// has one thread, and no device open: it may wait for long.
class SessionProcess {
 public:
  // Makes its end of the connection to the worker, and the figures that both share.
  static Result<SessionProcess> create();

  // Called first: from now on the process ends with the worker, and gives up its rights (session_rights.h), except for
  // changing files in `folders`. kInvalidArgument if there is no worker at the other end.
  Status enter(const std::vector<std::string>& folders);
  // Tells the worker that the process is ready, and waits for a task.
  struct Task {
    bool is_probe = false;  // only report the devices
    std::string caches;     // the folder for code compiled for this client; empty: none
  };
  Result<Task> wait();
  // Tells the worker why there can be no session.
  void refuse(const Error& reason) const;

  // For a probe: reports the devices that the process could lend to the worker.
  Status show(const std::vector<std::shared_ptr<Device>>& devices) const;
  // Opens the device with this number among those reported by show(), and with this name; may take long.
  using OpenDevice =
      std::function<Result<std::shared_ptr<Device>>(std::uint64_t number, const std::string& name)>;
  // Serves the session. The process ends with it, or with the worker. The options' identity and seal are not used,
  // because the worker has authenticated the client.
  [[noreturn]] void serve(Fabric& fabric, Transport& transport, OpenDevice open_device,
                          WorkerOptions options);

 private:
  SessionProcess(control::Socket control, SharedFigures figures)
      : control_(std::move(control)), figures_(std::move(figures)) {}

  control::Socket control_;
  SharedFigures figures_;
  std::string rights_;                 // the rights that the system could not take away
  std::vector<wire::Device> devices_;  // the devices that the worker lends
  std::optional<control::Begin> begin_;
};

}  // namespace dhpvm::offload
