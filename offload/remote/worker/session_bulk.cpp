// SPDX-License-Identifier: Apache-2.0
// Data on its way in: straight into its destination where the device can be asked to let it, otherwise through staging
// memory; and on its way out.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "offload/remote/worker/session.h"

namespace dhpvm::offload {

using session::StagedPart;
using session::Wait;

namespace {

Error broken(const char* what) {
  return error(ErrorCode::kProtocol, "the client breaks the protocol: {}", what);
}

}  // namespace

void Session::on_run(ConstBytes header, std::uint64_t bytes) {
  if (ended_) return;
  auto read = wire::read_run_header(header);
  if (!read.ok()) return close(std::move(read).error());
  if (bytes == 0) return close(broken("a run of no bytes"));
  bytes_in_ += bytes;
  run_ = session::Run{*read, bytes, 0, false};
  continue_run();
}

// Gives the data that is to come a place, as far as there is one now. Called again whenever that may have changed.
void Session::continue_run() {
  if (!run_ || ended_) return;
  const auto entry = uploads_.find(run_->header.operation);
  if (entry == uploads_.end()) {
    // Frames and data travel separately: the operation may not have arrived yet. If it has, it has failed since.
    if (run_->header.operation < next_operation_) discard();
    return;
  }
  Stream& stream = *entry->second.first;
  Pending& pending = *entry->second.second;
  auto& upload = std::get<UploadState>(pending.what);
  if (!run_->is_checked) {
    const std::uint64_t left = pending.to.bytes - upload.announced;
    if (run_->header.offset != upload.announced || run_->rest > left) {
      return close(broken("data that its operation has no place for"));
    }
    upload.announced += run_->rest;
    run_->is_checked = true;
  }
  if (run_->rest == 0) return;
  if (upload.direct || may_receive_directly(stream, pending)) {
    receive_directly(stream, entry->second.second);
  } else {
    receive_staged(stream, entry->second.second);
  }
}

// Where the host may use the device's memory itself, if it may: what a simulated link separates stays separate.
std::byte* Session::shared_memory(const Stream& stream, const MemorySpan& span) const {
  if (!worker_.devices()[stream.device]->info().shares_host_memory || span.memory->host() == nullptr)
    return nullptr;
  return span.memory->host() + span.offset;
}

// Whether the device has nothing to do with the destination until the upload is done.
bool Session::may_receive_directly(const Stream& stream, const Pending& pending) const {
  if (shared_memory(stream, pending.to) == nullptr || pending.begun || stream.blocked || stream.failure ||
      stream.pending.front().get() != &pending || stream.given != stream.done->load() ||
      stream.unmarked != 0 || !std::get<UploadState>(pending.what).parts.empty() || !may_begin(pending)) {
    return false;
  }
  return std::ranges::all_of(pending.waits, [](const Wait& wait) {
    const auto reached = wait.timeline->semaphore->wait(wait.value, Semaphore::Clock::time_point::min());
    return reached.ok() && *reached;
  });
}

void Session::receive_directly(Stream& stream, const std::shared_ptr<Pending>& pending) {
  auto& upload = std::get<UploadState>(pending->what);
  upload.direct = true;
  stream.blocked = true;
  const std::uint64_t bytes = std::exchange(run_->rest, 0);
  std::byte* const memory = shared_memory(stream, pending->to) + run_->header.offset;
  bulk_->receive({memory, bytes}, [this, self = shared_from_this(), held = streams_.at(stream.id), pending,
                                   bytes](const Status& status) {
    if (!status.ok() || ended_) return;
    run_.reset();
    auto& state = std::get<UploadState>(pending->what);
    state.submitted += bytes;
    if (state.submitted != pending->to.bytes) return;
    uploads_.erase(pending->number);
    if (!held->failure) finish_here(*held);
  });
}

void Session::receive_staged(Stream& stream, const std::shared_ptr<Pending>& pending) {
  auto& upload = std::get<UploadState>(pending->what);
  while (run_->rest != 0) {
    const std::shared_ptr<StagingBlock> block = staging_.at(stream.device).up->take();
    if (block == nullptr) return;
    auto part = std::make_shared<StagedPart>();
    part->block = block;
    part->offset = run_->header.offset + run_->taken;
    part->bytes = std::min<std::uint64_t>(run_->rest, StagingPool::kBlockBytes);
    run_->taken += part->bytes;
    run_->rest -= part->bytes;
    upload.parts.push_back(part);
    const bool last = run_->rest == 0;
    bulk_->receive(block->bytes(part->bytes), [this, self = shared_from_this(), pending, part,
                                               last](const Status& status) {
      if (!status.ok() || ended_) return;
      part->received = true;
      if (last) {
        run_.reset();
        const auto entry = uploads_.find(pending->number);
        if (entry != uploads_.end() && std::get<UploadState>(pending->what).announced == pending->to.bytes) {
          uploads_.erase(entry);
        }
      }
      advance();
    });
  }
}

// The operation has failed, and so the rest of its data is received for nothing.
void Session::discard() {
  if (run_->rest == 0) return;
  discarded_.resize(BulkLane::kPieceBytes);
  const std::uint64_t bytes = std::min<std::uint64_t>(run_->rest, discarded_.size());
  run_->rest -= bytes;
  bulk_->receive(MutableBytes(discarded_).first(bytes),
                 [this, self = shared_from_this()](const Status& status) {
                   if (!status.ok() || ended_ || !run_) return;
                   if (run_->rest == 0) {
                     run_.reset();
                   } else {
                     discard();
                   }
                 });
}

void Session::staging_freed() {
  if (ended_) return;
  continue_run();
  advance();
}

// From any thread. `sent` is called on the progress thread, unless the session ends before.
void Session::send_run(const wire::RunHeader& header, ConstBytes data, std::function<void()> sent) {
  bytes_out_.fetch_add(data.size());
  bulk_->send(wire::write_run_header(header), data, [sent = std::move(sent)](const Status& status) {
    if (status.ok()) sent();
  });
}

}  // namespace dhpvm::offload
