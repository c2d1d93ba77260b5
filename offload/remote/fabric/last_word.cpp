// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/last_word.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <utility>
#include <vector>

#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/socket_connection.h"

namespace dhpvm::offload {
namespace {

Descriptor copy_of(const Descriptor& socket) { return Descriptor(fcntl(socket.get(), F_DUPFD_CLOEXEC, 0)); }

}  // namespace

void LastWord::keep_frames(DetachedChannel& frames) {
  frames_ = copy_of(frames.connection.socket);
  seal_ = std::move(frames.last_word);
}

void LastWord::keep_bulk(const DetachedChannel& bulk) { bulk_ = copy_of(bulk.connection.socket); }

void LastWord::say(const Error& reason) {
  auto message = FrameLane::make_last_word(reason, seal_.get());
  if (frames_.is_open() && message.ok()) {
    const auto header = SocketConnection::header_of(message->size());
    message->insert(message->begin(), header.begin(), header.end());
    static_cast<void>(::send(frames_.get(), message->data(), message->size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    static_cast<void>(shutdown(frames_.get(), SHUT_WR));
  }
}

}  // namespace dhpvm::offload
