// SPDX-License-Identifier: Apache-2.0
// The copies of an array on the host and on devices, from the side of the array: what the host has to do
// before it touches the elements, and which devices have memory for them.
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
  // Those of `buffer`, made on first use.
  static ArrayCopies& of(Buffer& buffer);
  ~ArrayCopies() override;

  Status to_host_for_reading() override;
  Status to_host_for_writing() override;
  // Whether the host may read, or write, without asking. It has to ask once for elements that were sent eagerly.
  bool host_may_read();
  bool host_may_write();

  CopyContents& contents() { return contents_; }
  CopyTransfers& transfers() { return transfers_; }
  DeferredAccess& deferred() { return deferred_; }
  WriteBack& write_back() { return write_back_; }

  // The entry for `device`, made on first use, without memory.
  DeviceCopy& on(PipelineDevice& device);
  // Gives the entry memory for the whole buffer if it has none.
  Status allocate(DeviceCopy& copy);
  // Gives the memory of an entry back, whose contents the host has, or will have when the entry is no longer busy.
  static void give_back(DeviceCopy& copy);
  // Fetches what only `device` has, if it still can, and drops its entry. Fails when the waiting is interrupted.
  Status evict(PipelineDevice& device);
  // Drops the entry of `device`, current or not.
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
