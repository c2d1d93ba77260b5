// SPDX-License-Identifier: Apache-2.0
// A document as a feature sees it: the latest snapshot, or an older one while declarations are missing in the text.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "compiler/lsp/json.h"
#include "compiler/lsp/snapshot.h"

namespace dhpvm::compiler::lsp {

// Maps offsets between two texts by their common prefix and suffix.
class Shift {
 public:
  Shift() = default;  // the texts are the same
  Shift(std::string_view old_text, std::string_view new_text);

  // Whether an offset of the new text lies in the common prefix or suffix.
  bool keeps(std::uint32_t offset) const { return offset <= begin_ || offset >= new_size_ - end_; }
  std::uint32_t to_old(std::uint32_t offset) const { return carry(offset, new_size_, old_size_); }
  std::uint32_t to_new(std::uint32_t offset) const { return carry(offset, old_size_, new_size_); }

 private:
  std::uint32_t carry(std::uint32_t offset, std::uint32_t from, std::uint32_t to) const;

  std::uint32_t begin_ = 0;  // bytes of the common prefix
  std::uint32_t end_ = 0;    // bytes of the common suffix
  std::uint32_t old_size_ = 0;
  std::uint32_t new_size_ = 0;
};

class View {
 public:
  // `latest` is the client's text; answers come from `shown`, which is the same or older.
  View(std::shared_ptr<const Snapshot> latest, std::shared_ptr<const Snapshot> shown);

  const Snapshot& operator*() const { return *shown_; }
  const Snapshot* operator->() const { return shown_.get(); }
  const Snapshot& latest() const { return *latest_; }
  const std::shared_ptr<const Snapshot>& latest_state() const { return latest_; }
  const Shift& shift() const { return shift_; }  // from the shown to the latest text

  // The offset in the snapshot for a position of the client.
  std::uint32_t offset_of(const Json& position) const;
  // The client's range for a range of the snapshot.
  Json range_of(SourceRange range) const;

 private:
  std::shared_ptr<const Snapshot> latest_;
  std::shared_ptr<const Snapshot> shown_;
  Shift shift_;
};

}  // namespace dhpvm::compiler::lsp
