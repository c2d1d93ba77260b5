// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_port.h"

#include <utility>
#include <vector>

namespace dhpvm::offload {

void SessionPort::reply(wire::Id request, const Status& status) {
  wire::Reply answer;
  answer.request = request;
  if (!status.ok()) answer.failure = wire::Failure::from(status.error());
  reply(answer);
}

void SessionPort::send(FrameLane& frames, const wire::FromWorker& record) {
  std::vector<std::byte> frame;
  wire::write(frame, record);
  frames.send(frame);
}

Result<Device*> SessionPort::device(std::uint64_t number) {
  if (number >= host().facts().size()) return protocol_violation("a device that does not exist");
  Device* const device = opened(number);
  if (device == nullptr) return protocol_violation("a device before its welcome");
  if (number < 64) figures().devices |= std::uint64_t{1} << number;
  return device;
}

Error protocol_violation(std::string_view what) {
  return error(ErrorCode::kProtocol, "the client breaks the protocol: {}", what);
}

}  // namespace dhpvm::offload
