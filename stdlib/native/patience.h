// SPDX-License-Identifier: Apache-2.0
// Waiting, and working for long, in such a way that the program can be stopped meanwhile.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dhpvm/result.h"

namespace dhpvm::stdlib {

// An error once the program has to stop; an empty function never stops it.
using StopCheck = std::function<Status()>;

// A check for clean-up after the program has ended: gives the other end 50 ms.
StopCheck briefly();

enum class Readiness : short { kRead, kWrite };

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};
// open(2), closed in processes that the host starts. For writing, waits until a pipe has a reader. An error says
// "cannot <what> '<path>'" and the system's reason.
Result<Descriptor> open_file(const std::string& path, int flags, std::string_view what,
                             const StopCheck& check);

// Waits until the descriptor is ready or at its end. Fails with the error of `check`.
Status wait_for(int descriptor, Readiness readiness, const StopCheck& check);
// read(2), also for descriptors that block: pipes, terminals, sockets. A negative result is in errno.
Result<ssize_t> read_some(int descriptor, std::span<char> into, const StopCheck& check);
// Writes to a file descriptor to the last byte. `name` is for errors: "cannot write to standard output: ...".
Status write_all(int descriptor, std::string_view text, std::string_view name, const StopCheck& check);

// Calls work(begin, end) for consecutive parts of [0, size), each a matter of few milliseconds, until one of
// them fails.
template <typename Check, typename Work>
Status in_parts(std::size_t size, const Check& check, Work&& work) {
  constexpr std::size_t kPart = std::size_t{8} << 20;
  for (std::size_t begin = 0; begin < size; begin += kPart) {
    if (begin != 0) DHPVM_TRY(check());
    DHPVM_TRY(work(begin, std::min(begin + kPart, size)));
  }
  return {};
}

}  // namespace dhpvm::stdlib
