// SPDX-License-Identifier: Apache-2.0
// The access rights at a worker: for every peer with its only key, or with a certificate of its authority; or for the
// clients of a file, each with its own rights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dhpvm/result.h"
#include "offload/remote/fabric/security.h"
#include "offload/remote/worker/clients_file.h"

namespace dhpvm::offload {

enum class Right : std::uint8_t { kUse, kOperate };

// A peer that has been admitted.
struct Guest {
  std::string name;  // in the file of clients, or in the certificate; empty where all have the same key
  std::uint64_t priority = ClientEntry::kUsualPriority;
};

// A value; nothing in it changes.
class WorkerAccess {
 public:
  // Without a file: all that `identity` lets in may use the worker, and those with its key may operate it. Null: all of
  // this machine may use it.
  explicit WorkerAccess(std::shared_ptr<Identity> identity) : identity_(std::move(identity)) {}
  // The clients of a file. `keys` has theirs, `certificates` the worker's own; null if none of them has such. A client
  // without its identity is kInvalidArgument.
  static Result<WorkerAccess> of_clients(std::shared_ptr<Identity> keys,
                                         std::shared_ptr<Identity> certificates,
                                         std::vector<ClientEntry> clients);

  // For the handshake, as ChannelOptions has them.
  const std::shared_ptr<Identity>& identity() const { return identity_; }
  const std::shared_ptr<Identity>& other_identity() const { return other_identity_; }
  // Empty without a file.
  const std::vector<ClientEntry>& clients() const { return clients_; }

  // `name` and `key_name` as Channel has them. The error is for the client: what it lacks.
  Result<Guest> admit(const std::string& name, const std::string& key_name, Right right) const;

 private:
  std::shared_ptr<Identity> identity_;
  std::shared_ptr<Identity> other_identity_;
  bool has_file_ = false;
  std::vector<ClientEntry> clients_;  // without their keys
};

}  // namespace dhpvm::offload
