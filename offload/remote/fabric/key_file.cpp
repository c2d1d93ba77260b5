// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/key_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"

namespace dhpvm::offload {
namespace {

constexpr std::size_t kLargestFile = 256;  // bytes; a key file is smaller

Error cannot(const char* what, const std::string& path) {
  return error(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, "cannot {} the key file {}: {}{}",
               what, path, std::strerror(errno),
               errno == EACCES ? ". It has to belong to the user who runs this" : "");
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return {};
}

std::optional<unsigned> base64_digit(char c) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::size_t at = kDigits.find(c);
  if (c == '\0' || at == std::string_view::npos) return {};
  return static_cast<unsigned>(at);
}

// Decodes `text` as digits of `bits` bits each; nothing when a character is no digit.
template <typename Digit>
std::optional<SecretBytes> decode(std::string_view text, unsigned bits, Digit digit) {
  SecretBytes bytes;
  bytes.reserve(text.size() * bits / 8);
  std::uint32_t pending = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::optional<unsigned> value = digit(c);
    if (!value) return {};
    pending = pending << bits | *value;
    count += bits;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<std::byte>(pending >> count));
    }
  }
  return bytes;
}

}  // namespace

Result<SecretBytes> parse_key(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  text = text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
  std::optional<SecretBytes> key;
  if (text.size() == 2 * kKeyBytes) {
    key = decode(text, 4, hex_digit);
  } else if (text.size() == 44 && text.back() == '=') {
    key = decode(text.substr(0, 43), 6, base64_digit);
  }
  if (!key || key->size() != kKeyBytes) {
    return error(ErrorCode::kInvalidArgument,
                 "a key is 32 bytes, written as 64 hexadecimal digits or in base64; `dhpvm-run --make-key "
                 "FILE` makes one");
  }
  return std::move(*key);
}

Status check_secrecy(std::string_view what, const std::string& path, unsigned mode) {
  if ((mode & 077) == 0) return {};
  return error(
      ErrorCode::kInvalidArgument,
      "{} {} can be read or written by others than its owner (mode {:04o}), so that it is no secret: make a "
      "new one, or run `chmod 600 {}` if nobody can have seen it",
      what, path, mode & 07777, path);
}

Status make_key_file(const std::string& path) {
  unsigned char bytes[kKeyBytes];
  if (getrandom(bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) {
    return error(ErrorCode::kIo, "the system has no random numbers to make a key of: {}",
                 std::strerror(errno));
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  text += '\n';
  // Never replaces an existing file, which would lock out workers and clients with the old key.
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return cannot("create", path);
  const bool is_written = write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                          fsync(file.get()) == 0;
  explicit_bzero(bytes, sizeof(bytes));
  explicit_bzero(text.data(), text.size());
  if (!is_written) {
    Error error = cannot("write", path);
    unlink(path.c_str());
    return error;
  }
  return {};
}

Result<SecretBytes> read_key_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) {
    return error(ErrorCode::kNotFound,
                 "there is no key file {}: copy the one that the other side has, or make one for both with "
                 "`dhpvm-run --make-key {}`",
                 path, path);
  }
  if (!file.is_open()) return cannot("open", path);
  struct stat facts{};
  if (fstat(file.get(), &facts) != 0) return cannot("look at", path);
  if (!S_ISREG(facts.st_mode)) return error(ErrorCode::kInvalidArgument, "{} is no file", path);
  DHPVM_TRY(check_secrecy("the key file", path, facts.st_mode));
  char text[kLargestFile];
  const ssize_t size = read(file.get(), text, sizeof(text));
  if (size < 0) return cannot("read", path);
  auto key = parse_key({text, static_cast<std::size_t>(size)});
  explicit_bzero(text, sizeof(text));
  if (!key.ok()) return std::move(key).error().with_context(fmt::format("{} is no key file", path));
  return key;
}

}  // namespace dhpvm::offload
