// SPDX-License-Identifier: Apache-2.0
// The standard streams of one isolate. By default the process's own; an embedding application may put
// functions in their place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dhpvm/result.h"
#include "stdlib/native/patience.h"

namespace dhpvm::stdlib {

// Writes all of the text, or returns the error.
using Writer = std::function<Status(std::string_view)>;
// Fills the front of the buffer and returns the number of bytes; 0 is the end of the stream.
using Reader = std::function<Result<std::size_t>(std::span<char>)>;

class Console {
 public:
  // Whether an empty input function stands for the process's standard input, or for one that may not be read.
  enum class HostInput : std::uint8_t { kOpen, kDenied };
  // An empty function stands for the process's stream.
  Console(Writer output, Writer error, Reader input, HostInput host_input);

  // Ends waits for the process's streams with the check's error. Functions of the host may wait as long as they like.
  void set_stop_check(StopCheck check) { check_ = std::move(check); }
  // Called a few times a second while the program waits for the process's input, with how long it has waited.
  void set_rest(std::function<void(std::chrono::nanoseconds)> rest) { rest_ = std::move(rest); }

  // Buffered; kIo when the stream refuses. Not a trap: a program cannot help a closed pipe or a full disk,
  // and its user must see the failure as that of a tool.
  Status write(std::string_view text);
  // Flushes the output first, so that the two appear in order where they go to the same place.
  Status write_error(std::string_view text);
  // Flushes after the program was stopped: waits at most 50 ms for the reader of the output.
  Status flush_briefly();
  // Nothing to do for an empty buffer: cheap enough for the end of each call from the host.
  Status flush() { return buffer_.empty() ? Status() : flush_buffer(); }
  bool has_output() const { return !buffer_.empty(); }
  // Whether standard input (0), output (1) or error (2) is the process's and a terminal.
  bool is_terminal(std::int64_t stream) const;
  // The first failed write, reported once. The machine turns errors of natives into traps; the caller of the program
  // gets the cause here.
  bool has_failed() const { return failure_.has_value(); }
  Error take_failure() { return *std::exchange(failure_, std::nullopt); }

  // The next line without its line end. False at the end of the stream. kOutOfMemory for more than `most` bytes.
  Result<bool> read_line(std::string& line, std::size_t most);
  // The rest of the stream. kOutOfMemory for more than `most` bytes.
  Result<std::string> read_rest(std::size_t most);

 private:
  Status flush_buffer();
  Status put(std::string_view text);
  Result<bool> fill(std::size_t most);  // reads more input; false at its end
  Result<std::size_t> read_process_input(std::span<char> into) const;

  static constexpr std::size_t kBufferSize = 16 * 1024;
  Writer output_, error_;
  Reader input_;
  StopCheck check_;
  std::function<void(std::chrono::nanoseconds)> rest_;
  std::optional<bool> flush_each_line_;  // standard output is a terminal: asked when a line has been written
  std::string buffer_;
  std::optional<Error> failure_;
  std::string pending_;           // buffered input
  std::size_t pending_from_ = 0;  // the program has read the bytes before this one
};

}  // namespace dhpvm::stdlib
