// SPDX-License-Identifier: Apache-2.0
// The copies of an array on the host and on devices: what the host has to do before it touches the elements, and which
// devices have memory for them.
//
// Used by the thread of the isolate that owns the buffer; while a loop is split over several devices, each
// thread touches the entry of its own device, and contents() alone of the rest.
#pragma once

#include "offload/schedule/memory/buffer.h"
#include "offload/schedule/pipeline/copy_contents.h"
#include "offload/schedule/pipeline/copy_transfers.h"
#include "offload/schedule/pipeline/deferred_access.h"
#include "offload/schedule/pipeline/write_back.h"

namespace dhpvm::offload {

class ArrayCopies final : public BufferCopies {
 public:
  // The copies of `buffer`, made at the first call.
  static ArrayCopies& of(Buffer& buffer);
  ~ArrayCopies() override;

  Status to_host_for_reading() override;
  Status to_host_for_writing() override;
  // Whether the host may read, or write, without calling to_host_..() first. Elements that were sent eagerly need one
  // such call.
  bool host_may_read();
  bool host_may_write();

  CopyContents& contents() { return contents_; }
  CopyTransfers& transfers() { return transfers_; }
  DeferredAccess& deferred() { return deferred_; }
  WriteBack& write_back() { return write_back_; }

  // The entry for `device`, made at the first call, without memory.
  DeviceCopy& on(PipelineDevice& device);
  // Gives the entry memory for the whole buffer if it has none.
  Status allocate(DeviceCopy& copy);
  // Frees the memory of an entry whose contents the host has, or will have when the entry is no longer busy.
  static void give_back(DeviceCopy& copy);
  // Fetches what only `device` has, as far as it still can, and drops its entry. Fails when the waiting is interrupted.
  Status evict(PipelineDevice& device);
  // Drops the entry of `device`, whether it is current or not.
  void forget(PipelineDevice& device);

  // While a loop that needs the copies is being submitted, they are not evicted.
  void pin() { ++pins_; }
  void unpin() { --pins_; }
  bool is_pinned() const { return pins_ != 0; }

 private:
  explicit ArrayCopies(Buffer& buffer);

  Buffer& buffer_;
  CopyContents contents_;
  CopyTransfers transfers_;
  DeferredAccess deferred_;
  WriteBack write_back_;
  unsigned pins_ = 0;
};

}  // namespace dhpvm::offload
