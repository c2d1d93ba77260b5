// SPDX-License-Identifier: Apache-2.0
#include "dhpvm/worker_status.h"

#include <utility>
#include <variant>

#include "base/error.h"
#include "base/one_line.h"
#include "offload/remote/client/worker_query.h"
#include "offload/remote/fabric/key_file.h"
#include "offload/remote/fabric/load_fabric.h"
#include "vm/api/security.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {
namespace {

namespace wire = offload::wire;

constexpr std::chrono::seconds kPatience{10};
constexpr std::size_t kLongestText = 256;

Result<std::vector<wire::ToOperator>> ask(const std::string& where, const Security& security,
                                          const wire::FromOperator& question) {
  DHPVM_ASSIGN(const offload::Address address, offload::Address::parse(where));
  offload::Credentials credentials = credentials_of(security);
  if (!security.key_file.empty()) {
    DHPVM_ASSIGN(credentials.key, offload::read_key_file(security.key_file));
  }
  if (credentials.key.empty() && credentials.certificate_file.empty()) {
    return error(
        ErrorCode::kInvalidArgument,
        "only operators may see a worker's state: give its key (--key-file), or the key or certificate "
        "of a client with the right \"operate\"");
  }
  DHPVM_ASSIGN(const std::vector<offload::Address> numeric, offload::resolve(address));
  DHPVM_ASSIGN(const std::unique_ptr<offload::Fabric> fabric, offload::load_fabric());
  offload::ChannelOptions options;
  DHPVM_ASSIGN(options.identity, fabric->load_identity(credentials));
  options.seal = static_cast<offload::SealMode>(security.seal);
  DHPVM_ASSIGN(const std::unique_ptr<offload::Transport> transport, fabric->create_transport({}));
  auto answer =
      offload::ask_worker(*transport, numeric.front(), address.host, std::move(options), question, kPatience);
  if (answer.ok()) return answer;
  const ErrorCode code = answer.error().code();
  return Error(code, one_line(answer.error())).with_context("the worker " + where + " gives no answer");
}

// The text comes from another machine, and may be printed on terminals.
std::string shown(std::string_view text) { return printable(text, kLongestText); }

WorkerSessionStatus session_of(const wire::SessionFacts& facts, const std::vector<WorkerDevice>& devices) {
  WorkerSessionStatus session;
  session.number = facts.number;
  session.place = facts.place;
  session.program = shown(facts.program);
  session.client = shown(facts.client);
  session.key = shown(facts.key);
  session.peer = shown(facts.peer);
  session.seal = shown(facts.seal);
  session.age = std::chrono::milliseconds(facts.age_ms);
  session.jobs = facts.jobs;
  session.bytes_in = facts.bytes_in;
  session.bytes_out = facts.bytes_out;
  session.memory_bytes = facts.memory_bytes;
  for (std::size_t n = 0; n < devices.size() && n < 64; ++n) {
    if ((facts.devices >> n & 1) != 0) session.devices.push_back(devices[n].name);
  }
  session.priority = facts.priority;
  return session;
}

}  // namespace

Result<WorkerStatus> worker_status(const std::string& address, const Security& security) {
  DHPVM_ASSIGN(const std::vector<wire::ToOperator> records, ask(address, security, wire::AskFacts{}));
  WorkerStatus status;
  for (const wire::ToOperator& record : records) {
    if (const auto* const worker = std::get_if<wire::WorkerFacts>(&record)) {
      status.name = shown(worker->name);
      status.release = shown(worker->release);
      status.up = std::chrono::milliseconds(worker->up_ms);
      status.most_served = worker->most_served;
      status.most_waiting = worker->most_waiting;
      status.is_draining = worker->is_draining;
    } else if (const auto* const device = std::get_if<wire::Device>(&record)) {
      status.devices.push_back({shown(device->name), shown(device->description), device->memory_bytes});
    } else if (const auto* const session = std::get_if<wire::SessionFacts>(&record)) {
      status.sessions.push_back(session_of(*session, status.devices));
    } else if (const auto* const end = std::get_if<wire::FactsEnd>(&record)) {
      status.left_out = end->left_out;
    }
  }
  return status;
}

Status end_worker_session(const std::string& address, const Security& security, std::uint64_t number,
                          const std::string& reason) {
  DHPVM_ASSIGN(const std::vector<wire::ToOperator> records,
               ask(address, security, wire::EndSession{number, reason}));
  const auto* const ending = std::get_if<wire::SessionEnding>(&records.back());
  if (ending == nullptr) return error(ErrorCode::kProtocol, "the worker {} answers something else", address);
  if (ending->failure) return ending->failure->to_error();
  return {};
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
