// SPDX-License-Identifier: Apache-2.0
// Emulated device memory. It records which bytes are initialised and, for every four bytes, the last accesses of the
// running launch, which finds races.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

namespace dhpvm::ptx {

// The time of an access. Phases are numbered over all launches: each block and each barrier begins a new one.
struct Moment {
  std::uint64_t launch = 0;  // the first phase of the launch
  std::uint64_t block = 0;   // the first phase of the block
  std::uint64_t phase = 0;   // the current phase
  std::uint32_t thread = 0;  // in its block
  std::uint32_t line = 0;    // of the instruction
};

enum class AccessKind : std::uint8_t { kRead, kWrite, kStrongRead, kStrongWrite };

// The last accesses to four bytes, each possibly by a different thread.
struct Trace {
  std::uint64_t phase = 0;
  std::uint64_t threads = 0;  // 16 bits for each byte
  std::uint32_t line = 0;
  std::uint8_t bytes = 0;   // accessed ones, a bit for each
  std::uint8_t strong = 0;  // accessed by volatile or atomic operations alone
  std::uint8_t many = 0;    // accessed by several threads of the phase
};
struct Cell {
  Trace write;
  Trace read;
};

struct Conflict {
  std::uint32_t line = 0;
  std::uint32_t thread = 0;
  bool other_block = false;
  bool was_write = false;
};

class Allocation {
 public:
  // Poisoned memory: filled with a pattern and marked as uninitialised. Null if the host's memory is exhausted.
  static std::shared_ptr<Allocation> create(std::size_t bytes);
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(bytes_); }
  std::byte* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }
  bool contains(std::uint64_t address, std::size_t bytes) const {
    return address >= this->address() && bytes <= size_ && address - this->address() <= size_ - bytes;
  }
  bool is_written(std::size_t offset, std::size_t bytes) const;
  void mark_written(std::size_t offset, std::size_t bytes);
  // Fills the memory with the pattern, marks all bytes as uninitialised and clears the traces.
  void poison();
  void copy_marks(std::size_t offset, const Allocation& from, std::size_t from_offset, std::size_t bytes);
  // Records the access and returns the earlier one that it races with, if there is one.
  std::optional<Conflict> note(std::size_t offset, std::size_t bytes, AccessKind kind, const Moment& now);

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  explicit Allocation(std::size_t bytes) : size_(bytes) {}

  std::size_t size_;
  std::byte* bytes_ = nullptr;
  std::unique_ptr<std::uint8_t, Free> written_;
  std::unique_ptr<Cell, Free> cells_;
};

// The allocations that a launch may access, by address.
class MemoryMap {
 public:
  explicit MemoryMap(std::vector<std::shared_ptr<Allocation>> allocations);
  // The allocation that contains the address, or the nearest below it; null if there is none.
  Allocation* find(std::uint64_t address);

 private:
  std::vector<std::shared_ptr<Allocation>> allocations_;
  Allocation* latest_ = nullptr;
};

}  // namespace dhpvm::ptx
