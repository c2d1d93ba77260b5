// SPDX-License-Identifier: Apache-2.0
#include "bench/remote_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/report.h"

namespace dhpvm::tools {

bool RemoteResults::verified() const {
  return std::ranges::all_of(overlaps, [](const Overlap& one) { return one.difference.empty(); }) &&
         (!several || several->difference.empty()) &&
         std::ranges::all_of(products, [](const Product& one) { return one.verified; });
}

std::string text_of(const LoopCosts& loops) {
  return fmt::format("{}\n  a loop of one iteration, submitted and waited for: {}; of a hundred: {} each\n",
                     loops.device, time_text(loops.single), time_text(loops.batched));
}

std::string text_of(const Overlap& overlap) {
  std::string text = fmt::format(
      "{}\n  {} of arrays, {} operations for each element: upload {}, kernel {}, download {}\n"
      "  one after the other {}, overlapped {} in {} chunks, at best {}: efficiency {:.3f}\n",
      overlap.device, size_text(overlap.bytes), overlap.operations, time_text(overlap.stages.upload),
      time_text(overlap.stages.kernel), time_text(overlap.stages.download), time_text(overlap.serial_seconds),
      time_text(overlap.seconds), overlap.chunks, time_text(overlap.ideal), overlap.efficiency());
  if (!overlap.difference.empty()) text += "  WRONG: " + overlap.difference + "\n";
  return text;
}

std::string text_of(const Several& several, const std::vector<DeviceEntry>& devices) {
  std::string text = fmt::format("a loop that moves {}\n", size_text(several.bytes));
  for (std::size_t n = 0; n < several.alone.size(); ++n) {
    text += fmt::format("  {}: {}\n", devices[n].name, time_text(several.alone[n]));
  }
  text += fmt::format("  all at once: {}, {:.2f} times as fast as the quickest alone\n",
                      time_text(several.together), several.gain());
  if (!several.difference.empty()) text += "  WRONG: " + several.difference + "\n";
  return text;
}

std::string text_of(const std::vector<Product>& products) {
  constexpr std::string_view kLine = "  {:<40} {:>9} {:>9} {:>9} {:>9} {}\n";
  const auto& shape = products.front().shape;
  const double operations =
      2 * static_cast<double>(shape[0]) * static_cast<double>(shape[1]) * static_cast<double>(shape[2]);
  std::string text = fmt::format("C = A B, C of {} x {}, inner dimension {}\n", shape[0], shape[1], shape[2]);
  text += fmt::format(kLine, "where", "compute", "movement", "total", "GFLOP/s", "results");
  for (const Product& product : products) {
    text += fmt::format(kLine, product.executor, time_text(product.compute),
                        product.movement == 0 ? "-" : time_text(product.movement), time_text(product.total),
                        fmt::format("{:.2f}", operations / product.total / 1e9),
                        product.verified ? "same" : "DIFFER");
  }
  return text;
}

std::string report_json(const RemoteResults& results) {
  using nlohmann::json;
  json report{{"benchmark", "remote"}, {"version", library_version()}};
  for (const DeviceEntry& device : results.devices) {
    report["devices"].push_back({{"name", device.name}, {"description", device.description}});
  }
  for (const LoopCosts& loops : results.loops) {
    report["loops"].push_back(
        {{"device", loops.device}, {"single_seconds", loops.single}, {"batched_seconds", loops.batched}});
  }
  for (const Overlap& one : results.overlaps) {
    report["overlap"].push_back({{"device", one.device},
                                 {"bytes", one.bytes},
                                 {"operations", one.operations},
                                 {"upload_seconds", one.stages.upload},
                                 {"kernel_seconds", one.stages.kernel},
                                 {"download_seconds", one.stages.download},
                                 {"serial_seconds", one.serial_seconds},
                                 {"seconds", one.seconds},
                                 {"chunks", one.chunks},
                                 {"ideal_model_seconds", one.ideal},
                                 {"overlap_efficiency", one.efficiency()},
                                 {"verified", one.difference.empty()}});
  }
  if (results.several) {
    report["several"] = {{"bytes", results.several->bytes},
                         {"alone_seconds", results.several->alone},
                         {"together_seconds", results.several->together},
                         {"gain", results.several->gain()},
                         {"verified", results.several->difference.empty()}};
  }
  for (const Product& product : results.products) {
    report["products"].push_back({{"executor", product.executor},
                                  {"rows", product.shape[0]},
                                  {"columns", product.shape[1]},
                                  {"inner", product.shape[2]},
                                  {"compute_seconds", product.compute},
                                  {"movement_seconds", product.movement},
                                  {"total_seconds", product.total},
                                  {"verified", product.verified}});
  }
  return report.dump(1) + "\n";
}

}  // namespace dhpvm::tools
