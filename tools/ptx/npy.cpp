// SPDX-License-Identifier: Apache-2.0
#include "tools/ptx/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"

namespace dhpvm::tools {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

Error malformed(std::string_view reason) {
  return error(ErrorCode::kInvalidArgument, "the file is no array of NumPy's: {}", reason);
}

// The text after 'key': in the header, which is a dictionary of Python.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::size_t found = header.find("'" + std::string(key) + "':");
  if (found == std::string_view::npos) return {};
  std::string_view rest = header.substr(found + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

Result<std::vector<std::size_t>> shape_of(std::string_view text) {
  if (!text.starts_with('(') || text.find(')') == std::string_view::npos) return malformed("it has no shape");
  text = text.substr(1, text.find(')') - 1);
  std::vector<std::size_t> shape;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) return shape;
    std::size_t extent = 0;
    const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (problem != std::errc()) return malformed("its shape has something that is no number");
    shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  }
}

Result<Element> type_of(std::string_view text) {
  // '<f4', or '|u1' where the byte order does not matter.
  const std::string_view descr = text.substr(0, text.find('\'', 1));
  if (descr.size() == 4 && (descr[1] == '<' || descr[1] == '|')) {
#define X(name, known, bytes, numpy) \
  if (descr.substr(2) == numpy) return Element::name;
    DHPVM_PTX_ELEMENTS(X)
#undef X
  }
  return malformed("elements of the kind " + std::string(text.substr(0, 12)) + " are not supported");
}

}  // namespace

bool is_npy(std::span<const std::byte> file) {
  return file.size() >= kMagic.size() && std::memcmp(file.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<NpyArray> read_npy(std::span<const std::byte> file) {
  if (!is_npy(file) || file.size() < 12) return malformed("it does not begin as one");
  const auto byte_at = [&](std::size_t i) { return std::to_integer<std::size_t>(file[i]); };
  const bool is_short = byte_at(6) == 1;
  std::size_t length = byte_at(8) | byte_at(9) << 8;
  if (!is_short) length |= byte_at(10) << 16 | byte_at(11) << 24;
  const std::size_t begin = is_short ? 10 : 12;
  if (length > file.size() - begin) return malformed("it is cut off");
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + begin, length);
  if (!value_of(header, "fortran_order").starts_with("False"))
    return malformed("its columns come first: store numpy.ascontiguousarray() of it");
  NpyArray array;
  DHPVM_ASSIGN(array.type, type_of(value_of(header, "descr")));
  DHPVM_ASSIGN(array.shape, shape_of(value_of(header, "shape")));
  array.elements = file.subspan(begin + length);
  std::size_t count = array.elements.size() / size_of(array.type);
  for (const std::size_t extent : array.shape) {
    if (extent != 0 && count % extent != 0) return malformed("its size is not that of its shape");
    count = extent == 0 ? 0 : count / extent;
  }
  const bool is_empty = std::ranges::find(array.shape, std::size_t{0}) != array.shape.end();
  if (is_empty ? !array.elements.empty() : count != 1 || array.elements.size() % size_of(array.type) != 0)
    return malformed("its size is not that of its shape");
  return array;
}

std::vector<std::byte> npy_file(Element type, const std::vector<std::size_t>& shape,
                                std::span<const std::byte> elements) {
  std::string extents;
  for (const std::size_t extent : shape) extents += fmt::format("{},", extent);
  const char order = size_of(type) == 1 ? '|' : '<';
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order,
                                   numpy_of(type), extents);
  // The elements begin at a multiple of 64.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string begin(kMagic);
  begin += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  begin += header;
  std::vector<std::byte> file(begin.size() + elements.size());
  std::memcpy(file.data(), begin.data(), begin.size());
  if (!elements.empty()) std::memcpy(file.data() + begin.size(), elements.data(), elements.size());
  return file;
}

}  // namespace dhpvm::tools
