// SPDX-License-Identifier: Apache-2.0
// Tells a client why its session has ended when the session's process can no longer do so. Copies of its sockets keep
// the connections open until the message is sent.
#pragma once

#include <memory>

#include "base/descriptor.h"
#include "offload/remote/fabric/channel.h"

namespace dhpvm::offload {

class LastWord {
 public:
  // Called before the channels are passed on. Without a free descriptor there will be no last word.
  void keep_frames(DetachedChannel& frames);
  void keep_bulk(const DetachedChannel& bulk);

  // Sends the reason. In the middle of another message, the client takes it for a broken one. The connections stay open
  // until this object is destroyed, which should be a moment later: closing a connection with unread data discards the
  // last word as well.
  void say(const Error& reason);

 private:
  Descriptor frames_;
  Descriptor bulk_;
  std::unique_ptr<Seal> seal_;
};

}  // namespace dhpvm::offload
