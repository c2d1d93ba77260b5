// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/frame_results.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace dhpvm::offload {

using Kind = OperationRecord::Kind;

void FrameResults::put_in_place(const RemoteOperation& operation) {
  if (!operation.operation.is_batch()) put_in_place(operation.operation, operation.number);
  for (const Operation& step : operation.operation.steps) put_in_place(step, operation.number);
}

void FrameResults::put_in_place(const Operation& download, std::uint64_t number) {
  const std::vector<std::byte>& bytes = download.contents;
  if (bytes.empty() || download.record.kind != Kind::kDownload) return;
  std::byte* const to = host_address(download.to);
  std::vector<std::span<const std::byte>> rest{bytes};
  for (const auto& later : runs_) {
    if (later->number < number) continue;
    // The bytes that the run has brought, as an offset in this operation's memory.
    const std::ptrdiff_t offset = host_address(later->operation.to) - to;
    const auto size = static_cast<std::ptrdiff_t>(bytes.size());
    const std::byte* const begin = bytes.data() + std::clamp<std::ptrdiff_t>(offset, 0, size);
    const std::byte* const end =
        bytes.data() +
        std::clamp(offset + static_cast<std::ptrdiff_t>(later->announced), std::ptrdiff_t{0}, size);
    std::vector<std::span<const std::byte>> pieces;
    for (const auto& piece : rest) {
      const std::byte* const piece_end = piece.data() + piece.size();
      if (piece.data() < begin) pieces.emplace_back(piece.data(), std::min(begin, piece_end));
      if (end < piece_end) pieces.emplace_back(std::max(end, piece.data()), piece_end);
    }
    rest = std::move(pieces);
  }
  for (const auto& piece : rest) std::ranges::copy(piece, to + (piece.data() - bytes.data()));
}

}  // namespace dhpvm::offload
