// SPDX-License-Identifier: Apache-2.0
// The process that a session runs in, as seen by the session.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"
#include "offload/devices/device.h"
#include "offload/remote/fabric/fabric.h"
#include "offload/remote/fabric/protocol.h"
#include "offload/remote/fabric/transport.h"
#include "offload/remote/worker/session_end.h"
#include "offload/remote/worker/worker_options.h"

namespace dhpvm::offload {

class SessionHost {
 public:
  virtual const WorkerOptions& options() const = 0;
  // The session is served from now on. Does not block.
  virtual void prepare() = 0;
  // Opens a device, by its index in facts(), which may take long; on the session's own thread, once for each device.
  virtual Result<std::shared_ptr<Device>> open_device(std::uint64_t number) = 0;
  virtual const std::shared_ptr<SessionFigures>& own_figures() const = 0;
  virtual Fabric& fabric() = 0;
  virtual Transport& transport() = 0;
  // Logs one line about the session. From any thread.
  virtual void log(LogLevel level, std::string_view text) = 0;
  // The client is gone: the calls that follow free what the session has. If the session has a process of its own, this
  // need not return.
  virtual void on_client_gone(const ClientGone& gone) = 0;
  // Everything is freed. The last call, which may destroy the host. On the progress thread, like on_client_gone().
  virtual void on_session_ended(const Error& reason) = 0;
  // The descriptions of the devices that clients get, which are known before the devices are open.
  virtual const std::vector<wire::Device>& facts() const = 0;

 protected:
  ~SessionHost() = default;
};

}  // namespace dhpvm::offload
