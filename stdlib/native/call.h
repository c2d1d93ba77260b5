// SPDX-License-Identifier: Apache-2.0
// Every native function needs this: its arguments as C++ values, and its results as the program's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/short_bytes.h"
#include "gc/object.h"
#include "stdlib/native/patience.h"
#include "stdlib/native/state.h"
#include "vm/isolate.h"
#include "vm/native.h"

namespace dhpvm::stdlib {

// The text of a reference argument that is known to be a str and not null. Valid while it stands
// in the window.
inline std::string_view text(const vm::NativeCall& call, unsigned index) {
  return reinterpret_cast<const gc::String*>(call.r[index])->view();
}
inline gc::Array* array(const vm::NativeCall& call, unsigned index) {
  return reinterpret_cast<gc::Array*>(call.r[index]);
}
inline std::int64_t integer(const vm::NativeCall& call, unsigned index) {
  return static_cast<std::int64_t>(call.p[index]);
}
inline double number(const vm::NativeCall& call, unsigned index) {
  return std::bit_cast<double>(call.p[index]);
}

inline void return_bool(vm::NativeCall& call, unsigned index, bool value) { call.p[index] = value ? 1 : 0; }
inline void return_integer(vm::NativeCall& call, unsigned index, std::int64_t value) {
  call.p[index] = static_cast<std::uint64_t>(value);
}
inline void return_number(vm::NativeCall& call, unsigned index, double value) {
  call.p[index] = std::bit_cast<std::uint64_t>(value);
}
// A check for long work and waits: an error once the program has to stop.
inline auto stop_check(const vm::NativeCall& call) {
  return [&isolate = call.isolate] { return isolate.poll(); };
}
// Polls the isolate every kEvery bytes of work.
class Poller {
 public:
  explicit Poller(const vm::NativeCall& call) : isolate_(call.isolate) {}
  // Counts `bytes` as done; an error once the program has to stop.
  Status advance(std::size_t bytes) {
    left_ -= std::min(left_, bytes);
    if (left_ != 0) [[likely]]
      return {};
    left_ = kEvery;
    return isolate_.poll();
  }

 private:
  static constexpr std::size_t kEvery = std::size_t{8} << 20;
  vm::Isolate& isolate_;
  std::size_t left_ = kEvery;
};
// Copies without overlap; in parts, where there is much.
inline Status copy_text(const vm::NativeCall& call, char* to, std::string_view from) {
  return in_parts(from.size(), stop_check(call), [&](std::size_t begin, std::size_t end) -> Status {
    std::memcpy(to + begin, from.data() + begin, end - begin);
    return {};
  });
}
// A new str. `value` may be the text of an argument: it stays where it is until the window is written to.
inline Result<gc::String*> new_text(vm::NativeCall& call, std::string_view value) {
  constexpr std::size_t kAtOnce = std::size_t{8} << 20;
  if (value.size() <= kAtOnce) return call.isolate.new_string(value);
  DHPVM_ASSIGN(gc::String* const string, call.isolate.new_string_of(value.size()));
  DHPVM_TRY(copy_text(call, string->bytes(), value));
  return string;
}
// The same as the first reference result.
inline Status return_text(vm::NativeCall& call, std::string_view value) {
  DHPVM_ASSIGN(gc::String* const string, new_text(call, value));
  call.r[0] = reinterpret_cast<gc::Ref>(string);
  return {};
}
// The same in a fast path: false if there is no open memory for the text.
inline bool return_short_text(vm::NativeCall& call, std::string_view value) {
  gc::String* const string = call.isolate.heap().allocate_short_string(bytecode::kStringType, value.size());
  if (string == nullptr) return false;
  copy_short(string->bytes(), value.data(), value.size());
  call.r[0] = reinterpret_cast<gc::Ref>(string);
  return true;
}
// A new [u8].
Status return_bytes(vm::NativeCall& call, std::string_view value);
inline Status return_null(vm::NativeCall& call) {
  call.r[0] = nullptr;
  return {};
}

// The most bytes of a text that a fast path reads or makes: most texts are shorter.
constexpr std::size_t kShortText = 256;

// The most bytes of a str: its size has 32 bits.
constexpr std::size_t kMaxTextSize = 0xffffffffu;
Error too_long();
// The most bytes that a native may hold while it makes a str, and an array of bytes, of them.
inline std::size_t most_text(const vm::NativeCall& call) {
  const std::size_t limit = call.isolate.options().limits.heap_bytes;
  return limit == 0 ? kMaxTextSize : std::min(kMaxTextSize, limit);
}
inline std::size_t most_bytes(const vm::NativeCall& call) {
  const std::size_t limit = call.isolate.options().limits.off_heap_bytes;
  return limit == 0 ? std::numeric_limits<std::size_t>::max() : limit;
}

// kIndexOutOfRange unless 0 <= from <= to <= size.
Status check_part(std::int64_t from, std::int64_t to, std::int64_t size);

enum class Access : std::uint8_t { kRead, kWrite };
// Elements at..at+count of an array of bytes, fetched from a device if need be. kIndexOutOfRange outside it; the trap
// of an access in the program if the elements are closed, read-only or no longer lent.
Result<std::span<char>> bytes(vm::NativeCall& call, unsigned index, std::int64_t at, std::int64_t count,
                              Access access);
// The same check for any array.
Status check_elements(vm::NativeCall& call, gc::Array& array, std::int64_t at, std::int64_t count,
                      Access access);

// "cannot open 'x.txt': No such file or directory", with the reason from errno.
Error io_error(std::string_view what, std::string_view path);
Error io_error(std::string_view what, std::string_view path, const std::error_code& reason);
// A path in the program's text, for the use that the call makes of it. Where the program has limited rights, it comes
// without links, and kPermissionDenied says that it is not within them. kIoTrap if it has a zero byte inside, which the
// system would cut off.
Result<std::string> path_argument(vm::NativeCall& call, unsigned index, PathUse use);
// The same check of a path that no argument names.
Result<std::string> permitted_path(vm::NativeCall& call, std::string path, PathUse use);

}  // namespace dhpvm::stdlib
