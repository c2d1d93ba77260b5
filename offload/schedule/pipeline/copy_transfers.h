// SPDX-License-Identifier: Apache-2.0
// Brings the elements of an array to the host from whichever device has them, and waits until they are there.
//
// Used by the thread of the isolate.
#pragma once

#include <cstdint>
#include <optional>

#include "dhpvm/result.h"
#include "offload/schedule/memory/buffer.h"
#include "offload/schedule/pipeline/copy_contents.h"

namespace dhpvm::offload {

// Each function fails when the contents are lost, with the reason, or when the waiting is interrupted.
class CopyTransfers {
 public:
  CopyTransfers(Buffer& buffer, CopyContents& contents) : buffer_(buffer), contents_(contents) {}

  // Fetches all bytes that the host lacks, and waits.
  Status bring_to_host() { return fetch(contents_.whole(), nullptr); }
  // Makes the host's bytes current, so that the device of `reader` can read them after `reader.busy`: what only another
  // device has is fetched, and other uses of the host's memory have ended.
  Status prepare_host(const DeviceCopy& reader, const Interval& bytes) { return fetch(bytes, &reader); }
  // Fetches what only `copy` has, as far as its device still can. The loss of contents is no failure here: later
  // accesses report it.
  Status rescue(const DeviceCopy& copy);
  // For a loop on the device of `writer`, whose results will replace contents of the host's memory: waits until no
  // other device reads these.
  Status wait_for_readers(const DeviceCopy& writer);
  // Waits until no device reads or writes the host's memory.
  Status wait_until_unused();

 private:
  Status fetch(const Interval& bytes, const DeviceCopy* except);
  Status request(const Interval& bytes);
  Status wait_for_writes(const DeviceCopy* except);
  static Status wait_for(const DeviceCopy& copy, const Positions& positions);
  std::size_t failures() const;
  bool is_quiet();

  Buffer& buffer_;
  CopyContents& contents_;
  std::optional<std::uint64_t> quiet_at_;  // contents_.uses() when is_quiet() was last true
};

}  // namespace dhpvm::offload
