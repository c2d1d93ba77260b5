// SPDX-License-Identifier: Apache-2.0
#include "bench/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/report.h"
#include "bench/svg.h"

namespace dhpvm::tools {
namespace {

constexpr double kLabels = 130;  // width of the names at the left
constexpr const char* kSizeStyles[] = {"s0", "s1", "s2", "s3", "s4"};

std::string_view style_of_size(std::size_t n) { return kSizeStyles[std::min(n, std::size(kSizeStyles) - 1)]; }

// Vertical lines with numbers, from 0 to 1.
void draw_scale(Svg& svg, double left, double width, double bottom) {
  for (int tick = 0; tick <= 5; ++tick) {
    const double x = left + width * tick / 5;
    svg.line(x, 16, x, bottom, "grid");
    svg.text(x, 12, fmt::format("{:g}", tick / 5.0), Svg::Anchor::kMiddle, "small");
  }
}

}  // namespace

std::string bars(std::span<const Case* const> cases) {
  constexpr double kBar = 8;
  constexpr double kRow = 4 * kBar + 10;
  constexpr double kWidth = 620;
  const double height = 24 + kRow * static_cast<double>(cases.size());
  Svg svg(kLabels + kWidth + 70, height, "Times of the modes relative to serial pageable");
  draw_scale(svg, kLabels, kWidth, height - 6);
  double y = 20;
  for (const Case* const one : cases) {
    const Measurement& automatic = *one->find(Mode::kAutomatic);
    const double pageable = one->find(Mode::kSerialPageable)->run.seconds;
    svg.text(kLabels - 8, y + 2 * kBar + 4, one->kernel->name, Svg::Anchor::kEnd);
    const std::pair<const Measurement*, const char*> modes[] = {
        {one->find(Mode::kSerialPageable), "pageable"},
        {one->find(Mode::kSerialPinned), "pinned"},
        {one->best(), "best"},
        {&automatic, "automatic"},
    };
    double top = y;
    for (const auto& [measurement, style] : modes) {
      if (measurement != nullptr) {
        // Bars are cut off at 1.08 times the pageable mode.
        const double share = std::min(measurement->run.seconds / pageable, 1.08);
        svg.rectangle(kLabels, top, share * kWidth, kBar - 1, style,
                      fmt::format("{}: {}, {} chunks", name_of(measurement->mode),
                                  time_text(measurement->run.seconds), measurement->run.chunks_per_loop()));
      }
      top += kBar;
    }
    const double ideal =
        ideal_seconds(automatic.run.stages, automatic.run.chunks_per_loop(), automatic.device.copy_engines) /
        pageable * kWidth;
    if (ideal <= kWidth)
      svg.line(kLabels + ideal, y + 2 * kBar - 1, kLabels + ideal, y + 4 * kBar + 1, "ideal");
    y += kRow;
  }
  return std::move(svg).finish();
}

std::string efficiencies(std::span<const Case> cases) {
  constexpr double kRow = 18;
  constexpr double kWidth = 620;
  std::vector<const Kernel*> kernels;
  std::vector<double> sizes;
  for (const Case& one : cases) {
    if (std::ranges::find(kernels, one.kernel) == kernels.end()) kernels.push_back(one.kernel);
    if (std::ranges::find(sizes, one.size) == sizes.end()) sizes.push_back(one.size);
  }
  const double height = 24 + kRow * static_cast<double>(kernels.size());
  Svg svg(kLabels + kWidth + 70, height, "Overlap efficiency of the automatic mode");
  draw_scale(svg, kLabels, kWidth, height - 4);
  svg.line(kLabels + 0.95 * kWidth, 16, kLabels + 0.95 * kWidth, height - 4, "bar");
  double y = 28;
  for (const Kernel* const kernel : kernels) {
    svg.text(kLabels - 8, y + 4, kernel->name, Svg::Anchor::kEnd);
    for (const Case& one : cases) {
      if (one.kernel != kernel) continue;
      const auto size = static_cast<std::size_t>(std::ranges::find(sizes, one.size) - sizes.begin());
      const double value = one.find(Mode::kAutomatic)->efficiency();
      svg.circle(kLabels + std::min(value, 1.05) * kWidth, y, 4.5, style_of_size(size),
                 fmt::format("{:g} x the memory: {:.3f}", one.size, value));
    }
    y += kRow;
  }
  return std::move(svg).finish();
}

std::string sweep(std::span<const Case* const> cases) {
  constexpr double kWidth = 250;
  constexpr double kHeight = 130;
  constexpr double kLeft = 34;
  constexpr double kTop = 22;
  constexpr double kHighest = 3;  // times the best
  Svg svg(kLeft + kWidth + 16, kTop + kHeight + 24, "Time against number of chunks");
  svg.text(kLeft, 14, cases[0]->kernel->name, Svg::Anchor::kStart, "title");
  double most = 2;
  for (const Case* const one : cases) {
    for (const Measurement& measurement : one->measurements)
      most = std::max(most, static_cast<double>(measurement.run.chunks_per_loop()));
  }
  const double steps = std::ceil(std::log2(most));
  const auto x_of = [&](const Measurement& measurement) {
    const auto chunks = static_cast<double>(std::max<std::uint64_t>(measurement.run.chunks_per_loop(), 1));
    return kLeft + std::log2(chunks) / steps * kWidth;
  };
  for (double step = 0; step <= steps; ++step) {
    const double x = kLeft + step / steps * kWidth;
    svg.line(x, kTop, x, kTop + kHeight, "grid");
    if (steps <= 5 || static_cast<int>(step) % 2 == 0)
      svg.text(x, kTop + kHeight + 13, fmt::format("{:g}", std::exp2(step)), Svg::Anchor::kMiddle, "small");
  }
  for (double level = 1; level <= kHighest; level += 0.5) {
    const double y = kTop + (kHighest - level) / (kHighest - 1) * kHeight;
    svg.line(kLeft, y, kLeft + kWidth, y, "grid");
    svg.text(kLeft - 5, y + 4, fmt::format("{:g}", level), Svg::Anchor::kEnd, "small");
  }
  for (std::size_t n = 0; n < cases.size(); ++n) {
    const Case& one = *cases[n];
    const Measurement* const best = one.best();
    const Measurement& automatic = *one.find(Mode::kAutomatic);
    const double least =
        std::min(best == nullptr ? automatic.run.seconds : best->run.seconds, automatic.run.seconds);
    const auto y_of = [&](const Measurement& measurement) {
      const double level = std::min(measurement.run.seconds / least, kHighest);
      return kTop + (kHighest - level) / (kHighest - 1) * kHeight;
    };
    std::string curve;
    for (const Measurement& measurement : one.measurements) {
      if (measurement.mode != Mode::kPipelined) continue;
      curve +=
          fmt::format("{}{:.1f} {:.1f}", curve.empty() ? "M" : "L", x_of(measurement), y_of(measurement));
    }
    if (!curve.empty()) svg.path(curve, fmt::format("curve {}", style_of_size(n)));
    svg.circle(x_of(automatic), y_of(automatic), 4, style_of_size(n),
               fmt::format("{:g} x the memory, automatic: {} chunks, {}", one.size,
                           automatic.run.chunks_per_loop(), time_text(automatic.run.seconds)));
  }
  return std::move(svg).finish();
}

namespace {

constexpr double kModes = 170;  // width of the names of modes and queues
constexpr double kLane = 18;
constexpr double kTimeline = 760;
constexpr const char* kLanes[] = {"upload", "kernel", "download"};

// The three queues of a run below each other.
void draw_run(Svg& svg, const Measurement& measurement, double top, double seconds) {
  std::array<std::string, 3> paths;
  std::array<double, 3> last = {-1, -1, -1};
  for (const Interval& operation : measurement.run.timeline) {
    const auto lane = static_cast<std::size_t>(operation.kind);
    if (lane >= paths.size()) continue;
    const double begin = kModes + operation.begin / seconds * kTimeline;
    // A gap of less than a pixel between operations shows where one ends, if there is room for it.
    const double width = std::max((operation.end - operation.begin) / seconds * kTimeline, 0.05);
    const double gap = width > 2 ? 0.6 : 0;
    if (begin + width - last[lane] < 0.1) continue;
    last[lane] = begin + width;
    paths[lane] += fmt::format("M{:.2f} {:.1f}h{:.2f}v{:.0f}h-{:.2f}z", begin,
                               top + kLane * static_cast<double>(lane), width - gap, kLane - 3, width - gap);
  }
  svg.text(0, top + 13, name_of(measurement.mode), Svg::Anchor::kStart, "title");
  svg.text(0, top + 29, time_text(measurement.run.seconds), Svg::Anchor::kStart, "small");
  svg.text(0, top + 43, fmt::format("{} chunks", measurement.run.chunks_per_loop()), Svg::Anchor::kStart,
           "small");
  for (std::size_t lane = 0; lane < paths.size(); ++lane) {
    const double y = top + kLane * static_cast<double>(lane);
    svg.text(kModes - 6, y + 12, kLanes[lane], Svg::Anchor::kEnd, "small");
    svg.line(kModes, y + kLane - 2, kModes + kTimeline, y + kLane - 2, "grid");
    if (!paths[lane].empty()) svg.path(paths[lane], kLanes[lane]);
  }
}

}  // namespace

std::string timeline(const Case& one) {
  const Measurement& serial = *one.find(Mode::kSerialPinned);
  const Measurement& automatic = *one.find(Mode::kAutomatic);
  const double seconds = std::max(serial.run.seconds, automatic.run.seconds);
  Svg svg(kModes + kTimeline + 20, 8 * kLane + 10, "What the queues did");
  draw_run(svg, serial, 4, seconds);
  draw_run(svg, automatic, 4 + 3.6 * kLane, seconds);
  const double bottom = 7 * kLane + 8;
  for (int tick = 0; tick <= 4; ++tick) {
    svg.text(kModes + kTimeline * tick / 4, bottom + 8, time_text(seconds * tick / 4),
             tick == 0   ? Svg::Anchor::kStart
             : tick == 4 ? Svg::Anchor::kEnd
                         : Svg::Anchor::kMiddle,
             "small");
  }
  return std::move(svg).finish();
}

}  // namespace dhpvm::tools
