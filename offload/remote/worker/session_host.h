// SPDX-License-Identifier: Apache-2.0
// The process that a session runs in, as the session sees it.
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
  // Opens a device, by its place in facts(), which may take long; on the session's own thread, once for each.
  virtual Result<std::shared_ptr<Device>> open_device(std::uint64_t number) = 0;
  virtual const std::shared_ptr<SessionFigures>& own_figures() const = 0;
  virtual Fabric& fabric() = 0;
  virtual Transport& transport() = 0;
  // One line about the session. From any thread.
  virtual void log(LogLevel level, std::string_view text) = 0;
  // The client is gone: what follows frees what the session has. A process of its own need not come back from here.
  virtual void on_client_gone(const ClientGone& gone) = 0;
  // Everything is freed. The last call; it may destroy the host. On the progress thread, as the one above.
  virtual void on_session_ended(const Error& reason) = 0;
  // The devices as clients are told them, which is known before they are open.
  virtual const std::vector<wire::Device>& facts() const = 0;

 protected:
  ~SessionHost() = default;
};

}  // namespace dhpvm::offload
