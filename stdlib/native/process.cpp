// SPDX-License-Identifier: Apache-2.0
// Natives of module process.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"

namespace dhpvm::stdlib {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Bounds the time until a deadline, an interrupt or the end of the process is noticed. Waits begin shorter.
constexpr int kLongestNapMilliseconds = 10;
// The exit code of a process that was ended because its time was up; others are from -64 to 255.
constexpr std::int64_t kTimedOut = std::numeric_limits<std::int64_t>::min();

// The texts of an array. Zero bytes would end them for the system.
Result<std::vector<std::string>> words_of(vm::NativeCall& call, unsigned index) {
  gc::Array& words = *array(call, index);
  DHPVM_TRY(check_elements(call, words, 0, words.length, Access::kRead));
  std::vector<std::string> copies;
  for (std::int64_t i = 0; i < words.length; ++i) {
    const auto* word = reinterpret_cast<gc::String* const*>(words.data)[i];
    if (word == nullptr) return error(ErrorCode::kNullReference, "word {} of the command is null", i);
    if (word->view().find('\0') != std::string_view::npos)
      return error(ErrorCode::kIoTrap, "word {} of the command has a zero byte inside", i);
    copies.emplace_back(word->view());
  }
  return copies;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The environment of this process with these variables, "NAME=value", in place of those of the same name.
std::vector<char*> environment_with(std::vector<std::string>& variables) {
  std::vector<char*> all = pointers_to(variables);
  all.pop_back();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name(*entry, std::strcspn(*entry, "=") + 1);
    const auto is_set = [&](const std::string& variable) { return variable.starts_with(name); };
    if (std::none_of(variables.begin(), variables.end(), is_set)) all.push_back(*entry);
  }
  all.push_back(nullptr);
  return all;
}

// A descriptor above those of standard input, output and error, which are replaced one after the other.
Result<Descriptor> moved_up(int number) {
  Descriptor moved(number < 0 ? -1 : ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const int reason = errno;
  if (number >= 0) ::close(number);
  if (moved.number() >= 0) return moved;
  return error(ErrorCode::kIoTrap, "a process cannot be connected: {}", std::strerror(reason));
}

// Standard input of a process: a file in memory, so that no thread has to write while the process reads.
Result<Descriptor> input_file(const vm::NativeCall& call, std::string_view content) {
  DHPVM_ASSIGN(Descriptor file, moved_up(::memfd_create("dhpvm-input", MFD_CLOEXEC)));
  DHPVM_TRY(write_all(file.number(), content, "the input of a process", stop_check(call)));
  ::lseek(file.number(), 0, SEEK_SET);
  return file;
}

// The output of a process, through a pipe.
class Output {
 public:
  // The end for the process.
  Result<Descriptor> open() {
    std::array<int, 2> ends{-1, -1};
    const bool made = ::pipe2(ends.data(), O_CLOEXEC) == 0;
    DHPVM_ASSIGN(Descriptor read_end, moved_up(made ? ends[0] : -1));
    ::fcntl(read_end.number(), F_SETFL, O_NONBLOCK);
    end_.emplace(std::move(read_end));
    return moved_up(ends[1]);
  }
  pollfd interest() const { return {end_ ? end_->number() : -1, POLLIN, 0}; }
  // Takes in what has been written.
  void drain(std::size_t most) {
    std::array<char, 65536> part;
    while (end_ && text_.size() <= most) {
      const ssize_t n = ::read(end_->number(), part.data(), part.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        end_.reset();
        return;
      }
      text_.append(part.data(), static_cast<std::size_t>(n));
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::optional<Descriptor> end_;
  std::string text_;
};

// A process that was started. It is killed unless its end was waited for.
class Child {
 public:
  // With `is_group`, it and what it starts are a group of processes of their own, and are killed together.
  Child(pid_t pid, bool is_group) : pid_(pid), is_group_(is_group) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (code_) return;
    ::kill(is_group_ ? -pid_ : pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  // The exit code once it has ended, -N after signal N.
  Result<std::optional<std::int64_t>> ended() {
    int status = 0;
    const pid_t found = ::waitpid(pid_, &status, WNOHANG);
    if (found == 0 || (found < 0 && errno == EINTR)) return std::optional<std::int64_t>();
    code_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    if (found == pid_) return code_;
    return error(ErrorCode::kIoTrap,
                 "the exit code of a process is lost: the application waits for all of its processes itself");
  }

 private:
  pid_t pid_;
  bool is_group_;
  std::optional<std::int64_t> code_;
};

// The arguments of posix_spawn(), with their clean-up.
struct SpawnOptions {
  SpawnOptions() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;
  ~SpawnOptions() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

// Starts the command. `connections` become its standard input, output and error; without them it has those of this
// process. A group of its own cannot read from the terminal, for a password, nor is it interrupted by it.
Result<pid_t> start(std::vector<std::string>& command, std::vector<std::string>& variables,
                    const std::string& folder, const std::vector<Descriptor>& connections, bool is_group) {
  SpawnOptions options;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    posix_spawn_file_actions_adddup2(&options.files, connections[i].number(), static_cast<int>(i));
  }
  posix_spawn_file_actions_addclosefrom_np(&options.files, STDERR_FILENO + 1);
  if (!folder.empty()) {
    struct stat info{};
    if (::stat(folder.c_str(), &info) != 0) return io_error("find", folder);
    posix_spawn_file_actions_addchdir_np(&options.files, folder.c_str());
  }
  // Threads of this process block signals, and applications ignore some.
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&options.attributes, &none);
  posix_spawnattr_setsigdefault(&options.attributes, &all);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (is_group) flags |= POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(&options.attributes, flags);
  pid_t pid = 0;
  errno = posix_spawnp(&pid, command.front().c_str(), &options.files, &options.attributes,
                       pointers_to(command).data(), environment_with(variables).data());
  return errno == 0 ? Result<pid_t>(pid) : io_error("run", command.front());
}

// Waits for the end of the process, and takes in what it writes until then.
Result<std::int64_t> wait_for_end(vm::NativeCall& call, Child& child, std::array<Output, 2>& outputs,
                                  double timeout, const std::string& name) {
  const auto begin = Clock::now();
  const std::size_t most = most_text(call);
  for (int nap = 1;; nap = std::min(nap * 2, kLongestNapMilliseconds)) {
    std::array<pollfd, 2> ends{outputs[0].interest(), outputs[1].interest()};
    if (::poll(ends.data(), ends.size(), nap) > 0) nap = 1;
    // Before the last look at its output, so that nothing is missed.
    DHPVM_ASSIGN(const auto code, child.ended());
    for (Output& output : outputs) {
      output.drain(most);
      if (output.text().size() > most)
        return error(ErrorCode::kIoTrap, "'{}' has written more than {} bytes, and was ended", name, most);
    }
    if (code) return *code;
    DHPVM_TRY(call.isolate.poll());
    const auto elapsed = Clock::now() - begin;
    if (timeout > 0 && Seconds(elapsed).count() > timeout) return kTimedOut;
    call.isolate.rest({gc::IdleWatch::WaitKind::kSoFar, elapsed});
  }
}

}  // namespace

Status process_run(vm::NativeCall& call) {
  if (const auto& rights = NativeState::of(call).rights; rights != nullptr) {
    DHPVM_TRY(rights->check_run());
  }
  DHPVM_ASSIGN(std::vector<std::string> command, words_of(call, 0));
  DHPVM_ASSIGN(std::vector<std::string> variables, words_of(call, 1));
  if (command.empty() || command.front().empty()) return error(ErrorCode::kIoTrap, "the command is empty");
  std::string folder;
  if (!text(call, 3).empty()) {
    DHPVM_ASSIGN(folder, path_argument(call, 3, PathUse::kRead));
  }
  const bool captures = (call.p[0] & 1) != 0;
  // The program's earlier output must appear before the child's.
  DHPVM_TRY(NativeState::of(call).console.flush());

  std::array<Output, 2> outputs;
  std::vector<Descriptor> connections;
  if (captures) {
    DHPVM_ASSIGN(Descriptor input, input_file(call, text(call, 2)));
    connections.push_back(std::move(input));
    for (Output& output : outputs) {
      DHPVM_ASSIGN(Descriptor end, output.open());
      connections.push_back(std::move(end));
    }
  }
  const double timeout = number(call, 1);
  const bool is_group = timeout > 0;
  DHPVM_ASSIGN(const pid_t pid, start(command, variables, folder, connections, is_group));
  std::int64_t code = 0;
  {
    Child child(pid, is_group);
    // A pipe ends when no process has its other end any more.
    connections.clear();
    DHPVM_ASSIGN(code, wait_for_end(call, child, outputs, timeout, command.front()));
  }
  DHPVM_TRY(return_text(call, outputs[1].text()));
  std::swap(call.r[0], call.r[1]);
  DHPVM_TRY(return_text(call, outputs[0].text()));
  return_integer(call, 0, code);
  return {};
}

}  // namespace dhpvm::stdlib
