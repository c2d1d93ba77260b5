// SPDX-License-Identifier: Apache-2.0
// Objects of a program on a worker. The worker knows each by a number, and frees it when its last owner here releases
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "codegen/codegen.h"
#include "offload/devices/device_base.h"
#include "offload/devices/timeline.h"
#include "offload/remote/client/remote_link.h"

namespace dhpvm::offload {

class RemoteMemory final : public OwnedMemory {
 public:
  RemoteMemory(DeviceBase& owner, std::shared_ptr<RemoteLink> link, wire::Id id, std::size_t bytes)
      : OwnedMemory(owner, Kind::kAllocated, bytes, nullptr), link_(std::move(link)), id_(id) {}
  ~RemoteMemory() override { link_->post(wire::Free{id_}); }
  wire::Id id() const { return id_; }

 private:
  const std::shared_ptr<RemoteLink> link_;
  const wire::Id id_;
};

class RemoteKernel final : public OwnedKernel {
 public:
  // `image` has the sites that the worker has reported.
  RemoteKernel(const DeviceBase& owner, std::shared_ptr<RemoteLink> link, wire::Id id,
               const KernelImage& image, Compilation compilation)
      : OwnedKernel(owner, image),
        link_(std::move(link)),
        id_(id),
        sites_(image.sites),
        compilation_(compilation) {}
  ~RemoteKernel() override { link_->post(wire::UnloadKernel{id_}); }
  const std::vector<codegen::KernelSite>* sites() const override { return &sites_; }
  std::optional<Compilation> compilation() const override { return compilation_; }
  wire::Id id() const { return id_; }

 private:
  const std::shared_ptr<RemoteLink> link_;
  const wire::Id id_;
  const std::vector<codegen::KernelSite> sites_;
  const Compilation compilation_;
};

// Exists twice: here, signalled by the ends of operations, for the host; and on the worker, for operations that wait
// there.
class RemoteSemaphore final : public TimelineSemaphore {
 public:
  RemoteSemaphore(Timeline& timeline, std::uint64_t initial, std::shared_ptr<RemoteLink> link,
                  std::uint64_t device)
      : TimelineSemaphore(timeline, initial), link_(std::move(link)), id_(link_->next_id()) {
    link_->post(wire::CreateSemaphore{id_, device, initial});
  }
  ~RemoteSemaphore() override { link_->post(wire::DestroySemaphore{id_}); }
  wire::Id id() const { return id_; }

  Result<std::uint64_t> value() override {
    link_->flush();
    return TimelineSemaphore::value();
  }
  Result<bool> wait(std::uint64_t value, Clock::time_point deadline) override {
    link_->flush();
    const auto is_over = [&] {
      const Result<bool> reached = has_reached(value);
      return !reached.ok() || *reached;
    };
    if (deadline > Clock::time_point{}) link_->transport().attend(is_over, deadline);
    return TimelineSemaphore::wait(value, deadline);
  }
  Status signal(std::uint64_t value) override {
    DHPVM_TRY(TimelineSemaphore::signal(value));
    link_->post(wire::Signal{id_, value});
    link_->flush();
    return {};
  }
  void fail(Error error) override {
    link_->post(wire::FailSemaphore{id_, wire::Failure::from(error)});
    TimelineSemaphore::fail(std::move(error));
  }

  // As in RemoteOperation::after, for operations that wait for this semaphore. Guarded by the mutex of
  // RemoteOperations.
  std::uint64_t after = 0;

 private:
  const std::shared_ptr<RemoteLink> link_;
  const wire::Id id_;
};

}  // namespace dhpvm::offload
