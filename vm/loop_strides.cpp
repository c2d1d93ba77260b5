// SPDX-License-Identifier: Apache-2.0
#include "vm/loop_strides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>

#include "bytecode/decode.h"
#include "bytecode/field_place.h"

namespace dhpvm::vm {
namespace {

using offload::Access;
using offload::AccessKind;
using offload::AtomKind;

// In bytes, on x86 and most Arm cores; a GPU fetches sectors of 32 bytes.
constexpr std::uint64_t kCacheLine = 64;

// The distance, in elements, between those of neighbouring iterations; 0: it is the value of a variable. Nothing if
// they are adjacent or the same, or if an inner loop walks along them.
std::optional<std::uint64_t> stride(const offload::Footprint& footprint, const Access& access,
                                    unsigned innermost) {
  const offload::Symbols& symbols = footprint.symbols;
  if (access.index[0] == offload::kNothing) return std::nullopt;
  std::optional<std::uint64_t> apart;
  for (const offload::Monomial& term : symbols.polynomial(access.index[0]).terms) {
    const bool is_alone = term.atoms.size() == 1;
    const bool is_next = is_alone && (term.coefficient == 1 || term.coefficient == -1);
    const offload::Atom& first = symbols.atom(term.atoms[0]);
    if (is_next && first.kind == AtomKind::kInduction) return std::nullopt;
    const auto is_innermost = [&](offload::AtomId id) {
      return symbols.atom(id).kind == AtomKind::kIndex && symbols.atom(id).number == innermost;
    };
    if (std::ranges::none_of(term.atoms, is_innermost)) continue;
    if (is_next || apart.has_value()) return std::nullopt;
    const auto size = static_cast<std::uint64_t>(term.coefficient);
    apart = !is_alone ? 0 : term.coefficient < 0 ? 0 - size : size;
  }
  return apart;
}

std::uint64_t element_bytes(const bytecode::Module& module, const Access& access) {
  const bytecode::Word word = module.code[access.pc];
  const bytecode::DecodeRow& row = bytecode::kDecode[bytecode::op_of(word)];
  const bytecode::Word x = row.words == 2 ? module.code[access.pc + 1] : 0;
  if (const auto field = bytecode::field_place(row.family, row.x, x)) return field->size;
  return row.kind ? bytecode::size_of(*row.kind) : 0;
}

// The elements of one iteration that lie side by side, as those of a pixel do: accesses to the same array whose indices
// differ from that of `access` by a constant, within a cache line and the distance to the next iteration.
std::uint64_t side_by_side(const offload::Footprint& footprint, const Access& access, std::uint64_t apart,
                           std::uint64_t bytes) {
  const offload::Polynomial& own = footprint.symbols.polynomial(access.index[0]);
  const auto in_line = static_cast<std::int64_t>(kCacheLine / bytes);
  const bool is_short = apart != 0 && apart < kCacheLine / bytes;
  std::set<std::int64_t> distances;
  for (const Access& other : footprint.accesses) {
    const bool is_element = other.kind == AccessKind::kRead || other.kind == AccessKind::kWrite;
    if (other.array != access.array || !is_element || other.index[0] == offload::kNothing) continue;
    const offload::Polynomial& index = footprint.symbols.polynomial(other.index[0]);
    if (index.terms != own.terms) continue;
    const auto distance = static_cast<std::int64_t>(static_cast<std::uint64_t>(index.constant) -
                                                    static_cast<std::uint64_t>(own.constant));
    if (is_short) {
      const auto step = static_cast<std::int64_t>(apart);
      distances.insert((distance % step + step) % step);
    } else if (distance > -in_line && distance < in_line) {
      distances.insert(distance);
    }
  }
  return distances.size();
}

}  // namespace

std::string stride_text(const bytecode::Module& module, const bytecode::KernelRecord& kernel,
                        const offload::Footprint& footprint, std::size_t array) {
  if (!footprint.complete || !kernel.source.iterated.empty()) return {};
  for (const Access& access : footprint.accesses) {
    if (access.array != array || (access.kind != AccessKind::kRead && access.kind != AccessKind::kWrite))
      continue;
    const std::uint64_t bytes = element_bytes(module, access);
    const auto apart = stride(footprint, access, kernel.dimensions - 1u);
    if (!apart || bytes == 0 || bytes >= kCacheLine) continue;
    // A distance that is a variable is mostly a row, which is longer than a cache line.
    const std::uint64_t together = side_by_side(footprint, access, *apart, bytes);
    if (together == *apart) continue;
    const std::uint64_t in_line =
        together *
        (*apart == 0 ? 1 : std::max<std::uint64_t>(1, kCacheLine / std::max(bytes, *apart * bytes)));
    if (in_line * bytes >= kCacheLine) continue;
    return fmt::format(
        "neighbouring iterations {} elements {} ({}), and so use {} bytes of each {} that are fetched",
        access.kind == AccessKind::kRead ? "read" : "write",
        *apart == 0 ? std::string("whole rows apart") : fmt::format("{} apart", *apart),
        offload::place(module, access), in_line * bytes, kCacheLine);
  }
  return {};
}

}  // namespace dhpvm::vm
