// SPDX-License-Identifier: Apache-2.0
// For tests: a device that holds the elements of an array, and returns them on request.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gc/object.h"
#include "offload/schedule/memory/buffer.h"
#include "vm/isolate.h"

namespace dhpvm::vm {

class TestCopies final : public offload::BufferCopies {
 public:
  // The events of an array; outlives its elements.
  struct Record {
    int reads = 0;  // to_host_for_reading
    int writes = 0;
    bool gone = false;
    std::optional<Error> failure;  // returned by every request
    friend bool operator==(const Record& record, std::pair<int, int> counts) {
      return record.reads == counts.first && record.writes == counts.second;
    }
  };

  TestCopies(offload::Buffer& buffer, std::shared_ptr<Record> record)
      : buffer_(buffer), record_(std::move(record)) {}
  ~TestCopies() override { record_->gone = true; }

  // Takes the elements. Unless the device only reads, overwrites those of the host, which must be off the heap, with
  // rubbish.
  static std::shared_ptr<Record> take(gc::Array& array, bool host_reads = false) {
    auto& buffer = *static_cast<offload::Buffer*>(array.buffer);
    auto record = std::make_shared<Record>();
    auto copies = std::make_unique<TestCopies>(buffer, record);
    if (!host_reads) {
      copies->elements_.assign(buffer.data(), buffer.data() + buffer.size());
      std::fill_n(buffer.data(), buffer.size(), std::byte{0xa5});
    }
    buffer.set_copies(std::move(copies));
    Isolate::withhold(array, host_reads);
    return record;
  }

  Status to_host_for_reading() override {
    ++record_->reads;
    return give_back();
  }
  Status to_host_for_writing() override {
    ++record_->writes;
    return give_back();
  }

 private:
  Status give_back() {
    if (record_->failure) return *record_->failure;
    std::ranges::copy(elements_, buffer_.data());
    elements_.clear();
    return {};
  }

  offload::Buffer& buffer_;
  std::shared_ptr<Record> record_;
  std::vector<std::byte> elements_;  // current, unless empty
};

}  // namespace dhpvm::vm
