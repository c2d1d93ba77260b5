// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_transfers.h"

#include <algorithm>
#include <utility>

#include "offload/remote/worker/session_queues.h"

namespace dhpvm::offload {

using session::LocalOrder;
using session::Pending;
using session::StagedPart;
using session::Stream;
using session::UploadState;
using session::Wait;

namespace {

MemorySpan part_of(const MemorySpan& span, std::uint64_t offset, std::uint64_t bytes) {
  return {span.memory, span.offset + offset, bytes};
}

std::byte* host_of(const MemorySpan& span) { return span.memory->host() + span.offset; }

// The order of a part: the first part waits, the last one signals.
Order order_of_part(const Pending& pending, const LocalOrder& order, bool last) {
  return {pending.begun ? std::span<const SemaphoreValue>() : order.waits,
          last ? order.signals : std::span<const SemaphoreValue>()};
}

}  // namespace

bool SessionTransfers::attach(std::shared_ptr<BulkLane> lane) {
  if (lane_ != nullptr) return false;
  lane_ = std::move(lane);
  return true;
}

Result<SessionTransfers::Staging> SessionTransfers::make_staging(Device& device) {
  const std::function<void()> freed = [this, weak = port_.alive()] {
    const auto alive = weak.lock();
    if (alive == nullptr) return;
    port_.post_to_progress([this] {
      if (port_.has_ended()) return;
      continue_run();
      queues_.advance();
    });
  };
  Staging staging;
  DHPVM_ASSIGN(staging.up, StagingPool::create(device, {kUpBlocks}, freed));
  DHPVM_ASSIGN(staging.down, StagingPool::create(device, {kDownBlocks}, freed));
  DHPVM_ASSIGN(staging.writes, StagingPool::create(device, {kWriteBlocks}, freed));
  constexpr StagingPool::Size kBatches{kBlocksOfPlace * wire::kMaxKept, kBatchBytes};
  DHPVM_ASSIGN(staging.batches, StagingPool::create(device, kBatches, freed));
  return staging;
}

void SessionTransfers::add_staging(std::uint64_t device, Result<Staging> made) {
  if (made.ok()) {
    staging_[device] = std::move(made).value();
  } else {
    staging_.erase(device);
  }
}

// ---- Data on its way in ---------------------------------------------------------------------------------------------

void SessionTransfers::expect(const std::shared_ptr<Stream>& stream,
                              const std::shared_ptr<Pending>& pending) {
  uploads_[pending->number] = {stream, pending};
}

void SessionTransfers::on_run(ConstBytes header, std::uint64_t bytes) {
  auto read = wire::read_run_header(header);
  if (!read.ok()) return port_.close(EndCause::kProtocol, std::move(read).error());
  if (bytes == 0) return port_.close(EndCause::kProtocol, protocol_violation("a run of no bytes"));
  port_.figures().bytes_in += bytes;
  run_ = IncomingRun{*read, bytes, 0, false};
  continue_run();
}

void SessionTransfers::continue_run() {
  if (!run_ || port_.has_ended()) return;
  const auto entry = uploads_.find(run_->header.operation);
  if (entry == uploads_.end()) {
    // Frames and data travel separately, so the operation may not have arrived yet. If it has, it has failed meanwhile.
    if (run_->header.operation < queues_.operations()) discard();
    return;
  }
  const ExpectedUpload expected = entry->second;
  auto& upload = std::get<UploadState>(expected.pending->what);
  if (!run_->is_checked) {
    const std::uint64_t left = expected.pending->to.bytes - upload.announced;
    if (run_->header.offset != upload.announced || run_->rest > left) {
      return port_.close(EndCause::kProtocol, protocol_violation("data that its operation has no place for"));
    }
    upload.announced += run_->rest;
    run_->is_checked = true;
  }
  if (run_->rest == 0) return;
  if (upload.direct || may_receive_directly(*expected.stream, *expected.pending)) {
    receive_directly(expected);
  } else {
    receive_staged(expected);
  }
}

// The host's address of device memory if host and device share it; null otherwise, and on simulated links.
std::byte* SessionTransfers::shared_memory(const Stream& stream, const MemorySpan& span) const {
  const bool shared = port_.opened(stream.device)->info().shares_host_memory;
  return shared && span.memory->host() != nullptr ? span.memory->host() + span.offset : nullptr;
}

// Whether the device does not use the destination until the upload is done.
bool SessionTransfers::may_receive_directly(const Stream& stream, const Pending& pending) const {
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

void SessionTransfers::receive(MutableBytes memory, std::function<void()> then) {
  lane_->receive(memory, [this, alive = port_.alive().lock(), then = std::move(then)](const Status& status) {
    if (status.ok() && !port_.has_ended()) then();
  });
}

void SessionTransfers::receive_directly(const ExpectedUpload& upload) {
  auto& state = std::get<UploadState>(upload.pending->what);
  state.direct = true;
  upload.stream->blocked = true;
  const std::uint64_t bytes = std::exchange(run_->rest, 0);
  std::byte* const memory = shared_memory(*upload.stream, upload.pending->to) + run_->header.offset;
  receive({memory, bytes}, [this, upload, bytes] {
    run_.reset();
    auto& received = std::get<UploadState>(upload.pending->what);
    received.submitted += bytes;
    if (received.submitted != upload.pending->to.bytes) return;
    uploads_.erase(upload.pending->number);
    if (!upload.stream->failure) queues_.finish_front(*upload.stream);
  });
}

void SessionTransfers::receive_staged(const ExpectedUpload& upload) {
  auto& state = std::get<UploadState>(upload.pending->what);
  while (run_->rest != 0) {
    const std::shared_ptr<StagingBlock> block = staging_.at(upload.stream->device).up->take();
    if (block == nullptr) return;
    auto part = std::make_shared<StagedPart>();
    part->block = block;
    part->offset = run_->header.offset + run_->taken;
    part->bytes = std::min<std::uint64_t>(run_->rest, StagingPool::kBlockBytes);
    run_->taken += part->bytes;
    run_->rest -= part->bytes;
    state.parts.push_back(part);
    const bool last = run_->rest == 0;
    receive(block->bytes(part->bytes), [this, pending = upload.pending, part, last] {
      part->received = true;
      if (last) {
        run_.reset();
        const bool complete = std::get<UploadState>(pending->what).announced == pending->to.bytes;
        if (complete) uploads_.erase(pending->number);
      }
      queues_.advance();
    });
  }
}

// The operation has failed, so the rest of its data is received and dropped.
void SessionTransfers::discard() {
  if (run_->rest == 0) return;
  discarded_.resize(BulkLane::kPieceBytes);
  const std::uint64_t bytes = std::min<std::uint64_t>(run_->rest, discarded_.size());
  run_->rest -= bytes;
  receive(MutableBytes(discarded_).first(bytes), [this] {
    if (!run_) return;
    if (run_->rest == 0) {
      run_.reset();
    } else {
      discard();
    }
  });
}

Result<bool> SessionTransfers::submit_upload(Stream& stream, Pending& pending, const LocalOrder& order) {
  auto& upload = std::get<UploadState>(pending.what);
  Queue& queue = *stream.queue;
  if (pending.to.bytes == 0) {
    DHPVM_TRY(queue.fill(pending.to, std::byte{0}, order.all(), pending.number));
    return true;
  }
  while (!upload.parts.empty() && upload.parts.front()->received) {
    const std::shared_ptr<StagedPart> part = std::move(upload.parts.front());
    upload.parts.pop_front();
    const bool last = upload.submitted + part->bytes == pending.to.bytes;
    const Order of_part = order_of_part(pending, order, last);
    pending.begun = true;
    DHPVM_TRY(queue.copy(part_of(pending.to, part->offset, part->bytes), part->block->span(part->bytes),
                         of_part, pending.number));
    // The block is free when the device has passed the copy.
    DHPVM_TRY(queue.host_call([block = part->block] {}, {}));
    upload.submitted += part->bytes;
    if (last) return true;
  }
  return false;
}

std::function<void()> SessionTransfers::writing(const MemorySpan& to, std::vector<std::byte> bytes) {
  port_.figures().bytes_in += bytes.size();
  return [to, bytes = std::move(bytes)] { std::ranges::copy(bytes, to.memory->host() + to.offset); };
}

Result<bool> SessionTransfers::submit_write(Stream& stream, Pending& pending, const LocalOrder& order) {
  std::vector<std::byte>& bytes = std::get<session::WriteState>(pending.what).bytes;
  Queue& queue = *stream.queue;
  if (is_shared(stream, pending.to)) {
    DHPVM_TRY(queue.host_call(writing(pending.to, std::move(bytes)), order.all(), pending.number));
    return true;
  }
  const std::shared_ptr<StagingBlock> block = staging_.at(stream.device).writes->take();
  if (block == nullptr) return false;
  port_.figures().bytes_in += bytes.size();
  std::ranges::copy(bytes, block->bytes(bytes.size()).begin());
  DHPVM_TRY(queue.copy(pending.to, block->span(bytes.size()), order.all(), pending.number));
  DHPVM_TRY(queue.host_call([block] {}, {}));
  return true;
}

// ---- Data of batches ------------------------------------------------------------------------------------------------

Result<bool> SessionTransfers::submit_batch(Stream& stream, session::BatchState& batch,
                                            const LocalOrder& order) {
  const auto first = static_cast<std::uint32_t>(*batch.place * kBlocksOfPlace);
  const std::shared_ptr<StagingBlock> block = staging_.at(stream.device).batches->take(first, kBlocksOfPlace);
  if (block == nullptr) return false;
  std::vector<std::pair<std::uint64_t, MemorySpan>> answers;  // by operation
  std::size_t used = 0;
  for (Operation& step : batch.steps) {
    if (step.record.kind == OperationRecord::Kind::kUpload) {
      port_.figures().bytes_in += step.to.bytes;
      step.from = part_of(block->span(kBatchBytes), used, step.to.bytes);
      std::ranges::copy(step.contents, host_of(step.from));
      step.contents.clear();
      used += staged_bytes(step.from);
    } else if (step.record.kind == OperationRecord::Kind::kDownload) {
      step.to = part_of(block->span(kBatchBytes), used, step.from.bytes);
      answers.emplace_back(step.record.label, step.to);
      used += staged_bytes(step.to);
    }
  }
  // The block is free when the device has passed the batch. The batch is done, and signals, when its answers have been
  // sent.
  DHPVM_TRY(stream.queue->batch(std::move(batch.steps), {order.waits, {}}));
  DHPVM_TRY(stream.queue->host_call(
      [this, weak = port_.alive(), to = stream.answers, answers = std::move(answers), block] {
        const auto alive = weak.lock();
        if (alive == nullptr) return;
        for (const auto& [operation, from] : answers) answer(*to, operation, {host_of(from), from.bytes});
      },
      {{}, order.signals}));
  return true;
}

// ---- Data on its way out --------------------------------------------------------------------------------------------

std::function<void()> SessionTransfers::answering(const Stream& stream, std::uint64_t operation,
                                                  const MemorySpan& from) {
  return [this, weak = port_.alive(), answers = stream.answers, operation, from] {
    const auto alive = weak.lock();
    if (alive != nullptr) answer(*answers, operation, {from.memory->host() + from.offset, from.bytes});
  };
}

Result<bool> SessionTransfers::submit_download(const std::shared_ptr<Stream>& stream,
                                               const std::shared_ptr<Pending>& pending,
                                               const LocalOrder& order) {
  auto& download = std::get<session::DownloadState>(pending->what);
  Queue& queue = *stream->queue;
  const std::uint64_t total = pending->from.bytes;
  if (total == 0) {
    DHPVM_TRY(queue.fill(pending->from, std::byte{0}, order.all(), pending->number));
    return true;
  }
  std::byte* const memory = shared_memory(*stream, pending->from);
  if (memory != nullptr && is_answer(total)) {
    DHPVM_TRY(
        queue.host_call(answering(*stream, pending->number, pending->from), order.all(), pending->number));
    return true;
  }
  if (memory != nullptr) {
    // Sent directly from its memory: later operations of the queue may change it, and wait.
    const ConstBytes data(memory, total);
    DHPVM_TRY(queues_.block(*stream, order, [this, weak = port_.alive(), stream, pending, data] {
      const auto alive = weak.lock();
      if (alive == nullptr) return;
      send_run({pending->number, 0}, data, [this, alive, stream] {
        if (!port_.has_ended() && !stream->failure) queues_.finish_front(*stream);
      });
    }));
    return false;
  }
  while (download.submitted < total) {
    const std::shared_ptr<StagingBlock> block = staging_.at(stream->device).down->take();
    if (block == nullptr) return false;
    const std::uint64_t offset = download.submitted;
    const std::uint64_t bytes = std::min<std::uint64_t>(total - offset, StagingPool::kBlockBytes);
    // The download is done, and signals, when its data has been sent.
    const Order all = order_of_part(*pending, order, offset + bytes == total);
    pending->begun = true;
    DHPVM_TRY(queue.copy(block->span(bytes), part_of(pending->from, offset, bytes), {all.waits, {}},
                         pending->number));
    DHPVM_TRY(queue.host_call(
        [this, weak = port_.alive(), answers = stream->answers, number = pending->number, offset, bytes,
         total, block] {
          const auto alive = weak.lock();
          if (alive == nullptr) return;
          if (is_answer(total)) return answer(*answers, number, block->bytes(bytes));
          send_run({number, offset}, block->bytes(bytes), [block] {});
        },
        {{}, all.signals}));
    download.submitted += bytes;
  }
  return true;
}

bool SessionTransfers::is_answer(std::uint64_t bytes) const {
  return bytes <= wire::kMaxElements && port_.frames()->channel().version() > kVersionWithoutElements;
}

// From any thread.
void SessionTransfers::answer(QueueAnswers& answers, std::uint64_t operation, ConstBytes data) {
  port_.figures().bytes_out += data.size();
  answers.add(wire::Downloaded{operation, {data.begin(), data.end()}});
}

// From any thread. `sent` is called on the progress thread, unless the session ends before.
void SessionTransfers::send_run(const wire::RunHeader& header, ConstBytes data, std::function<void()> sent) {
  port_.figures().bytes_out += data.size();
  lane_->send(wire::write_run_header(header), data, [sent = std::move(sent)](const Status& status) {
    if (status.ok()) sent();
  });
}

}  // namespace dhpvm::offload
