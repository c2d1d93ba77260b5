// SPDX-License-Identifier: Apache-2.0
// Errors as values: Error, Status and Result<T>.
//
// This header is the vocabulary of every room and of the public API. It depends only on the standard
// library. Nothing here throws; the compiler warns about a Result that is not used.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// The three families decide the exit code of `dhpvm-run`: user errors 2, traps 3, internal bugs 70.
enum class ErrorFamily : std::uint8_t { kUser, kTrap, kInternal };

// X(name, text, family, meaning). One row per code; `to_string` prints the text. Modules and the remote protocol store
// a row's number: append new rows at the end.
#define DHPVM_ERROR_CODES(X)                                                                                 \
  X(kInvalidArgument, "invalid argument", kUser, "an argument of a call or of the command line is unusable") \
  X(kNotFound, "not found", kUser, "a file, function, import or device does not exist")                      \
  X(kIo, "input/output error", kUser, "the operating system refused to read or write")                       \
  X(kMalformed, "malformed module", kUser, "the bytes are not a module that this version reads")             \
  X(kUnverified, "verification failed", kUser, "the module decodes, but breaks a rule of the verifier")      \
  X(kUnsupported, "unsupported", kUser, "well-formed, but this build or version cannot do it")               \
  X(kCompile, "compile error", kUser, "the source program is wrong; the message holds the diagnostics")      \
  X(kLink, "link error", kUser, "an import has no definition, or one of another type")                       \
  X(kOutOfMemory, "out of memory", kTrap, "the heap limit is reached, or the system has no more")            \
  X(kOffHeapExhausted, "off-heap memory exhausted", kTrap, "the limit for large arrays is reached")          \
  X(kStackOverflow, "stack overflow", kTrap, "calls are nested deeper than the stack limit allows")          \
  X(kOutOfFuel, "out of fuel", kTrap, "the fuel given to the isolate is used up")                            \
  X(kDeadline, "deadline exceeded", kTrap, "the run took longer than its deadline")                          \
  X(kInterrupted, "interrupted", kTrap, "another thread asked the isolate to stop")                          \
  X(kIndexOutOfRange, "index out of range", kTrap, "an index is negative or not below the length")           \
  X(kNegativeLength, "negative length", kTrap, "an array or slice of negative or excessive length")          \
  X(kDivisionByZero, "division by zero", kTrap, "an integer was divided by zero")                            \
  X(kNullReference, "null reference", kTrap, "a field, method or element of null was used")                  \
  X(kBadCast, "bad cast", kTrap, "an object is not of the type it was cast to")                              \
  X(kBorrowEnded, "borrow ended", kTrap, "an array lent by the host was used after the call that lent it")   \
  X(kClosed, "closed", kTrap, "a closed array or resource was used")                                         \
  X(kRace, "data race", kTrap, "two iterations of a parallel loop conflict (--check-races)")                 \
  X(kUserTrap, "trap", kTrap, "the program called `trap` or failed an assertion")                            \
  X(kHostException, "host function failed", kTrap, "a host function returned an error or threw")             \
  X(kDeviceExhausted, "device memory exhausted", kTrap, "a device has not enough memory for a loop")         \
  X(kDeviceFailed, "device failed", kTrap, "a device refused an operation or could not finish it")           \
  X(kDeviceLost, "device lost", kTrap, "a device or worker has stopped answering")                           \
  X(kIoTrap, "input/output failed", kTrap, "a stdlib operation on a file failed")                            \
  X(kInternal, "internal error", kInternal, "a bug of DHPVM; please report it")                              \
  X(kProtocol, "protocol error", kUser, "the other side of a connection broke the protocol")                 \
  X(kPermissionDenied, "permission denied", kUser, "the operating system does not allow the access")

enum class ErrorCode : std::uint8_t {
#define X(name, text, family, meaning) name,
  DHPVM_ERROR_CODES(X)
#undef X
};

inline constexpr ErrorCode kLastErrorCode = ErrorCode::kPermissionDenied;

// The text of the code's row above, such as "index out of range". Never fails.
constexpr std::string_view to_string(ErrorCode code) {
  switch (code) {
#define X(name, text, family, meaning) \
  case ErrorCode::name: return text;
    DHPVM_ERROR_CODES(X)
#undef X
  }
  return "unknown error";
}

constexpr ErrorFamily family_of(ErrorCode code) {
  switch (code) {
#define X(name, text, family, meaning) \
  case ErrorCode::name: return ErrorFamily::family;
    DHPVM_ERROR_CODES(X)
#undef X
  }
  return ErrorFamily::kInternal;
}

// One VM frame of a stack trace, innermost first in Error::frames.
struct StackFrame {
  std::string function;
  std::string file;        // empty when the module carries no line table
  std::uint32_t line = 0;  // 1-based; 0 when unknown
};

// An error: a message that says what to do, with the VM stack when a program trapped, and the error that caused this
// one. A value: copy and move it freely, from any thread.
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  ErrorFamily family() const { return family_of(code_); }
  bool is_trap() const { return family() == ErrorFamily::kTrap; }
  const std::string& message() const { return message_; }
  const std::vector<StackFrame>& frames() const { return frames_; }
  const Error* cause() const { return cause_.get(); }

  // Adds "while ..." context on the way up: the result has this error's code and `message`, and this error
  // as its cause.
  Error with_context(std::string message) && {
    Error outer(code_, std::move(message));
    outer.frames_ = frames_;
    outer.cause_ = std::make_shared<const Error>(std::move(*this));
    return outer;
  }
  Error with_frames(std::vector<StackFrame> frames) && {
    frames_ = std::move(frames);
    return std::move(*this);
  }

  // Several lines: "code: message", the cause chain, and the stack trace. No trailing newline.
  std::string to_string() const {
    std::string text;
    for (const Error* e = this; e != nullptr; e = e->cause()) {
      if (e != this) text += "\n  because: ";
      text += dhpvm::to_string(e->code_);
      if (!e->message_.empty()) text += ": " + e->message_;
    }
    for (const StackFrame& frame : frames_) {
      text += "\n  at " + frame.function;
      if (!frame.file.empty()) text += " (" + frame.file + ":" + std::to_string(frame.line) + ")";
    }
    return text;
  }

 private:
  ErrorCode code_;
  std::string message_;
  std::vector<StackFrame> frames_;
  std::shared_ptr<const Error> cause_;
};

// Success, or an Error. The size of a pointer, so that returning success costs one register.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT: implicit by design
  Status(const Status& other) : error_(other.error_ ? std::make_unique<Error>(*other.error_) : nullptr) {}
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other) { return *this = Status(other); }
  Status& operator=(Status&&) noexcept = default;

  bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  // Only when !ok().
  const Error& error() const& { return *error_; }
  Error error() && { return std::move(*error_); }

 private:
  std::unique_ptr<Error> error_;
};

// A value, or the Error that prevented it.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design
  Result(Status status) : state_(std::in_place_index<1>, std::move(status).error()) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Only when ok(). Checked: a wrong use ends the process with std::bad_variant_access, not with silence.
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T value_or(T fallback) const& { return ok() ? value() : std::move(fallback); }

  // Only when !ok().
  const Error& error() const& { return std::get<1>(state_); }
  Error error() && { return std::get<1>(std::move(state_)); }

  // Applies `f` to the value, or passes the error on.
  template <typename F>
  auto and_then(F&& f) && -> decltype(f(std::declval<T&&>())) {
    if (!ok()) return std::move(*this).error();
    return f(std::move(*this).value());
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> : public Status {
 public:
  Result() = default;
  Result(Status status) : Status(std::move(status)) {}  // NOLINT: implicit by design
  Result(Error error) : Status(std::move(error)) {}     // NOLINT: implicit by design

  // Only when ok(). Checked like the value() of other results: for code that is written for every T.
  void value() const {
    if (!ok()) std::abort();
  }
};

// Returns the error of `expr` from the enclosing function, if it has one.
#define DHPVM_TRY(expr)                                           \
  do {                                                            \
    if (auto dhpvm_try_status_ = (expr); !dhpvm_try_status_.ok()) \
      return std::move(dhpvm_try_status_).error();                \
  } while (false)

#define DHPVM_CONCAT_(a, b) a##b
#define DHPVM_CONCAT(a, b) DHPVM_CONCAT_(a, b)

// DHPVM_ASSIGN(auto x, f()): x is the value of f(), or the enclosing function returns f()'s error.
#define DHPVM_ASSIGN(declaration, expr) \
  DHPVM_ASSIGN_(DHPVM_CONCAT(dhpvm_result_, __LINE__), declaration, expr)
#define DHPVM_ASSIGN_(result, declaration, expr)      \
  auto result = (expr);                               \
  if (!result.ok()) return std::move(result).error(); \
  declaration = std::move(result).value()

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
