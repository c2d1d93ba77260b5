// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/view.h"

#include <algorithm>
#include <utility>

#include "compiler/lsp/positions.h"

namespace dhpvm::compiler::lsp {

Shift::Shift(std::string_view old_text, std::string_view new_text)
    : old_size_(static_cast<std::uint32_t>(old_text.size())),
      new_size_(static_cast<std::uint32_t>(new_text.size())) {
  const std::size_t shorter = std::min(old_text.size(), new_text.size());
  const auto begin = std::mismatch(old_text.begin(), old_text.begin() + static_cast<std::ptrdiff_t>(shorter),
                                   new_text.begin());
  begin_ = static_cast<std::uint32_t>(begin.first - old_text.begin());
  const std::size_t rest = shorter - begin_;
  const auto end = std::mismatch(old_text.rbegin(), old_text.rbegin() + static_cast<std::ptrdiff_t>(rest),
                                 new_text.rbegin());
  end_ = static_cast<std::uint32_t>(end.first - old_text.rbegin());
}

std::uint32_t Shift::carry(std::uint32_t offset, std::uint32_t from, std::uint32_t to) const {
  if (offset <= begin_) return offset;
  if (offset >= from - end_) return offset - from + to;
  // The offset is in the replaced text.
  return std::min(offset, to - end_);
}

View::View(std::shared_ptr<const Snapshot> latest, std::shared_ptr<const Snapshot> shown)
    : latest_(std::move(latest)), shown_(std::move(shown)) {
  if (&shown_->file() != &latest_->file()) shift_ = Shift(shown_->file().text(), latest_->file().text());
}

std::uint32_t View::offset_of(const Json& position) const {
  return shift_.to_old(lsp::offset_of(latest_->file(), position));
}

Json View::range_of(SourceRange range) const {
  return lsp::range_of(latest_->file(), shift_.to_new(range.begin), shift_.to_new(range.end));
}

}  // namespace dhpvm::compiler::lsp
