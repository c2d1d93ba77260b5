// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/code_keeper.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {

void CodeBudget::fill(Clock::time_point now) {
  if (!since_) since_ = now;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now - *since_);
  if (seconds.count() <= 0) return;
  *since_ += seconds;
  // One hour fills both.
  const auto count = static_cast<std::uint64_t>(std::min<std::int64_t>(seconds.count(), 3600));
  bytes_ = std::min(kMostBytes, bytes_ + count * kBytesASecond);
  entries_ = std::min(kMostEntries, entries_ + count * kEntriesASecond);
}

bool CodeBudget::take(std::uint64_t bytes, Clock::time_point now) {
  fill(now);
  if (entries_ == 0 || bytes > bytes_) return false;
  --entries_;
  bytes_ -= bytes;
  return true;
}

bool CodeBudget::is_full(Clock::time_point now) {
  fill(now);
  return bytes_ == kMostBytes && entries_ == kMostEntries;
}

void CodeKeeper::open(ClientCode& client, const std::string& folder) const {
  codegen::CodeCacheOptions options;
  options.directory = folder;
  options.limit = limit_;
  options.warn = [&client, tell = warn_](const std::string& problem) {
    client.has_failed = true;
    tell(problem);
  };
  client.cache = std::make_shared<codegen::CodeCache>(std::move(options));
}

// Client names come from certificates, too, so there may be many: clients that have written nothing for a while are
// dropped.
std::shared_ptr<ClientCode> CodeKeeper::client(const std::string& folder, Clock::time_point now) {
  if (const auto known = clients_.find(folder); known != clients_.end()) return known->second;
  std::erase_if(clients_, [now](const auto& entry) { return entry.second->budget.is_full(now); });
  auto made = std::make_shared<ClientCode>();
  open(*made, folder);
  clients_.emplace(folder, made);
  return made;
}

void CodeKeeper::begin(ArrivingCode& arriving, const std::string& folder, const codegen::CodePart& part,
                       Clock::time_point now) {
  if (limit_ == 0 || part.object_size == 0 || part.object_size > kLargestEntry ||
      part.metadata_size > kLargestEntry - part.object_size)
    return;
  std::shared_ptr<ClientCode> owner = client(folder, now);
  if (!owner->budget.take(part.object_size + part.metadata_size, now)) return;
  // A full disk may have room again, or a removed folder be back.
  if (owner->has_failed.exchange(false)) open(*owner, folder);
  arriving.client = std::move(owner);
  arriving.entry = part;
  arriving.entry.bytes = {};
}

void CodeKeeper::take(ArrivingCode& arriving, const std::string& folder, std::span<const std::byte> message,
                      Clock::time_point now) {
  const std::optional<codegen::CodePart> part = codegen::read_code_part(message);
  const codegen::CodePart& entry = arriving.entry;
  const bool goes_on = part && arriving.client != nullptr && part->key == entry.key &&
                       part->object_size == entry.object_size && part->metadata_size == entry.metadata_size &&
                       part->offset == arriving.bytes.size();
  if (!goes_on || part->offset == 0) {
    arriving = {};
    if (part && part->offset == 0) begin(arriving, folder, *part, now);
    if (arriving.client == nullptr) return;
  }
  arriving.bytes.insert(arriving.bytes.end(), part->bytes.begin(), part->bytes.end());
  if (arriving.bytes.size() < entry.object_size + entry.metadata_size) return;
  auto write = [cache = arriving.client->cache, whole = std::exchange(arriving, {})] {
    const auto all = std::span(whole.bytes);
    cache->store(whole.entry.key, all.first(whole.entry.object_size), all.subspan(whole.entry.object_size));
  };
  if (const Status status = writer_.post(std::move(write)); !status.ok())
    warn_(fmt::format("compiled code is not kept: {}", status.error().message()));
}

}  // namespace dhpvm::offload
