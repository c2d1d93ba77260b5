// SPDX-License-Identifier: Apache-2.0
#include "tools/ptx/elements.h"

#include <charconv>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "offload/ptx/half.h"

namespace dhpvm::tools {
namespace {

template <typename T>
bool read_number(std::string_view text, T& value) {
  int base = 10;
  const bool minus = text.starts_with('-');
  if (text.substr(minus ? 1 : 0).starts_with("0x") && std::is_integral_v<T>) {
    if (minus) return false;
    text.remove_prefix(2);
    base = 16;
  }
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_integral_v<T>) {
    read = std::from_chars(text.data(), end, value, base);
  } else {
    read = std::from_chars(text.data(), end, value);
  }
  return read.ec == std::errc() && read.ptr == end;
}

template <typename T>
bool store_number(std::string_view text, std::byte* to) {
  T value{};
  if (!read_number(text, value)) return false;
  std::memcpy(to, &value, sizeof value);
  return true;
}

template <typename Format>
bool store_half(std::string_view text, std::byte* to) {
  double value = 0;
  if (!read_number(text, value)) return false;
  const std::uint16_t bits = ptx::half_bits<Format>(value);
  std::memcpy(to, &bits, sizeof bits);
  return true;
}

bool store(Element type, std::string_view text, std::byte* to) {
  switch (type) {
    case Element::kU8: return store_number<std::uint8_t>(text, to);
    case Element::kS8: return store_number<std::int8_t>(text, to);
    case Element::kU16: return store_number<std::uint16_t>(text, to);
    case Element::kS16: return store_number<std::int16_t>(text, to);
    case Element::kU32: return store_number<std::uint32_t>(text, to);
    case Element::kS32: return store_number<std::int32_t>(text, to);
    case Element::kU64: return store_number<std::uint64_t>(text, to);
    case Element::kS64: return store_number<std::int64_t>(text, to);
    case Element::kF16: return store_half<ptx::F16>(text, to);
    case Element::kBF16: return store_half<ptx::BF16>(text, to);
    case Element::kF32: return store_number<float>(text, to);
    case Element::kF64: return store_number<double>(text, to);
  }
  return false;
}

template <typename T>
std::string number_text(const std::byte* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  if constexpr (sizeof(T) == 1) return fmt::format("{}", static_cast<int>(value));
  return fmt::format("{}", value);
}

template <typename Format>
std::string half_text(const std::byte* from) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return fmt::format("{}", static_cast<float>(ptx::half_value<Format>(bits)));
}

}  // namespace

std::size_t size_of(Element type) {
  switch (type) {
#define X(name, text, bytes, numpy) \
  case Element::name: return bytes;
    DHPVM_PTX_ELEMENTS(X)
#undef X
  }
  return 0;
}

std::string_view text_of(Element type) {
  switch (type) {
#define X(name, text, bytes, numpy) \
  case Element::name: return text;
    DHPVM_PTX_ELEMENTS(X)
#undef X
  }
  return "";
}

std::string_view numpy_of(Element type) {
  switch (type) {
#define X(name, text, bytes, numpy) \
  case Element::name: return numpy;
    DHPVM_PTX_ELEMENTS(X)
#undef X
  }
  return "";
}

Result<Element> element_of(std::string_view text) {
  std::string name(text);
  if (name.starts_with('i')) name[0] = 's';
  if (name.starts_with('b') && !name.starts_with("bf")) name[0] = 'u';
#define X(element, known, bytes, numpy) \
  if (name == known) return Element::element;
  DHPVM_PTX_ELEMENTS(X)
#undef X
  return error(ErrorCode::kInvalidArgument,
               "'{}' is no type: it is one of u8 to u64, s8 to s64, f16, bf16, f32 and f64", text);
}

Status write_element(Element type, std::string_view text, std::byte* to) {
  if (store(type, text, to)) return {};
  return error(ErrorCode::kInvalidArgument, "'{}' is no number of type {}", text, text_of(type));
}

std::string element_text(Element type, const std::byte* from) {
  switch (type) {
    case Element::kU8: return number_text<std::uint8_t>(from);
    case Element::kS8: return number_text<std::int8_t>(from);
    case Element::kU16: return number_text<std::uint16_t>(from);
    case Element::kS16: return number_text<std::int16_t>(from);
    case Element::kU32: return number_text<std::uint32_t>(from);
    case Element::kS32: return number_text<std::int32_t>(from);
    case Element::kU64: return number_text<std::uint64_t>(from);
    case Element::kS64: return number_text<std::int64_t>(from);
    case Element::kF16: return half_text<ptx::F16>(from);
    case Element::kBF16: return half_text<ptx::BF16>(from);
    case Element::kF32: return number_text<float>(from);
    case Element::kF64: return number_text<double>(from);
  }
  return "";
}

}  // namespace dhpvm::tools
