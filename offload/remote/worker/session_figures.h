// SPDX-License-Identifier: Apache-2.0
// Counts what a session has done. The session writes the figures and its worker reads them, in memory that both
// processes share. Neither waits for the other, and the figures can be read even if the session does not respond.
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

// For any thread. The worker relies only on them being numbers and letters.
struct SessionFigures {
  static constexpr std::size_t kLongestName = 64;

  std::atomic<std::uint64_t> jobs = 0;
  std::atomic<std::uint64_t> bytes_in = 0;
  std::atomic<std::uint64_t> bytes_out = 0;
  std::atomic<std::uint64_t> memory_bytes = 0;  // on all devices together, now
  std::atomic<std::uint64_t> devices = 0;       // that it has used: one bit for each

  // The name that the program gives itself, cut to kLongestName; set once.
  void set_program(std::string_view name);
  // Printable; empty until it was set.
  std::string program() const;

 private:
  std::array<std::atomic<char>, kLongestName> program_{};
};

// Figures in memory that can be shared with another process.
class SharedFigures {
 public:
  static Result<SharedFigures> create();
  // The figures of the process at the other end, which has created them.
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
