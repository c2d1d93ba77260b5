// SPDX-License-Identifier: Apache-2.0
// Operations as records for the worker.
#pragma once

#include "offload/remote/client/remote_batches.h"
#include "offload/remote/client/remote_stream.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload {

class RemoteLink;

// Belongs to one session; one thread uses it at a time.
class RemoteRecords {
 public:
  explicit RemoteRecords(RemoteLink& link) : link_(link) {}

  // The record by which the worker does the operation; notes what this side has to do for it.
  wire::FromClient record_of(const RemoteStream& stream, RemoteOperation& operation);

 private:
  wire::FromClient record_of_batch(wire::Order order, RemoteOperation& operation);

  RemoteLink& link_;
  RemoteBatches batches_;
};

}  // namespace dhpvm::offload
