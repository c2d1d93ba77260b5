// SPDX-License-Identifier: Apache-2.0
// Anonymous memory straight from the system: zeroed, aligned to a huge page, and asking for huge pages.
#pragma once

#include <cstddef>
#include <utility>

namespace dhpvm::offload {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

class Mapping {
 public:
  Mapping() = default;
  // `bytes` is a multiple of kHugePage. Empty (data() null) when the system refuses. No page is resident yet.
  explicit Mapping(std::size_t bytes);
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapping();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

  // Makes the pages of a range resident in one call instead of a fault each. False when the system has no
  // memory for them.
  bool populate(std::size_t offset, std::size_t bytes) const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dhpvm::offload
