// SPDX-License-Identifier: Apache-2.0
// Where the current contents of a buffer are: in the host's memory, in copies on devices, or on the way between them.
//
// Used by the thread of the isolate that owns the buffer; while a loop is split over several devices, each thread touches
// the copy on its own device, and what is shared is locked.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>

#include "offload/schedule/memory/buffer.h"
#include "offload/schedule/pipeline/host_contents.h"
#include "offload/schedule/pipeline/interval_set.h"
#include "offload/schedule/pipeline/pipeline_device.h"

namespace dhpvm::offload {

// The buffer on one device. For a device that shares the host's memory there is no block, and what is valid counts
// nothing: only when it is busy.
struct DeviceCopy {
  PipelineDevice* device = nullptr;
  DeviceBlock block;
  // Bytes that are there, or arriving, for operations of this device behind `busy`; none once the device has failed.
  IntervalSet valid;
  Positions busy;  // operations on the copy, and on the host's memory from this device
};

// Loops that have been put off, and work on the buffer.
class PendingLoops {
 public:
  virtual ~PendingLoops() = default;
  // Runs them: they are in flight afterwards, or done.
  virtual Status settle() = 0;
};

class ArrayCopies final : public BufferCopies {
 public:
  // Those of `buffer`, made on first use.
  static ArrayCopies& of(Buffer& buffer);
  ~ArrayCopies() override;

  Status to_host_for_reading() override;
  Status to_host_for_writing() override;

  // The entry for `device`, made on first use, without memory.
  DeviceCopy& on(PipelineDevice& device);
  // Gives the entry memory for the whole buffer if it has none.
  Status allocate(DeviceCopy& copy);
  // Gives the memory of an entry back, whose contents the host has, or will have when the entry is no longer busy.
  void give_back(DeviceCopy& copy);

  // Makes the host's bytes current, for `device` to read them behind busy of its own entry: what only another device has
  // is fetched, and what others do with the host's memory is waited for.
  Status prepare_host(PipelineDevice& device, const Interval& bytes);
  // The parts of `bytes` that the copy lacks.
  std::vector<Interval> missing(const DeviceCopy& copy, const Interval& bytes);
  void uploaded(DeviceCopy& copy, const Interval& bytes);
  // A kernel has been launched that writes there, in the copy: no other is current any more.
  void written(DeviceCopy& copy, const Interval& bytes);
  // The same for results that are not kept in any copy.
  void outdate(const Interval& bytes);
  // What others have of it is not current.
  void outdate_others(const DeviceCopy& copy, const Interval& bytes);
  // Operations have been submitted that bring the current contents to the host, where they are at `positions` of the
  // entry's device.
  void arriving_on_host(const DeviceCopy& copy, const Interval& bytes, const Positions& positions);
  // The host's memory has the current contents, for somebody who knows, whatever has been submitted since.
  void present_on_host(const Interval& bytes);
  Interval whole() const { return {0, buffer_.size()}; }
  // The parts of `bytes` that the host neither has nor is being sent.
  std::vector<Interval> host_missing(const Interval& bytes);
  // The operations of this entry after which the host's memory is what it will be.
  static Positions writes_to_host(const DeviceCopy& copy);

  // Whether the host may read, or write, without asking.
  bool host_may_read();  // not even what has arrived, before it has asked once: see wanted_on_host()
  bool host_may_write();
  // Fetches whatever the host lacks, and waits.
  Status bring_to_host();
  // Fetches what only `device` has, if it still can, and drops its entry. Fails when somebody wants the waiting to end.
  Status give_up(PipelineDevice& device);
  // Drops the entry of `device`, current or not.
  void forget(PipelineDevice& device);

  // From now on, whoever wants to read what the loops write, or to write what they touch, has them run first.
  void put_off(PendingLoops& loops, bool writes);
  // They are not put off any more.
  void take_up();
  // The loops that were to write the buffer have failed halfway: its contents are nowhere.
  void lose_if_written(const Error& error);

  // While a loop that needs the copies is being submitted, they are not given up.
  void pin() { ++pins_; }
  void unpin() { --pins_; }
  bool pinned() const { return pins_ != 0; }

  // Whether the results of a loop that writes the buffer should be sent back while it runs. They are if that was of use the
  // last time: if the host has looked at what was sent before a device writes the buffer again.
  bool wanted_on_host() const { return wanted_on_host_ && !sent_unread_; }
  // A loop that writes the buffer is being submitted.
  void begin_writing() { wanted_on_host_ = wanted_on_host(); }

 private:
  explicit ArrayCopies(Buffer& buffer);
  Status fetch(const Interval& bytes, const DeviceCopy* except);
  Status request(const Interval& bytes);
  Status wait_for_writes(const DeviceCopy* except);
  void settle();
  Error lost(const Interval& bytes) const;

  Buffer& buffer_;
  std::recursive_mutex mutex_;
  HostContents host_;
  std::list<DeviceCopy> copies_;  // addresses stay
  PendingLoops* pending_ = nullptr;
  bool pending_writes_ = false;
  std::optional<Error> loss_;  // why bytes may be nowhere: the last failure of a device that had some
  unsigned pins_ = 0;
  bool wanted_on_host_ = true;
  bool sent_unread_ = false;  // downloaded, and nobody has looked yet
};

}  // namespace dhpvm::offload
