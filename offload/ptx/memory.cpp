// SPDX-License-Identifier: Apache-2.0
#include "offload/ptx/memory.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace dhpvm::ptx {
namespace {

constexpr std::align_val_t kAlignment{512};
constexpr int kPoison = 0xcb;

bool conflicts(const Trace& earlier, std::uint8_t bytes, bool strong, const Moment& now) {
  if (earlier.phase < now.launch || (earlier.bytes & bytes) == 0 || (earlier.strong && strong)) return false;
  if (earlier.phase < now.block) return true;
  return earlier.phase == now.phase && (earlier.many || earlier.thread != now.thread);
}

Conflict conflict_with(const Trace& earlier, const Moment& now, bool was_write) {
  return {earlier.line, earlier.thread, earlier.phase < now.block, was_write};
}

Trace trace_of(std::uint8_t bytes, bool strong, const Moment& now) {
  return {now.phase, now.line, static_cast<std::uint16_t>(now.thread), bytes, strong, false};
}

// Keeps what a later write may race with: an earlier block's read, and that several threads read.
void note_read(Trace& read, std::uint8_t bytes, bool strong, const Moment& now) {
  if (read.phase >= now.launch && read.phase < now.block && !read.strong && (read.bytes & bytes) == bytes)
    return;
  if (read.phase == now.phase && !read.strong) {
    read.many |= read.thread != now.thread;
    read.bytes |= bytes;
    return;
  }
  read = trace_of(bytes, strong, now);
}

}  // namespace

std::shared_ptr<Allocation> Allocation::create(std::size_t bytes) {
  std::shared_ptr<Allocation> made(new (std::nothrow) Allocation(bytes));
  if (made == nullptr) return nullptr;
  made->bytes_ = static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow));
  // Pages that nobody touches cost nothing.
  made->written_.reset(static_cast<std::uint8_t*>(std::calloc(bytes, 1)));
  made->cells_.reset(static_cast<Cell*>(std::calloc(bytes / 4 + 1, sizeof(Cell))));
  if (made->bytes_ == nullptr || made->written_ == nullptr || made->cells_ == nullptr) return nullptr;
  std::memset(made->bytes_, kPoison, bytes);
  return made;
}

Allocation::~Allocation() { ::operator delete(bytes_, kAlignment); }

bool Allocation::is_written(std::size_t offset, std::size_t bytes) const {
  const std::uint8_t* const marks = written_.get() + offset;
  return std::all_of(marks, marks + bytes, [](std::uint8_t mark) { return mark != 0; });
}

void Allocation::mark_written(std::size_t offset, std::size_t bytes) {
  std::memset(written_.get() + offset, 1, bytes);
}

void Allocation::poison() {
  std::memset(written_.get(), 0, size_);
  std::memset(bytes_, kPoison, size_);
  std::fill_n(cells_.get(), size_ / 4 + 1, Cell());
}

void Allocation::copy_marks(std::size_t offset, const Allocation& from, std::size_t from_offset,
                            std::size_t bytes) {
  std::memmove(written_.get() + offset, from.written_.get() + from_offset, bytes);
}

std::optional<Conflict> Allocation::note(std::size_t offset, std::size_t bytes, AccessKind kind,
                                         const Moment& now) {
  const bool writes = kind == AccessKind::kWrite || kind == AccessKind::kStrongWrite;
  const bool strong = kind == AccessKind::kStrongRead || kind == AccessKind::kStrongWrite;
  for (std::size_t at = offset; at < offset + bytes;) {
    const std::size_t in_cell = at % 4;
    const std::size_t count = std::min(4 - in_cell, offset + bytes - at);
    const auto mask = static_cast<std::uint8_t>(((1U << count) - 1) << in_cell);
    Cell& cell = cells_.get()[at / 4];
    if (conflicts(cell.write, mask, strong, now)) return conflict_with(cell.write, now, true);
    if (writes) {
      if (conflicts(cell.read, mask, strong, now)) return conflict_with(cell.read, now, false);
      cell.write = trace_of(mask, strong, now);
    } else {
      note_read(cell.read, mask, strong, now);
    }
    at += count;
  }
  return std::nullopt;
}

MemoryMap::MemoryMap(std::vector<std::shared_ptr<Allocation>> allocations)
    : allocations_(std::move(allocations)) {
  std::ranges::sort(allocations_, {}, &Allocation::address);
}

Allocation* MemoryMap::find(std::uint64_t address) {
  if (latest_ != nullptr && latest_->contains(address, 1)) return latest_;
  auto found = std::ranges::upper_bound(allocations_, address, {}, &Allocation::address);
  if (found == allocations_.begin()) return nullptr;
  latest_ = std::prev(found)->get();
  return latest_;
}

}  // namespace dhpvm::ptx
