// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/console.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace dhpvm::stdlib {

Status write_all(int descriptor, std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return error(ErrorCode::kIo, "cannot write to {}: {}", name, std::strerror(errno));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Console::Console(Writer output, Writer error_output, Reader input)
    : output_(std::move(output)),
      error_(std::move(error_output)),
      input_(std::move(input)),
      flush_each_line_(!output_ && ::isatty(STDOUT_FILENO) == 1) {
  if (!output_)
    output_ = [](std::string_view text) { return write_all(STDOUT_FILENO, text, "standard output"); };
  if (!error_)
    error_ = [](std::string_view text) { return write_all(STDERR_FILENO, text, "standard error"); };
  if (!input_) {
    input_ = [](std::span<char> into) -> Result<std::size_t> {
      for (;;) {
        const ssize_t count = ::read(STDIN_FILENO, into.data(), into.size());
        if (count >= 0) return static_cast<std::size_t>(count);
        if (errno != EINTR)
          return error(ErrorCode::kIoTrap, "cannot read standard input: {}", std::strerror(errno));
      }
    };
  }
}

Status Console::write(std::string_view text) {
  // A text larger than the buffer is not worth a copy.
  if (text.size() >= kBufferSize) {
    DHPVM_TRY(flush());
    return put(text);
  }
  buffer_ += text;
  if (buffer_.size() >= kBufferSize) return flush_buffer();
  if (flush_each_line_ && text.find('\n') != text.npos) return flush_buffer();
  return {};
}

Status Console::put(std::string_view text) {
  Status status = output_(text);
  if (!status.ok() && !failure_) failure_ = status.error();
  return status;
}

Status Console::flush_buffer() {
  // Emptied in any case: what could not be written now will not be written by trying again.
  Status status = put(buffer_);
  buffer_.clear();
  return status;
}

Status Console::write_error(std::string_view text) {
  DHPVM_TRY(flush());
  return error_(text);
}

Result<bool> Console::fill() {
  pending_.erase(0, pending_from_);
  pending_from_ = 0;
  const std::size_t before = pending_.size();
  pending_.resize(before + kBufferSize);
  Result<std::size_t> count = input_({pending_.data() + before, kBufferSize});
  pending_.resize(before + (count.ok() ? std::min(*count, kBufferSize) : 0));
  if (!count.ok()) return std::move(count).error();
  return *count != 0;
}

Result<bool> Console::read_line(std::string& line) {
  DHPVM_TRY(flush());
  std::size_t searched = 0;
  for (;;) {
    const std::string_view available = std::string_view(pending_).substr(pending_from_);
    const std::size_t end = available.find('\n', searched);
    if (end != available.npos) {
      line = available.substr(0, end);
      pending_from_ += end + 1;
      break;
    }
    searched = available.size();
    DHPVM_ASSIGN(const bool more, fill());
    if (!more) {
      line = std::exchange(pending_, {}).substr(pending_from_);
      pending_from_ = 0;
      if (line.empty()) return false;
      break;
    }
  }
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

Result<std::string> Console::read_rest() {
  DHPVM_TRY(flush());
  for (;;) {
    DHPVM_ASSIGN(const bool more, fill());
    if (!more) break;
  }
  std::string rest = std::exchange(pending_, {}).substr(pending_from_);
  pending_from_ = 0;
  return rest;
}

}  // namespace dhpvm::stdlib
