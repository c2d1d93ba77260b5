// SPDX-License-Identifier: Apache-2.0
#include "offload/ptx/memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

namespace dhpvm::ptx {
namespace {

constexpr std::align_val_t kAlignment{512};
constexpr int kPoison = 0xcb;

// The 16 bits of each byte of the mask.
constexpr std::uint64_t spread(std::uint8_t bytes) {
  std::uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) result |= (bytes >> i & 1) != 0 ? std::uint64_t{0xffff} << (16 * i) : 0;
  return result;
}
constexpr std::array<std::uint64_t, 16> kSpread = [] {
  std::array<std::uint64_t, 16> table{};
  for (std::uint8_t bytes = 0; bytes < 16; ++bytes) table[bytes] = spread(bytes);
  return table;
}();

std::uint64_t in_each_byte(std::uint32_t thread) {
  return std::uint64_t{thread & 0xffff} * 0x0001000100010001;
}

// The 16 bits of each byte that another thread accessed.
std::uint64_t of_others(const Trace& earlier, std::uint8_t bytes, const Moment& now) {
  return (earlier.threads ^ in_each_byte(now.thread)) & kSpread[bytes];
}

bool conflicts(const Trace& earlier, std::uint8_t bytes, bool strong, const Moment& now) {
  if (earlier.phase < now.launch) return false;
  const auto common = static_cast<std::uint8_t>(earlier.bytes & bytes & (strong ? ~earlier.strong : 0xff));
  if (common == 0) return false;
  if (earlier.phase < now.block) return true;
  return earlier.phase == now.phase && ((earlier.many & common) != 0 || of_others(earlier, common, now) != 0);
}

Conflict conflict_with(const Trace& earlier, std::uint8_t bytes, const Moment& now, bool was_write) {
  const auto common = static_cast<std::uint8_t>(earlier.bytes & bytes);
  const std::uint64_t others = of_others(earlier, common, now);
  const int byte = others != 0 ? std::countr_zero(others) / 16 : std::countr_zero(common);
  return {earlier.line, static_cast<std::uint16_t>(earlier.threads >> (16 * byte)), earlier.phase < now.block,
          was_write};
}

// Keeps other threads' writes to the other bytes in the same phase.
void note_access(Trace& trace, std::uint8_t bytes, bool strong, const Moment& now) {
  if (trace.phase != now.phase) trace = {now.phase, 0, now.line, 0, 0, 0};
  const std::uint64_t mask = kSpread[bytes];
  trace.threads = (trace.threads & ~mask) | (in_each_byte(now.thread) & mask);
  trace.line = now.line;
  trace.bytes |= bytes;
  trace.strong = static_cast<std::uint8_t>(strong ? trace.strong | bytes : trace.strong & ~bytes);
  trace.many &= static_cast<std::uint8_t>(~bytes);
}

// Keeps the read that a later write may race with: one of an earlier block, and whether several threads read.
void note_read(Trace& read, std::uint8_t bytes, bool strong, const Moment& now) {
  if (read.phase >= now.launch && read.phase < now.block && (read.bytes & ~read.strong & bytes) == bytes)
    return;
  if (read.phase != now.phase) return note_access(read, bytes, strong, now);
  // A strong read does not replace a weak one.
  const auto known = static_cast<std::uint8_t>(read.bytes & bytes & (strong ? ~read.strong : 0xff));
  std::uint8_t many = read.many;
  for (unsigned i = 0; i < 4; ++i) {
    if ((of_others(read, static_cast<std::uint8_t>(known & 1U << i), now)) != 0)
      many |= static_cast<std::uint8_t>(1U << i);
  }
  const auto fresh = static_cast<std::uint8_t>(strong ? bytes & ~known : bytes);
  if (fresh != 0) note_access(read, fresh, strong, now);
  read.many = many;
}

}  // namespace

std::shared_ptr<Allocation> Allocation::create(std::size_t bytes) {
  std::shared_ptr<Allocation> made(new (std::nothrow) Allocation(bytes));
  if (made == nullptr) return nullptr;
  made->bytes_ = static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow));
  // calloc, because pages that are never accessed take no memory.
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
    if (conflicts(cell.write, mask, strong, now)) return conflict_with(cell.write, mask, now, true);
    if (writes) {
      if (conflicts(cell.read, mask, strong, now)) return conflict_with(cell.read, mask, now, false);
      note_access(cell.write, mask, strong, now);
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
