// SPDX-License-Identifier: Apache-2.0
// The work-items of a launch, and their groups. codegen/device_code.h says what kernels do with them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codegen/device_code.h"
#include "offload/loops/iteration_space.h"

namespace dhpvm::offload {

struct LaunchGrid {
  // By axis: 0 is the innermost dimension.
  std::array<std::uint32_t, 3> group = {1, 1, 1};  // work-items of a group
  std::array<std::uint32_t, 3> groups = {1, 1, 1};
  bool operator==(const LaunchGrid&) const = default;
};

// The limits of a device for a kernel.
struct GridLimits {
  std::uint32_t group = 1;   // work-items of a group, at most
  std::uint32_t groups = 1;  // of a launch, at most; kSingly: as many at least, where the space has them
  // kStrides: groups are smaller where there would be fewer of them than this.
  std::uint32_t processors = 1;
  bool squares = false;  // groups for squares of iterations (codegen/group_work.h) may be launched
};

// The facts about a kernel's distribution of iterations that its grid depends on.
struct GridNeeds {
  bool reductions = false;  // it has some
  std::uint32_t group = 0;  // as in DeviceCode, like `dealing` and `run`; limits heed it
  codegen::Dealing dealing = codegen::Dealing::kStrides;
  std::uint32_t run = 1;
  std::uint32_t items = 1;
  bool has_squares = false;
};

// For all but kSingly. `space` is one that may be launched, here and below.
LaunchGrid plan_grid(const IterationSpace& space, const GridNeeds& needs, const GridLimits& limits);

// Indices of the outermost dimension that a chunk has at least to go by squares, which its multiples do as well; 1
// where no chunk does, or where squares do not lie along that dimension.
std::uint64_t rows_for_squares(const IterationSpace& space, const GridLimits& limits);

// Indices of the outermost dimension with which a chunk has work for all processors, or all that there are. With fewer
// it would take as long as with these. 1 for loops with reductions, whose chunks have whole blocks.
std::uint64_t rows_to_fill(const IterationSpace& space, const GridNeeds& needs, const GridLimits& limits);

// A box of a space whose groups are all whole.
struct LaunchPiece {
  std::array<std::uint64_t, 3> first = {0, 0, 0};  // by axis, distance from the space's low bounds
  std::array<std::uint64_t, 3> items = {1, 1, 1};
  std::array<std::uint32_t, 3> group = {1, 1, 1};  // divides `items`
  bool operator==(const LaunchPiece&) const = default;
};

// For kSingly: pieces that cover the space with one work-item for each iteration. Drivers compile a kernel
// anew for each width of a group, so that all are powers of two for all extents of a program, except a few
// that suit the rows.
class PiecePlanner {
 public:
  std::vector<LaunchPiece> plan(const IterationSpace& space, const GridLimits& limits);

 private:
  void cut(LaunchPiece piece, unsigned axis, unsigned axes, std::uint32_t room);
  std::uint32_t width_of_rows(const LaunchPiece& whole, std::uint32_t most);
  bool comes_again(std::uint64_t row);
  bool is_own_width(std::uint64_t width);

  std::vector<std::uint64_t> own_widths_;
  std::vector<std::uint64_t> rows_;  // lengths of some that there were
  std::vector<LaunchPiece> pieces_;
};

}  // namespace dhpvm::offload
