// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomic updates.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "offload/ptx/lane_values.h"

namespace dhpvm::ptx {
namespace {

std::uint64_t address_of(Warp& warp, const Op& op, unsigned lane) {
  const auto offset = static_cast<std::uint64_t>(op.offset);
  if (op.has(FlagBit::kFrame)) return warp.local_base() + offset;
  const std::uint64_t address = warp.from(op.from[0]).v[lane] + offset;
  return op.has(FlagBit::kShortAddress) ? address & 0xffffffff : address;
}

std::uint64_t loaded(const std::byte* memory, Type type, unsigned width) {
  std::uint64_t bits = 0;
  const unsigned size = size_of(type);
  std::memcpy(&bits, memory, size);
  if (is_signed(type) && size < width) {
    const unsigned shift = 64 - size * 8;
    bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << shift) >> shift);
    if (width < 8) bits &= (std::uint64_t{1} << width * 8) - 1;
  }
  return bits;
}

void load(Warp& warp, const Op& op, LaneMask mask) {
  const unsigned size = size_of(op.type);
  const AccessKind kind = op.has(FlagBit::kStrong) ? AccessKind::kStrongRead : AccessKind::kRead;
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    // The access is aligned as a whole, so that the elements are contiguous.
    const std::byte* const memory =
        warp.access(op, lane, address_of(warp, op, lane), std::size_t{size} * op.count, kind);
    if (memory == nullptr) return;
    for (unsigned i = 0; i < op.count; ++i) {
      if (op.to[i] != kNoSlot)
        warp.to(op.to[i]).v[lane] = loaded(memory + std::size_t{i} * size, op.type, op.width);
    }
  }
}

// Loads from the launch's arguments, which all threads share.
void load_parameter(Warp& warp, const Op& op, LaneMask mask) {
  const unsigned size = size_of(op.type);
  const std::vector<std::byte>& parameters = *warp.launch().parameters;
  const auto offset = static_cast<std::uint64_t>(op.offset);
  if (offset > parameters.size() || std::size_t{size} * op.count > parameters.size() - offset)
    return warp.fail(FaultKind::kAddress, op, static_cast<unsigned>(std::countr_zero(mask)),
                     "reads behind the parameters of its kernel");
  for (unsigned i = 0; i < op.count; ++i) {
    if (op.to[i] == kNoSlot) continue;
    const std::uint64_t bits = loaded(parameters.data() + offset + std::size_t{i} * size, op.type, op.width);
    Lanes& to = warp.to(op.to[i]);
    each_lane(mask, [&](unsigned l) { to.v[l] = bits; });
  }
}

void store(Warp& warp, const Op& op, LaneMask mask) {
  const unsigned size = size_of(op.type);
  const AccessKind kind = op.has(FlagBit::kStrong) ? AccessKind::kStrongWrite : AccessKind::kWrite;
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    std::byte* const memory =
        warp.access(op, lane, address_of(warp, op, lane), std::size_t{size} * op.count, kind);
    if (memory == nullptr) return;
    for (unsigned i = 0; i < op.count; ++i)
      std::memcpy(memory + std::size_t{i} * size, &warp.from(op.from[1 + i]).v[lane], size);
  }
}

// Launches of several streams may update one element at once.
std::mutex& updates() {
  static std::mutex the_mutex;
  return the_mutex;
}

template <typename T>
T updated(Mode mode, T old, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    return mode == Mode::kAdd ? old + b : b;
  } else {
    using U = std::make_unsigned_t<T>;
    switch (mode) {
      case Mode::kAdd: return static_cast<T>(U(old) + U(b));
      case Mode::kMin: return std::min(old, b);
      case Mode::kMax: return std::max(old, b);
      case Mode::kAnd: return static_cast<T>(old & b);
      case Mode::kOr: return static_cast<T>(old | b);
      case Mode::kXor: return static_cast<T>(old ^ b);
      case Mode::kInc: return old >= b ? T(0) : static_cast<T>(old + 1);
      case Mode::kDec: return old == 0 || old > b ? b : static_cast<T>(old - 1);
      case Mode::kCas: return old == b ? c : old;
      default: return b;
    }
  }
}

template <typename T>
void update(Warp& warp, const Op& op, LaneMask mask) {
  const std::lock_guard lock(updates());
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t address = address_of(warp, op, lane);
    std::byte* const memory = warp.access(op, lane, address, sizeof(T), AccessKind::kStrongRead);
    if (memory == nullptr || warp.access(op, lane, address, sizeof(T), AccessKind::kStrongWrite) == nullptr)
      return;
    T old = 0;
    std::memcpy(&old, memory, sizeof(T));
    const T next = updated(mode_of(op), old, value_of<T>(warp.from(op.from[1]).v[lane]),
                           value_of<T>(warp.from(op.from[2]).v[lane]));
    std::memcpy(memory, &next, sizeof(T));
    if (op.to[0] != kNoSlot) warp.to(op.to[0]).v[lane] = bits_of<T>(old);
  }
}

// A sum of one or two numbers of 16 bits.
void update_half(Warp& warp, const Op& op, LaneMask mask) {
  const std::lock_guard lock(updates());
  const unsigned size = size_of(op.type);
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t address = address_of(warp, op, lane);
    std::byte* const memory = warp.access(op, lane, address, size, AccessKind::kStrongRead);
    if (memory == nullptr || warp.access(op, lane, address, size, AccessKind::kStrongWrite) == nullptr)
      return;
    std::uint64_t old = 0;
    std::memcpy(&old, memory, size);
    const std::uint64_t next = half_sum(op.type, old, warp.from(op.from[1]).v[lane]);
    std::memcpy(memory, &next, size);
    if (op.to[0] != kNoSlot) warp.to(op.to[0]).v[lane] = old;
  }
}

}  // namespace

Execute select_memory(std::string_view name, const Op& op) {
  if (name == "ld" || name == "ldu") return op.space == Space::kParam ? load_parameter : load;
  if (name == "st") return op.space == Space::kParam || op.space == Space::kConst ? nullptr : store;
  const Mode mode = mode_of(op);
  if (mode < Mode::kAnd || mode > Mode::kCas) return nullptr;
  if (is_half(op.type)) return mode == Mode::kAdd ? update_half : nullptr;
  return with_type(op.type, [&](auto example) -> Execute {
    using T = decltype(example);
    if (sizeof(T) < 4 && (sizeof(T) == 1 || mode != Mode::kCas)) return nullptr;
    if (std::is_floating_point_v<T> && mode != Mode::kAdd) return nullptr;
    return update<T>;
  });
}

}  // namespace dhpvm::ptx
