// SPDX-License-Identifier: Apache-2.0
// Keeps account of which copies of an array have which of its elements. It moves nothing and waits for nothing.
//
// The host's memory is one copy (host_contents.h); each device that works on the array has an entry. Thread-safe: while
// a loop is split over several devices, each thread records what happens on its own device.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "offload/schedule/pipeline/host_contents.h"
#include "offload/schedule/pipeline/interval_set.h"
#include "offload/schedule/pipeline/pipeline_device.h"

namespace dhpvm::offload {

// The array on one device. A device that shares the host's memory has no block and no valid bytes: its entry only
// records how long it is busy.
struct DeviceCopy {
  PipelineDevice* device = nullptr;
  DeviceBlock block;
  // Bytes that are there, or will be for operations of this device after `busy`; none once the device has failed.
  IntervalSet valid;
  // Operations on the copy, and on the host's memory from this device. Grows by use_until() alone.
  Positions busy;
  std::atomic<std::uint64_t>* uses = nullptr;  // of all copies of the array: calls of use_until()

  // Operations on the copy have been submitted; the last of them are at these positions.
  void use_until(const Positions& positions) {
    busy.include(positions);
    uses->fetch_add(1, std::memory_order_relaxed);
  }

  // The last operations on the copy that write the host's memory, that read it, and that do either of these.
  Positions writes_to_host() const;
  Positions reads_of_host() const;
  Positions uses_of_host() const;
};

class CopyContents {
 public:
  // The host has all `bytes`.
  explicit CopyContents(std::uint64_t bytes) : whole_{0, bytes}, host_(whole_) {}

  const Interval& whole() const { return whole_; }
  // Addresses do not change. Only for the isolate's thread.
  std::list<DeviceCopy>& entries() { return entries_; }
  // Grows whenever an operation on an entry is submitted: while it does not, no new operation needs to be waited for.
  std::uint64_t uses() const { return uses_.load(std::memory_order_relaxed); }
  // The entry of `device`; null if there is none.
  DeviceCopy* find(const PipelineDevice& device);
  DeviceCopy& add(PipelineDevice& device);
  // Removes the entry. Bytes that only this device had, or was sending, are lost.
  void drop(DeviceCopy& copy);

  // These bytes have been sent to the copy.
  void uploaded(DeviceCopy& copy, const Interval& bytes);
  // A kernel that writes these bytes of the copy has been launched: they are current there, and nowhere else.
  void written(DeviceCopy& copy, const Interval& bytes);
  // The same for results that no copy keeps: the bytes are current nowhere.
  void outdate(const Interval& bytes);
  // Like written(), for one of several devices that share a loop: outdate_between() updates the copies of the others
  // once for all chunks, so that the cost of a chunk does not depend on the number of devices. No device reads what
  // another writes.
  void written_among_others(DeviceCopy& copy, const Interval& bytes);
  // The same for results that are not kept in the copy.
  void outdate_among_others(DeviceCopy& copy, const Interval& bytes);
  // The copies that have shared a loop, with everything that each has written. Bytes written by one of them are current
  // in no other copy; bytes written by two are current in none.
  struct Written {
    const DeviceCopy* copy;
    const IntervalSet* bytes;
  };
  void outdate_between(std::span<const Written> written);
  // The bytes are no longer current in this copy; other copies stay as they are.
  void outdate_in(DeviceCopy& copy, const Interval& bytes);
  // Operations have been submitted that bring the current contents to the host, where they are at `positions` of the
  // entry's device.
  void arriving_on_host(const DeviceCopy& copy, const Interval& bytes, const Positions& positions);
  // The host's memory has the current contents, even if operations were submitted since.
  void present_on_host(const Interval& bytes);
  // All contents are lost, because of `reason`.
  void lose(const Error& reason);

  // Records the outcome of operations since the last call. Only for the isolate's thread.
  void settle();
  // The parts of `bytes` that the copy lacks.
  std::vector<Interval> missing(const DeviceCopy& copy, const Interval& bytes);
  // The parts of `bytes` that the host does not have, and that are not on their way to it.
  std::vector<Interval> host_missing(const Interval& bytes);
  // Whether all of `bytes` has arrived.
  bool is_on_host(const Interval& bytes);

  // The loop that writes the array, "blur.dhp:12": for messages.
  void set_writer(std::string_view position);
  // The error for an access to bytes that are lost.
  Error lost();

 private:
  void outdate_others(const DeviceCopy& copy, const Interval& bytes);

  const Interval whole_;
  std::recursive_mutex mutex_;
  HostContents host_;
  std::atomic<std::uint64_t> uses_ = 0;
  std::list<DeviceCopy> entries_;
  std::unordered_map<const PipelineDevice*, DeviceCopy*> by_device_;  // the same
  std::optional<Error> loss_;  // the last failure of a device that had some of the contents
  std::string writer_;
};

}  // namespace dhpvm::offload
