// SPDX-License-Identifier: Apache-2.0
// Which copies of an array have which of its elements: bookkeeping alone, which moves nothing and waits for nothing.
//
// The host's memory is one copy (host_contents.h); each device that works on the array has an entry.
// Thread-safe: while a loop is split over several devices, each thread notes what happens on its own device.
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

// The array on one device. A device that shares the host's memory has no block and no valid bytes: its entry
// only tells how long it is busy.
struct DeviceCopy {
  PipelineDevice* device = nullptr;
  DeviceBlock block;
  // Bytes that are there, or arriving, for operations of this device behind `busy`; none once the device has failed.
  IntervalSet valid;
  // Operations on the copy, and on the host's memory from this device. Grows by use_until() alone.
  Positions busy;
  std::atomic<std::uint64_t>* uses = nullptr;  // of all copies of the array: calls of use_until()

  // Operations on the copy have been submitted, the last of them at these positions.
  void use_until(const Positions& positions) {
    busy.include(positions);
    uses->fetch_add(1, std::memory_order_relaxed);
  }

  // The last operations on the copy that write the host's memory, that read it, and that do either.
  Positions writes_to_host() const;
  Positions reads_of_host() const;
  Positions uses_of_host() const;
};

class CopyContents {
 public:
  // The host has all `bytes`.
  explicit CopyContents(std::uint64_t bytes) : whole_{0, bytes}, host_(whole_) {}

  const Interval& whole() const { return whole_; }
  // Addresses stay. By the isolate's thread.
  std::list<DeviceCopy>& entries() { return entries_; }
  // Grows whenever an operation on an entry is submitted: while it does not, what was done stays done.
  std::uint64_t uses() const { return uses_.load(std::memory_order_relaxed); }
  // The entry of `device`; null: it has none.
  DeviceCopy* find(const PipelineDevice& device);
  DeviceCopy& add(PipelineDevice& device);
  // Removes the entry. Bytes that only this device had, or was sending, are lost.
  void drop(DeviceCopy& copy);

  // The copy has been sent these bytes.
  void uploaded(DeviceCopy& copy, const Interval& bytes);
  // A kernel has been launched that writes these bytes of the copy: they are current there, and nowhere else.
  void written(DeviceCopy& copy, const Interval& bytes);
  // The same for results that are not kept in any copy: the bytes are current nowhere.
  void outdate(const Interval& bytes);
  // As written(), by one of several devices that share a loop: outdate_between() does the copies of the others once for
  // all chunks, so that a chunk costs the same however many there are. None of them reads what another writes.
  void written_among_others(DeviceCopy& copy, const Interval& bytes);
  // The same for results that are not kept in the copy.
  void outdate_among_others(DeviceCopy& copy, const Interval& bytes);
  // Copies that have shared a loop, with all that each has written. Bytes that one of them has written are current in
  // no other copy; bytes that two of them have written are current in none.
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
  // Notes that the host's memory has the current contents, even if operations were submitted since.
  void present_on_host(const Interval& bytes);
  // All contents are lost, because of `reason`.
  void lose(const Error& reason);

  // Notes the outcome of operations since. By the isolate's thread.
  void settle();
  // The parts of `bytes` that the copy lacks.
  std::vector<Interval> missing(const DeviceCopy& copy, const Interval& bytes);
  // The parts of `bytes` that the host neither has nor is being sent.
  std::vector<Interval> host_missing(const Interval& bytes);
  // Whether all of it has arrived.
  bool is_on_host(const Interval& bytes);

  // The loop that writes the array, "blur.dhp:12": for messages.
  void set_writer(std::string_view position);
  // The error of an access to bytes that are lost.
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
