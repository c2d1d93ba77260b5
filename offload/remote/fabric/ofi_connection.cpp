// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/ofi_connection.h"

#include <rdma/fi_cm.h>

#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// The most waiting messages that need no credit and no window. There are few of these: signs of life, and credits.
constexpr std::size_t kMostWaiting = 4096;

}  // namespace

Status OfiConnection::open(fid_eq* events, fi_info& info) {
  fid_ep* endpoint = nullptr;
  if (const int code = fi_endpoint(domain_.domain(), &info, &endpoint, this); code != 0) {
    return ofi_error("create an endpoint", code);
  }
  endpoint_.reset(endpoint);
  if (const int code = fi_ep_bind(endpoint, &events->fid, 0); code != 0) {
    return ofi_error("bind an endpoint to its events", code);
  }
  if (const int code = fi_ep_bind(endpoint, &domain_.completions()->fid, FI_TRANSMIT | FI_RECV); code != 0) {
    return ofi_error("bind an endpoint to its completions", code);
  }
  if (const int code = fi_enable(endpoint); code != 0) return ofi_error("enable an endpoint", code);
  const std::lock_guard lock(mutex_);
  inject_size_ = info.tx_attr->inject_size;
  opened_ = true;
  if (!drain(waiting_receives_)) owner_.stalled(*this);
  return {};
}

OfiOperation* OfiConnection::make(OfiOperation::Kind kind, std::uint64_t tag) {
  OfiOperation* operation;
  if (free_.empty()) {
    operation = &operations_.emplace_back();
    operation->connection = this;
  } else {
    operation = free_.back();
    free_.pop_back();
  }
  operation->kind = kind;
  operation->tag = tag;
  operation->count = 0;
  return operation;
}

void OfiConnection::send(std::span<const ConstBytes> parts, std::uint64_t tag) {
  const std::lock_guard lock(mutex_);
  if (reason_) return;
  OfiOperation* const operation = make(OfiOperation::Kind::kSend, tag);
  for (const ConstBytes part : parts) {
    operation->parts[operation->count++] = {const_cast<std::byte*>(part.data()), part.size()};
  }
  submit(operation, waiting_sends_);
}

void OfiConnection::send_copy(ConstBytes message) {
  const std::lock_guard lock(mutex_);
  if (reason_) return;
  // The provider copies it, and reports no completion.
  if (connected_ && waiting_sends_.empty() && message.size() <= inject_size_) {
    const ssize_t code = fi_inject(endpoint_.get(), message.data(), message.size(), FI_ADDR_UNSPEC);
    if (code == 0) return;
    if (code != -FI_EAGAIN) return fail(ofi_error("send", code));
  }
  if (waiting_sends_.size() > kMostWaiting) {
    return fail(error(ErrorCode::kDeviceLost, "{} does not take what it is sent", peer_));
  }
  OfiOperation* const operation = make(OfiOperation::Kind::kCopy, 0);
  operation->copy.assign(message.begin(), message.end());
  operation->parts[operation->count++] = {operation->copy.data(), operation->copy.size()};
  submit(operation, waiting_sends_);
}

void OfiConnection::receive(std::span<const MutableBytes> parts, std::uint64_t tag) {
  const std::lock_guard lock(mutex_);
  if (reason_) return;
  OfiOperation* const operation = make(OfiOperation::Kind::kReceive, tag);
  for (const MutableBytes part : parts) operation->parts[operation->count++] = {part.data(), part.size()};
  submit(operation, waiting_receives_);
}

// With the mutex held.
void OfiConnection::submit(OfiOperation* operation, std::deque<OfiOperation*>& waiting) {
  if (domain_.registers()) {
    for (std::size_t i = 0; i < operation->count; ++i) {
      const iovec& part = operation->parts[i];
      auto region = domain_.register_memory(part.iov_base, part.iov_len);
      if (!region.ok()) return fail(std::move(region).error());
      operation->regions[i] = std::move(region).value();
    }
  }
  const bool ready = connected_ || (opened_ && operation->kind == OfiOperation::Kind::kReceive);
  if (ready && waiting.empty() && give(*operation)) return;
  waiting.push_back(operation);
  if (ready) owner_.stalled(*this);
}

// Gives the operation to the provider; false when the provider has no room. With the mutex held.
bool OfiConnection::give(OfiOperation& operation) {
  std::array<void*, kMaxParts> descriptors{};
  for (std::size_t i = 0; i < operation.count; ++i) {
    if (operation.regions[i] != nullptr) descriptors[i] = fi_mr_desc(operation.regions[i].get());
  }
  const bool receives = operation.kind == OfiOperation::Kind::kReceive;
  const ssize_t code = receives ? fi_recvv(endpoint_.get(), operation.parts.data(), descriptors.data(),
                                           operation.count, FI_ADDR_UNSPEC, &operation)
                                : fi_sendv(endpoint_.get(), operation.parts.data(), descriptors.data(),
                                           operation.count, FI_ADDR_UNSPEC, &operation);
  if (code == -FI_EAGAIN) return false;
  if (code != 0) fail(ofi_error(receives ? "receive" : "send", code));
  return true;
}

// With the mutex held.
bool OfiConnection::drain(std::deque<OfiOperation*>& waiting) {
  while (!waiting.empty()) {
    if (!give(*waiting.front())) return false;
    waiting.pop_front();
  }
  return true;
}

bool OfiConnection::retry() {
  const std::lock_guard lock(mutex_);
  if (reason_ || !opened_) return true;
  return (!connected_ || drain(waiting_sends_)) && drain(waiting_receives_);
}

void OfiConnection::established() {
  // Done first, so that messages of the handler are sent after those that have been waiting.
  {
    const std::lock_guard lock(mutex_);
    connected_ = true;
  }
  if (!retry()) owner_.stalled(*this);
  handler_->on_connected();
}

void OfiConnection::completed(OfiOperation& operation, std::size_t bytes) {
  const OfiOperation::Kind kind = operation.kind;
  const std::uint64_t tag = operation.tag;
  {
    const std::lock_guard lock(mutex_);
    for (Fid<fid_mr>& region : operation.regions) region.reset();
    free_.push_back(&operation);
    if (reason_) return;
  }
  if (kind == OfiOperation::Kind::kReceive) handler_->on_received(tag, bytes);
  if (kind == OfiOperation::Kind::kSend) handler_->on_sent(tag);
}

void OfiConnection::close(Error reason) {
  const std::lock_guard lock(mutex_);
  fail(std::move(reason));
}

// With the mutex held.
void OfiConnection::fail(Error reason) {
  if (reason_) return;
  reason_ = std::move(reason);
  owner_.close_soon(*this);
}

void OfiConnection::finish() {
  const std::lock_guard lock(mutex_);
  if (endpoint_ == nullptr) return;
  static_cast<void>(fi_shutdown(endpoint_.get(), 0));
  endpoint_.reset();
  waiting_sends_.clear();
  waiting_receives_.clear();
}

void OfiConnection::tell_closed() {
  if (const auto handler = std::exchange(handler_, nullptr)) handler->on_closed(*reason_);
}

}  // namespace dhpvm::offload
