// SPDX-License-Identifier: Apache-2.0
// Counts what a session has done, for others to look at while it goes on: written by the session, read by its worker,
// in memory that both processes share. Neither waits for the other, and even the figures of a session that does not
// respond can be read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "dhpvm/result.h"

namespace dhpvm::offload {

// For any thread. The worker takes nothing of it for granted but that it is numbers and letters.
struct SessionFigures {
  static constexpr std::size_t kLongestName = 64;

  std::atomic<std::uint64_t> jobs = 0;
  std::atomic<std::uint64_t> bytes_in = 0;
  std::atomic<std::uint64_t> bytes_out = 0;
  std::atomic<std::uint64_t> memory_bytes = 0;  // that it has now, on all devices together
  std::atomic<std::uint64_t> devices = 0;       // that it has used: a bit for each

  // The program's own name for itself, cut to kLongestName; set once.
  void set_program(std::string_view name);
  // Printable; empty before.
  std::string program() const;

 private:
  std::array<std::atomic<char>, kLongestName> program_{};
};

// Figures in memory that can be handed to another process.
class SharedFigures {
 public:
  static Result<SharedFigures> create();
  // Those of the process at the other end, which has created them.
  static Result<SharedFigures> adopt(Descriptor memory);
  int descriptor() const { return memory_.get(); }
  // Lives as long as there is a reference to it.
  const std::shared_ptr<SessionFigures>& figures() const { return figures_; }

 private:
  static Result<SharedFigures> map(Descriptor memory);
  Descriptor memory_;
  std::shared_ptr<SessionFigures> figures_;
};

}  // namespace dhpvm::offload
