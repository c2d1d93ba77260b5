// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/chunk_size.h"

#include <algorithm>
#include <vector>

namespace dhpvm::offload {
namespace {

constexpr double kAsGood = 1.01;

}  // namespace

double predicted_seconds(const StageLoad& load, const StageModels& models, std::uint64_t chunks) {
  const double n = static_cast<double>(chunks);
  const double up = load.upload_bytes > 0 ? load.uploads * models.upload.fixed() +
                                                models.upload.per_unit() * load.upload_bytes / n
                                          : 0;
  const double down = load.download_bytes > 0 ? load.downloads * models.download.fixed() +
                                                    models.download.per_unit() * load.download_bytes / n
                                              : 0;
  const double kernel = models.launch.seconds(load.iterations / n);
  const double submit = (load.uploads + load.launches + load.downloads) * models.submit_seconds;
  const double copies = models.one_copy_engine ? up + down : std::max(up, down);
  return submit + up + kernel + down + (n - 1) * std::max({copies, kernel, submit});
}

std::uint64_t choose_rows(const StageLoad& load, const StageModels& models, std::uint64_t most_rows) {
  const std::uint64_t rows = std::max<std::uint64_t>(load.rows, 1);
  most_rows = std::clamp<std::uint64_t>(most_rows, 1, rows);
  const auto chunks_of = [&](std::uint64_t length) { return (rows + length - 1) / length; };
  struct Choice {
    std::uint64_t length;
    double seconds;
  };
  std::vector<Choice> choices = {{most_rows, predicted_seconds(load, models, chunks_of(most_rows))}};
  double best_seconds = choices.front().seconds;
  // The curve is flat around its minimum, so that steps of a fifth are fine enough.
  for (double n = static_cast<double>(chunks_of(most_rows)); n < static_cast<double>(rows);
       n = std::max(n * 1.2, n + 1)) {
    const std::uint64_t length = (rows + static_cast<std::uint64_t>(n) - 1) / static_cast<std::uint64_t>(n);
    if (length > most_rows) continue;
    const double seconds = predicted_seconds(load, models, chunks_of(length));
    choices.push_back({length, seconds});
    best_seconds = std::min(best_seconds, seconds);
    // With more chunks, only the fixed costs grow.
    if (seconds > 4 * best_seconds) break;
  }
  // Among equally good numbers, the smallest. Scattered measurements may suggest that operations cost only their bytes;
  // then even smaller chunks would always gain something, but less and less.
  const auto good = std::ranges::find_if(
      choices, [&](const Choice& choice) { return choice.seconds <= best_seconds * kAsGood; });
  return good->length;
}

}  // namespace dhpvm::offload
