// SPDX-License-Identifier: Apache-2.0
// Chooses the best size for the chunks of a loop: small chunks overlap better, but each operation has a fixed cost.
#pragma once

#include <cstdint>

#include "offload/schedule/pipeline/link_model.h"

namespace dhpvm::offload {

// The total load of a loop on the stages.
struct StageLoad {
  std::uint64_t rows = 1;  // iterations of the outermost dimension: chunks consist of whole ones
  double iterations = 0;
  double upload_bytes = 0;
  double download_bytes = 0;
  unsigned uploads = 0;  // operations for each chunk
  unsigned launches = 1;
  unsigned downloads = 0;
};

struct StageModels {
  LinkModel upload;
  LinkModel download;
  LinkModel launch;              // all launches of a chunk, by iterations
  bool launches_known = false;   // measured
  double submit_seconds = 2e-6;  // of the host, for each operation
  bool one_copy_engine = false;  // uploads and downloads take turns
};

// The time from the first upload to the last download when the loop runs in `chunks` chunks: the first one passes all
// stages, the others follow at the pace of the slowest,
//   T(n) = h + k + d + (n - 1) * max(h, k, d, s),    h = H/n etc., each with the fixed cost of its operations.
double predicted_seconds(const StageLoad& load, const StageModels& models, std::uint64_t chunks);

// The rows in a chunk for which predicted_seconds() is least, or hardly more with fewer chunks; at most `most_rows`.
std::uint64_t choose_rows(const StageLoad& load, const StageModels& models, std::uint64_t most_rows);

}  // namespace dhpvm::offload
