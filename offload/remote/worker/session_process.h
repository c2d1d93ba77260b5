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

// The process of a session, in the order in which it comes to know what it is for. Until then it has one thread, and no
// device open: it may wait long.
class SessionProcess {
 public:
  // Its end of the conversation with the worker, and the figures that both share.
  static Result<SessionProcess> create();

  // The first thing to do: the process ends with the worker, and gives up its rights (session_rights.h) but those to
  // change files in `folders`. kInvalidArgument where no worker is at the other end.
  Status enter(const std::vector<std::string>& folders);
  // Tells the worker that it waits, and waits.
  struct Task {
    bool is_probe = false;  // for the devices alone
    std::string caches;     // the folder for what is compiled for this client; empty: none
  };
  Result<Task> wait();
  // Tells the worker why there can be no session.
  void refuse(const Error& reason) const;

  // For a probe: tells the worker of devices that it could lend.
  Status show(const std::vector<std::shared_ptr<Device>>& devices) const;
  // Opens the device with this number of those that show() has told of, and this name; it may take long.
  using OpenDevice =
      std::function<Result<std::shared_ptr<Device>>(std::uint64_t number, const std::string& name)>;
  // Serves the session. The process ends with it, or with the worker. Identity and seal of the options are not used:
  // the worker has authenticated the client.
  [[noreturn]] void serve(Fabric& fabric, Transport& transport, OpenDevice open_device,
                          WorkerOptions options);

 private:
  SessionProcess(control::Socket control, SharedFigures figures)
      : control_(std::move(control)), figures_(std::move(figures)) {}

  control::Socket control_;
  SharedFigures figures_;
  std::string rights_;                 // that the system could not take away
  std::vector<wire::Device> devices_;  // that the worker lends
  std::optional<control::Begin> begin_;
};

}  // namespace dhpvm::offload
