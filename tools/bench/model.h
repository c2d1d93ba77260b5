// SPDX-License-Identifier: Apache-2.0
// The least time that a batched loop could take: a model to compare measurements with.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dhpvm::tools {

// The total time of the operations of each stage, in seconds.
struct Stages {
  double upload = 0;
  double kernel = 0;
  double download = 0;
};

// One after the other: H + K + D.
inline double serial_seconds(const Stages& stages) { return stages.upload + stages.kernel + stages.download; }

// Overlapped: the stage with the most work is never idle, and one chunk passes the other stages before it begins and
// after it ends, max(H, K, D) + (H + K + D - max(H, K, D)) / n for n chunks. A device with one copy engine does uploads
// and downloads one after the other; with none, everything.
inline double ideal_seconds(const Stages& stages, std::uint64_t chunks, unsigned copy_engines) {
  const double all = serial_seconds(stages);
  double longest = std::max({stages.upload, stages.kernel, stages.download});
  if (copy_engines == 1) longest = std::max(stages.upload + stages.download, stages.kernel);
  if (copy_engines == 0) longest = all;
  return longest + (all - longest) / static_cast<double>(std::max<std::uint64_t>(chunks, 1));
}

}  // namespace dhpvm::tools
