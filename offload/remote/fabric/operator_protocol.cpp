// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/operator_protocol.h"

#include "offload/remote/fabric/wire_codec.h"

namespace dhpvm::offload::wire {
namespace {

template <typename Codec>
void visit(Codec&, Is<AskFacts> auto&) {}
template <typename Codec>
void visit(Codec& codec, Is<EndSession> auto& value) {
  codec.number(value.number);
  codec.text(value.reason);
}
template <typename Codec>
void visit(Codec& codec, Is<WorkerFacts> auto& value) {
  codec.text(value.name);
  codec.text(value.release);
  codec.number(value.up_ms);
  codec.number(value.most_served);
  codec.number(value.most_waiting);
  codec.flag(value.is_draining);
}
template <typename Codec>
void visit(Codec& codec, Is<SessionFacts> auto& value) {
  codec.number(value.number);
  codec.number(value.place);
  for (auto* const text : {&value.program, &value.client, &value.key, &value.peer, &value.seal})
    codec.text(*text);
  for (auto* const number : {&value.age_ms, &value.jobs, &value.bytes_in, &value.bytes_out,
                             &value.memory_bytes, &value.devices, &value.priority})
    codec.number(*number);
}
template <typename Codec>
void visit(Codec& codec, Is<FactsEnd> auto& value) {
  codec.number(value.left_out);
}
template <typename Codec>
void visit(Codec& codec, Is<SessionEnding> auto& value) {
  codec.number(value.number);
  codec.optional(value.failure, [&](auto& failure) { visit(codec, failure); });
}

constexpr auto kFields = [](auto& codec, auto& record) { visit(codec, record); };

}  // namespace

void write(std::vector<std::byte>& frame, const FromOperator& record) {
  write_record(frame, record, kFields);
}
void write(std::vector<std::byte>& frame, const ToOperator& record) { write_record(frame, record, kFields); }

Result<std::vector<FromOperator>> read_from_operator(ConstBytes frame) {
  return read_records<FromOperator>(frame, kFields);
}
Result<std::vector<ToOperator>> read_to_operator(ConstBytes frame) {
  return read_records<ToOperator>(frame, kFields);
}

}  // namespace dhpvm::offload::wire
