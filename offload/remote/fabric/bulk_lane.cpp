// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/bulk_lane.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

template <typename Bytes>
void write_number(Bytes bytes, std::uint64_t value) {
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint64_t read_number(ConstBytes bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

Error broken(const char* what) {
  return error(ErrorCode::kProtocol, "the other side breaks the protocol of bulk data: {}", what);
}

}  // namespace

void BulkLane::opened() {
  header_.resize(kLengthBytes + kLargestHeader + kTagBytes);
  receive_header();
  handler_->on_bulk_open();
}

// ---- Receiving ------------------------------------------------------------------------------------------------------

void BulkLane::receive_header() {
  const MutableBytes part = header_;
  channel_->connection().receive({&part, 1}, kHeaderTag);
}

void BulkLane::received(std::uint64_t tag, std::size_t bytes) {
  Status status = tag == kHeaderTag ? take_header(bytes) : take_piece(bytes);
  if (!status.ok()) channel_->close(std::move(status).error());
}

Status BulkLane::take_header(std::size_t bytes) {
  const bool sealed = channel_->incoming() != nullptr;
  if (bytes < kLengthBytes + trailer_bytes(sealed)) return broken("an announcement that is too short");
  const MutableBytes content = MutableBytes(header_).first(bytes - trailer_bytes(sealed));
  Tag trailer{};
  std::ranges::copy(ConstBytes(header_).subspan(content.size(), trailer_bytes(sealed)), trailer.begin());
  DHPVM_TRY(open({}, content, sealed, trailer));
  run_rest_ = read_number(content);
  if (run_rest_ > kLargestRun) return broken("a run that is too long");
  // Copied, because the header's memory is reused as soon as this run has been asked for.
  const std::vector<std::byte> header(content.begin() + kLengthBytes, content.end());
  const std::uint64_t length = run_rest_;
  if (length == 0) receive_header();
  if (handler_ != nullptr) handler_->on_run(header, length);
  return {};
}

void BulkLane::receive(MutableBytes memory, Done done) {
  if (ended_) return done(*ended_);
  run_rest_ -= memory.size();
  parts_.push_back({memory, memory.size(), std::move(done)});
  ask();
}

// Gives the connection memory for the next pieces, and after the last piece of the run, for the next announcement.
void BulkLane::ask() {
  const bool sealed = seals_pieces();
  while (asked_parts_ < parts_.size() && asked_.size() < (sealed ? kSealedReceives : kReceives)) {
    Part& part = parts_[asked_parts_];
    Piece& piece =
        asked_.emplace_back(Piece{part.rest.first(std::min(part.rest.size(), kPieceBytes)), {}, {}});
    part.rest = part.rest.subspan(piece.memory.size());
    if (part.rest.empty()) ++asked_parts_;
    if (sealed) piece.sealed = buffer_of(piece.memory.size());
    const MutableBytes content =
        sealed ? MutableBytes(piece.sealed).first(piece.memory.size()) : piece.memory;
    const MutableBytes into[] = {content, MutableBytes(piece.trailer).first(trailer_bytes(sealed))};
    channel_->connection().receive(into, kPieceTag);
    if (run_rest_ == 0 && asked_parts_ == parts_.size()) receive_header();
  }
}

std::vector<std::byte> BulkLane::buffer_of(std::size_t bytes) {
  std::vector<std::byte> buffer;
  if (!spare_buffers_.empty()) {
    buffer = std::move(spare_buffers_.back());
    spare_buffers_.pop_back();
  }
  if (buffer.size() < bytes) buffer.resize(bytes);
  return buffer;
}

Status BulkLane::take_piece(std::size_t bytes) {
  Piece piece = std::move(asked_.front());
  asked_.pop_front();
  const bool sealed = seals_pieces();
  if (bytes != piece.memory.size() + trailer_bytes(sealed))
    return broken("a piece of another size than was announced");
  const MutableBytes content = sealed ? MutableBytes(piece.sealed).first(piece.memory.size()) : piece.memory;
  if (channel_->seal_mode() == SealMode::kIntegrity) {
    DHPVM_TRY(open(content, {}, sealed, piece.trailer));
  } else {
    DHPVM_TRY(open({}, content, sealed, piece.trailer));
  }
  if (sealed) {
    std::ranges::copy(content, piece.memory.begin());
    spare_buffers_.push_back(std::move(piece.sealed));
  }
  Part& part = parts_.front();
  part.missing -= piece.memory.size();
  if (part.missing == 0) {
    const Done done = std::move(part.done);
    parts_.pop_front();
    --asked_parts_;
    done({});
  }
  ask();
  return {};
}

Status BulkLane::open(ConstBytes readable, MutableBytes data, bool sealed, const Tag& trailer) {
  const std::uint64_t number = messages_received_++;
  if (sealed) return channel_->incoming()->open(readable, data, trailer);
  if (read_number(trailer) != number) return broken("a message was lost, repeated or moved");
  return {};
}

void BulkLane::look(std::chrono::milliseconds listened, std::chrono::milliseconds patience) {
  const Connection& connection = channel_->connection();
  const std::optional<std::uint64_t> bytes = connection.bytes_received();
  // The sender of a run has all of its data.
  const bool waits = !asked_.empty() && bytes && bytes == seen_bytes_;
  without_bytes_ = waits ? without_bytes_ + listened : std::chrono::milliseconds(0);
  seen_bytes_ = bytes;
  const bool is_owed = connection.owes_acknowledgement(listened);
  without_acknowledgement_ = is_owed ? without_acknowledgement_ + listened : std::chrono::milliseconds(0);
  if (std::max(without_bytes_, without_acknowledgement_) <= patience) return;
  const char* const what =
      without_bytes_ > patience ? "has sent no more of some data" : "has received no data";
  channel_->drop(
      error(ErrorCode::kDeviceLost,
            "{} {} for {} ms, although it gives signs of life: something between here and there holds "
            "up one connection of two",
            peer(), what, std::max(without_bytes_, without_acknowledgement_).count()));
}

// ---- Sending --------------------------------------------------------------------------------------------------------

void BulkLane::send(ConstBytes header, ConstBytes memory, Done done) {
  Run run;
  run.header.resize(kLengthBytes);
  write_number(MutableBytes(run.header), memory.size());
  run.header.insert(run.header.end(), header.begin(), header.end());
  run.rest = memory;
  run.done = std::move(done);
  {
    const std::lock_guard lock(mutex_);
    // Encrypting and copying more than a piece is left to the progress thread, because the calling thread wants to go
    // on.
    const bool is_short = memory.size() <= kPieceBytes && runs_.empty();
    runs_.push_back(std::move(run));
    if (is_short && !closed_) return pump();
  }
  channel_->transport().post([lane = shared_from_this()] {
    std::unique_lock lock(lane->mutex_);
    if (!lane->closed_) return lane->pump();
    const std::deque<Run> late = std::exchange(lane->runs_, {});
    lock.unlock();
    for (const Run& each : late) each.done(error(ErrorCode::kDeviceLost, "the connection has ended"));
  });
}

// With the mutex held.
void BulkLane::pump() {
  while (!runs_.empty() && messages_begun_ - messages_sent_ < kWindow) {
    Run& run = runs_.front();
    const bool is_header = !run.header.empty();
    const ConstBytes data =
        is_header ? ConstBytes(run.header) : run.rest.first(std::min(run.rest.size(), kPieceBytes));
    if (Status status = send_message(data, is_header); !status.ok()) {
      return channel_->drop(std::move(status).error());
    }
    if (is_header) {
      run.header.clear();
    } else {
      run.rest = run.rest.subspan(data.size());
    }
    if (run.rest.empty()) {
      finishing_.emplace_back(messages_begun_, std::move(run.done));
      runs_.pop_front();
    }
  }
}

// With the mutex held.
Status BulkLane::send_message(ConstBytes data, bool is_header) {
  Slot& slot = slots_[messages_begun_ % kWindow];
  const bool sealed = is_header ? channel_->outgoing() != nullptr : seals_pieces();
  const bool encrypted = sealed && (is_header || channel_->seal_mode() == SealMode::kFull);
  if (encrypted || is_header) {
    slot.content.resize(std::max(slot.content.size(), data.size()));
    const MutableBytes content = MutableBytes(slot.content).first(data.size());
    if (encrypted) {
      DHPVM_TRY(channel_->outgoing()->seal({}, data, content, slot.trailer));
    } else {
      std::ranges::copy(data, content.begin());
    }
    data = content;
  } else if (sealed) {
    DHPVM_TRY(channel_->outgoing()->seal(data, {}, {}, slot.trailer));
  }
  if (!sealed) write_number(MutableBytes(slot.trailer), messages_begun_);
  const ConstBytes parts[] = {data, ConstBytes(slot.trailer).first(trailer_bytes(sealed))};
  channel_->connection().send(parts, messages_begun_);
  ++messages_begun_;
  return {};
}

void BulkLane::sent(std::uint64_t) {
  std::vector<Done> done;
  {
    const std::lock_guard lock(mutex_);
    ++messages_sent_;
    while (!finishing_.empty() && finishing_.front().first <= messages_sent_) {
      done.push_back(std::move(finishing_.front().second));
      finishing_.pop_front();
    }
    pump();
  }
  for (const Done& each : done) each({});
}

void BulkLane::closed(const Error& reason) {
  ended_ = reason;
  std::deque<Run> runs;
  std::deque<std::pair<std::uint64_t, Done>> finishing;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    runs.swap(runs_);
    finishing.swap(finishing_);
  }
  const std::deque<Part> parts = std::exchange(parts_, {});
  asked_parts_ = 0;
  asked_.clear();
  for (const Part& part : parts) part.done(reason);
  for (const auto& [number, done] : finishing) done(reason);
  for (const Run& run : runs) {
    if (run.done) run.done(reason);
  }
  if (const auto handler = std::exchange(handler_, nullptr)) handler->on_bulk_closed(reason);
}

}  // namespace dhpvm::offload
