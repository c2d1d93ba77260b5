// SPDX-License-Identifier: Apache-2.0
#include "tools/ptx/arguments.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "tools/ptx/npy.h"

namespace dhpvm::tools {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 33;

Error no_argument(std::string_view text) {
  return error(
      ErrorCode::kInvalidArgument,
      "'{}' is no argument: write a number as f32:1.5, an array as f32[100], f32[100]:0, f32[]:1,2,3 "
      "or f32[]:@FILE, or @FILE.npy",
      text);
}

// An array with memory for the elements; the parameter is its address.
Result<KernelArgument> array_of(Element type, std::vector<std::size_t> shape) {
  KernelArgument array;
  array.type = type;
  std::size_t bytes = size_of(type);
  for (const std::size_t extent : shape) {
    if (extent != 0 && bytes > kMostBytes / extent)
      return error(ErrorCode::kInvalidArgument, "an array is larger than {} bytes", kMostBytes);
    bytes *= extent;
  }
  array.shape = std::move(shape);
  array.memory = ptx::Allocation::create(bytes);
  if (array.memory == nullptr)
    return error(ErrorCode::kOutOfMemory, "there is no memory for an array of {} bytes", bytes);
  const std::uint64_t address = array.memory->address();
  array.bytes.resize(sizeof address);
  std::memcpy(array.bytes.data(), &address, sizeof address);
  return array;
}

Result<KernelArgument> filled(Element type, std::vector<std::size_t> shape, std::span<const std::byte> from) {
  DHPVM_ASSIGN(KernelArgument array, array_of(type, std::move(shape)));
  if (!from.empty()) std::memcpy(array.memory->bytes(), from.data(), from.size());
  array.memory->mark_written(0, from.size());
  return array;
}

std::size_t elements_of(const KernelArgument& array) { return array.memory->size() / size_of(array.type); }

Result<KernelArgument> from_file(const std::string& path, std::optional<Element> type,
                                 std::optional<std::size_t> count) {
  DHPVM_ASSIGN(const std::vector<std::byte> file, read_file(path));
  KernelArgument array;
  if (is_npy(file)) {
    Result<NpyArray> read = read_npy(file);
    if (!read.ok()) return error(read.error().code(), "{}: {}", path, read.error().message());
    if (type && numpy_of(*type) != numpy_of(read->type))
      return error(ErrorCode::kInvalidArgument, "{} has elements of type {}, not {}", path,
                   text_of(read->type), text_of(*type));
    DHPVM_ASSIGN(array, filled(type.value_or(read->type), read->shape, read->elements));
  } else if (!type) {
    return error(ErrorCode::kInvalidArgument,
                 "{} is no array of NumPy's: write the type of its elements, as f32[]:@{}", path, path);
  } else {
    if (file.size() % size_of(*type) != 0)
      return error(ErrorCode::kInvalidArgument, "{} has {} bytes, which are no whole number of {}", path,
                   file.size(), text_of(*type));
    DHPVM_ASSIGN(array, filled(*type, {file.size() / size_of(*type)}, file));
  }
  if (count && *count != elements_of(array))
    return error(ErrorCode::kInvalidArgument, "{} has {} elements, not {}", path, elements_of(array), *count);
  return array;
}

Result<KernelArgument> listed(Element type, std::string_view values) {
  std::vector<std::byte> bytes;
  while (true) {
    const std::size_t comma = values.find(',');
    bytes.resize(bytes.size() + size_of(type));
    DHPVM_TRY(write_element(type, values.substr(0, comma), bytes.data() + bytes.size() - size_of(type)));
    if (comma == std::string_view::npos) break;
    values.remove_prefix(comma + 1);
  }
  return filled(type, {bytes.size() / size_of(type)}, bytes);
}

Result<KernelArgument> repeated(Element type, std::size_t count, std::string_view value) {
  DHPVM_ASSIGN(KernelArgument array, array_of(type, {count}));
  std::byte* to = array.memory->bytes();
  for (std::size_t i = 0; i < count; ++i, to += size_of(type)) {
    if (value == "range") {
      DHPVM_TRY(write_element(type, std::to_string(i), to));
    } else if (i == 0) {
      DHPVM_TRY(write_element(type, value, to));
    } else {
      std::memcpy(to, array.memory->bytes(), size_of(type));
    }
  }
  array.memory->mark_written(0, array.memory->size());
  return array;
}

Result<KernelArgument> structure(std::string_view digits) {
  KernelArgument argument;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    unsigned value = 0;
    const auto [rest, problem] = std::from_chars(digits.data() + at, digits.data() + at + 2, value, 16);
    if (problem != std::errc() || rest != digits.data() + at + 2) break;
    argument.bytes.push_back(static_cast<std::byte>(value));
  }
  if (argument.bytes.empty() || argument.bytes.size() * 2 != digits.size())
    return error(ErrorCode::kInvalidArgument, "'{}' are no bytes: write two hexadecimal digits for each",
                 digits);
  return argument;
}

}  // namespace

Result<KernelArgument> parse_kernel_argument(std::string_view text) {
  if (text.starts_with('@')) return from_file(std::string(text.substr(1)), std::nullopt, std::nullopt);
  const std::size_t colon = text.find(':');
  const std::string_view head = text.substr(0, colon);
  const std::string_view value = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (head == "bytes") return structure(value);
  const std::size_t bracket = head.find('[');
  if (bracket == std::string_view::npos) {
    if (value.empty()) return no_argument(text);
    KernelArgument number;
    DHPVM_ASSIGN(number.type, element_of(head));
    number.bytes.resize(size_of(number.type));
    DHPVM_TRY(write_element(number.type, value, number.bytes.data()));
    return number;
  }
  DHPVM_ASSIGN(const Element type, element_of(head.substr(0, bracket)));
  const std::string_view digits = head.substr(bracket + 1, head.size() - bracket - 2);
  std::optional<std::size_t> count;
  if (!head.ends_with(']')) return no_argument(text);
  if (!digits.empty()) {
    const auto [rest, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), count.emplace());
    if (problem != std::errc() || rest != digits.data() + digits.size()) return no_argument(text);
  }
  if (value.starts_with('@')) return from_file(std::string(value.substr(1)), type, count);
  if (!count) return value.empty() ? Result<KernelArgument>(no_argument(text)) : listed(type, value);
  return value.empty() ? array_of(type, {*count}) : repeated(type, *count, value);
}

}  // namespace dhpvm::tools
