// SPDX-License-Identifier: Apache-2.0
#include "stdlib/native/console.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"

namespace dhpvm::stdlib {

namespace {

Result<std::size_t> denied(std::span<char>) {
  return Error(ErrorCode::kIoTrap,
               "this program may not read the standard input of its host, which denies it the system; the "
               "host can give "
               "it an input of its own");
}

// Callbacks of the host must not throw; an exception ends the program, not the host.
template <typename Function, typename... A>
auto guarded(const Function& function, A... arguments) -> decltype(function(arguments...)) {
  try {
    return function(arguments...);
  } catch (const std::exception& problem) {
    return error(ErrorCode::kHostException, "a function of the host for a standard stream threw: {}",
                 problem.what());
  } catch (...) {
    return Error(ErrorCode::kHostException, "a function of the host for a standard stream threw");
  }
}

}  // namespace

Console::Console(Writer output, Writer error_output, Reader input, HostInput host_input)
    : output_(std::move(output)), error_(std::move(error_output)), input_(std::move(input)) {
  if (!input_ && host_input == HostInput::kDenied) input_ = denied;
}

bool Console::is_terminal(std::int64_t stream) const {
  const bool is_process = stream == STDIN_FILENO    ? !input_
                          : stream == STDOUT_FILENO ? !output_
                                                    : stream == STDERR_FILENO && !error_;
  return is_process && ::isatty(static_cast<int>(stream)) == 1;
}

Status Console::write(std::string_view text) {
  // A text larger than the buffer is not worth a copy.
  if (text.size() >= kBufferSize) {
    DHPVM_TRY(flush());
    return put(text);
  }
  buffer_ += text;
  if (buffer_.size() >= kBufferSize) return flush_buffer();
  if (flush_each_line_ == false || text.find('\n') == text.npos) return {};
  if (!flush_each_line_) flush_each_line_ = is_terminal(STDOUT_FILENO);
  return *flush_each_line_ ? flush_buffer() : Status();
}

Status Console::put(std::string_view text) {
  Status status =
      output_ ? guarded(output_, text) : write_all(STDOUT_FILENO, text, "standard output", check_);
  if (status.ok() || failure_) return status;
  const ErrorCode code = status.error().code();
  if (code != ErrorCode::kInterrupted && code != ErrorCode::kDeadline) failure_ = status.error();
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
  return error_ ? guarded(error_, text) : write_all(STDERR_FILENO, text, "standard error", check_);
}

Status Console::flush_briefly() {
  StopCheck before = std::exchange(check_, briefly());
  Status status = flush();
  check_ = std::move(before);
  return status;
}

Result<std::size_t> Console::read_process_input(std::span<char> into) const {
  const auto begin = std::chrono::steady_clock::now();
  const StopCheck wait = [&]() -> Status {
    if (check_) DHPVM_TRY(check_());
    if (rest_) rest_(std::chrono::steady_clock::now() - begin);
    return {};
  };
  DHPVM_ASSIGN(const ssize_t count, read_some(STDIN_FILENO, into, wait));
  if (count < 0) return error(ErrorCode::kIoTrap, "cannot read standard input: {}", std::strerror(errno));
  return static_cast<std::size_t>(count);
}

Result<bool> Console::fill(std::size_t most) {
  pending_.erase(0, pending_from_);
  pending_from_ = 0;
  const std::size_t before = pending_.size();
  pending_.resize(before + kBufferSize);
  const std::span<char> into(pending_.data() + before, kBufferSize);
  Result<std::size_t> count = input_ ? guarded(input_, into) : read_process_input(into);
  pending_.resize(before + (count.ok() ? std::min(*count, kBufferSize) : 0));
  if (!count.ok()) return std::move(count).error();
  if (pending_.size() > most)
    return error(ErrorCode::kOutOfMemory, "the input is longer than the {} bytes that the program may hold",
                 most);
  return *count != 0;
}

Result<bool> Console::read_line(std::string& line, std::size_t most) {
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
    DHPVM_ASSIGN(const bool more, fill(most));
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

Result<std::string> Console::read_rest(std::size_t most) {
  DHPVM_TRY(flush());
  for (;;) {
    DHPVM_ASSIGN(const bool more, fill(most));
    if (!more) break;
  }
  std::string rest = std::exchange(pending_, {}).substr(pending_from_);
  pending_from_ = 0;
  return rest;
}

}  // namespace dhpvm::stdlib
