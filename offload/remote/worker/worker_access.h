// SPDX-License-Identifier: Apache-2.0
// The access rights at a worker: for every peer with its only key, or with a certificate of its authority; or for the
// clients in a file, each with its own rights.
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
  std::string name;  // in the file of clients, or in the certificate; empty if all have the same key
  std::uint64_t priority = ClientEntry::kUsualPriority;
};

// An immutable value.
class WorkerAccess {
 public:
  // Without a file: all peers that `identity` authenticates may use the worker, and those with its key may operate it.
  // Null: all processes of this machine may use it.
  explicit WorkerAccess(std::shared_ptr<Identity> identity) : identity_(std::move(identity)) {}
  // The clients of a file. `keys`: the identity with their keys; `certificates`: the worker's own; null if no client
  // has such. kInvalidArgument for a client without its identity.
  static Result<WorkerAccess> of_clients(std::shared_ptr<Identity> keys,
                                         std::shared_ptr<Identity> certificates,
                                         std::vector<ClientEntry> clients);

  // For the handshake: see ChannelOptions.
  const std::shared_ptr<Identity>& identity() const { return identity_; }
  const std::shared_ptr<Identity>& other_identity() const { return other_identity_; }
  // Empty without a file.
  const std::vector<ClientEntry>& clients() const { return clients_; }

  // `name` and `key_name` as in Channel. The error says, for the client, what it lacks.
  Result<Guest> admit(const std::string& name, const std::string& key_name, Right right) const;

 private:
  std::shared_ptr<Identity> identity_;
  std::shared_ptr<Identity> other_identity_;
  bool has_file_ = false;
  std::vector<ClientEntry> clients_;  // without their keys
};

}  // namespace dhpvm::offload
