// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/worker_access.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/one_line.h"

namespace dhpvm::offload {

Result<WorkerAccess> WorkerAccess::of_clients(std::shared_ptr<Identity> keys,
                                              std::shared_ptr<Identity> certificates,
                                              std::vector<ClientEntry> clients) {
  const auto lost = std::ranges::find_if(clients, [&](const ClientEntry& client) {
    return !client.certificate.empty() && certificates == nullptr;
  });
  if (lost != clients.end()) {
    return error(ErrorCode::kInvalidArgument,
                 "client {} proves who it is by a certificate, and so the worker needs one, too: give it "
                 "--certificate, --private-key and --authority",
                 lost->name);
  }
  if (keys == nullptr) std::swap(keys, certificates);
  WorkerAccess made(std::move(keys));
  made.other_identity_ = std::move(certificates);
  made.has_file_ = true;
  made.clients_ = std::move(clients);
  for (ClientEntry& client : made.clients_) client.keys.clear();
  return made;
}

Result<Guest> WorkerAccess::admit(const std::string& name, const std::string& key_name, Right right) const {
  const bool has_key = !key_name.empty();
  if (!has_file_) {
    if (right == Right::kOperate && !has_key) {
      return error(ErrorCode::kInvalidArgument,
                   "this worker has no operators: only its key (--key-file), or the right "
                   "\"operate\" in its file of clients (--clients), permits that");
    }
    return Guest{name, ClientEntry::kUsualPriority};
  }
  if (has_key) {  // the keys may have changed since the client authenticated itself with one
    const std::vector<std::string> known = identity_->key_names();
    if (std::ranges::find(known, key_name) == known.end())
      return error(ErrorCode::kDeviceLost, "the client's key has been revoked");
  }
  const auto client = std::ranges::find_if(clients_, [&](const ClientEntry& entry) {
    return has_key ? entry.name == name : !name.empty() && entry.certificate == name;
  });
  if (client == clients_.end()) {
    return error(ErrorCode::kDeviceLost, "the worker's file of clients has none with the certificate of {}",
                 quoted_name(name));
  }
  if (right == Right::kUse ? client->may_use : client->may_operate)
    return Guest{client->name, client->priority};
  // A program can go on without this worker; an operator cannot.
  const bool is_use = right == Right::kUse;
  return error(is_use ? ErrorCode::kDeviceLost : ErrorCode::kInvalidArgument,
               "client {} has no right to {} in the worker's file of clients", client->name,
               is_use ? "\"use\" its devices" : "\"operate\" it");
}

}  // namespace dhpvm::offload
