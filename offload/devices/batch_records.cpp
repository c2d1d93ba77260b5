// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/batch_records.h"

#include <algorithm>

namespace dhpvm::offload {

BatchRecords::Entry BatchRecords::enter(std::uint64_t queue, const std::vector<Operation>& steps) {
  describe(queue, steps);
  asked_.used = ++batches_;
  Entry entry;
  const auto known = std::ranges::find(kept_, asked_.shape, &Kept::shape);
  entry.is_new = known == kept_.end();
  const auto place = entry.is_new ? std::ranges::min_element(kept_, {}, &Kept::used) : known;
  entry.place = static_cast<std::size_t>(place - kept_.begin());
  if (entry.is_new) {
    *place = asked_;
    return entry;
  }
  place->used = asked_.used;
  std::size_t scalar = 0;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    for (std::size_t n = 0; n < steps[step].scalars.size(); ++n, ++scalar) {
      const std::uint64_t value = asked_.scalars[scalar];
      if (place->scalars[scalar] == value) continue;
      place->scalars[scalar] = value;
      entry.changes.push_back({step, scalar, value});
    }
  }
  return entry;
}

void BatchRecords::describe(std::uint64_t queue, const std::vector<Operation>& steps) {
  asked_.shape.assign({queue, steps.size()});
  asked_.scalars.clear();
  for (const Operation& step : steps) {
    asked_.shape.push_back(static_cast<std::uint64_t>(step.record.kind));
    if (step.record.kind == OperationRecord::Kind::kLaunch) {
      add_launch(step);
      continue;
    }
    add(step.to);
    add(step.from);
  }
}

void BatchRecords::add(const MemorySpan& span) {
  const std::optional<std::uint64_t> number =
      span.memory == nullptr ? std::nullopt : numbers_.of(*span.memory);
  if (number) {
    asked_.shape.insert(asked_.shape.end(), {1, *number, span.offset, span.bytes});
  } else {
    asked_.shape.push_back(0);
  }
}

void BatchRecords::add_launch(const Operation& launch) {
  std::vector<std::uint64_t>& shape = asked_.shape;
  shape.insert(shape.end(), {numbers_.of(*launch.kernel), launch.space.dimensions, launch.scalars.size(),
                             launch.arrays.size()});
  const auto add_number = [&](std::int64_t number) { shape.push_back(static_cast<std::uint64_t>(number)); };
  for (unsigned d = 0; d < launch.space.dimensions; ++d) {
    add_number(launch.space.low[d]);
    add_number(launch.space.high[d]);
  }
  for (const ArrayArgument& array : launch.arrays) {
    add(array.memory);
    for (const std::int64_t number :
         {array.first, array.shape.readable, array.shape.writable, array.shape.length, array.shape.dims[0],
          array.shape.dims[1], array.shape.dims[2]})
      add_number(number);
  }
  add(launch.partials);
  add(launch.report);
  asked_.scalars.insert(asked_.scalars.end(), launch.scalars.begin(), launch.scalars.end());
}

}  // namespace dhpvm::offload
