// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/launch_grid.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "bytecode/module.h"
#include "codegen/group_work.h"

namespace dhpvm::offload {
namespace {

// Upper bounds that all drivers accept: groups along the axes 1 and 2, and work-items of a group along axis 2.
constexpr std::uint64_t kMostAlongOuterAxes = 65535;
constexpr std::uint64_t kThickestGroup = 64;

std::uint64_t quotient_up(std::uint64_t value, std::uint64_t divisor) {
  return value / divisor + (value % divisor != 0 ? 1 : 0);
}

// At least 1, and at most `most`.
std::uint32_t limited(std::uint64_t value, std::uint64_t most) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(value, 1, std::max<std::uint64_t>(most, 1)));
}

// Rows are cut at multiples of at least this: four sectors of numbers of 64 bits, or two of 32. Narrower groups would
// leave most of a GPU's lanes idle. This is a bound, and not tuned.
constexpr std::uint64_t kLeastCut = 16;

// Whether at least four of five work-items have an iteration.
bool is_filled(std::uint64_t extent, std::uint64_t width) {
  const std::uint64_t launched = quotient_up(extent, width) * width;
  return launched - extent <= launched / 5;
}

// The work-items of a group along axis 0, for tiles: work-items without an iteration help to move tiles, and the
// work-items of a warp move adjacent elements.
std::uint64_t width_for_tiles(std::uint64_t extent, std::uint64_t room) {
  const std::uint64_t width =
      quotient_up(quotient_up(extent, quotient_up(extent, room)), codegen::kWarp) * codegen::kWarp;
  return width <= room ? width : room / codegen::kWarp * codegen::kWarp;
}

// Work-items of a group along an axis, `room` at most.
std::uint64_t width_along(unsigned axis, std::uint64_t extent, std::uint64_t room) {
  if (extent <= room) return extent;
  const std::uint64_t share = quotient_up(extent, quotient_up(extent, room));
  if (axis != 0 || room < codegen::kWarp) return share;
  std::uint64_t width = quotient_up(share, codegen::kWarp) * codegen::kWarp;
  if (width > room) width = room;
  while (width > kLeastCut && !is_filled(extent, width)) width = width / 2 / kLeastCut * kLeastCut;
  return width;
}

// The most work-items of a group with which every processor gets a group, if there are `items` for that.
std::uint64_t room_of(std::uint64_t items, const GridLimits& limits) {
  std::uint64_t room = limits.group;
  while (room / 2 >= codegen::kWarp && quotient_up(items, room) < limits.processors) room /= 2;
  return room;
}

// Neighbouring work-items do neighbouring iterations, so that their accesses coalesce: a group covers the innermost
// dimension as far as it goes, and extends outwards with the rest of its work-items.
LaunchGrid cover(const IterationSpace& space, const GridNeeds& needs, const GridLimits& limits) {
  LaunchGrid grid;
  std::array<std::uint64_t, 3> extents = {1, 1, 1};
  for (unsigned axis = 0; axis < space.dimensions; ++axis) extents[axis] = space.extent(space.inner() - axis);
  extents[0] *= needs.items;
  extents[1] = quotient_up(extents[1], needs.run);
  std::uint64_t group = room_of(extents[0] * extents[1] * extents[2], limits);
  std::uint64_t groups = limits.groups;
  for (unsigned axis = 0; axis < space.dimensions; ++axis) {
    const std::uint64_t extent = extents[axis];
    if (axis == 2) group = std::min(group, kThickestGroup);
    std::uint64_t width = width_along(axis, extent, group);
    if (axis == 0 && needs.group != 0) width = width_for_tiles(extent, group);
    if (axis == 1 && needs.run > 1) width = 1;
    grid.group[axis] = limited(width, group);
    grid.groups[axis] = limited(quotient_up(extent, grid.group[axis]),
                                axis == 0 ? groups : std::min(groups, kMostAlongOuterAxes));
    group /= grid.group[axis];
    groups /= grid.groups[axis];
  }
  return grid;
}

// A square has so much less to load that a fourth of the processors do squares as fast as all processors do single
// iterations. This is a bound, and not tuned.
constexpr std::uint64_t kProcessorsForSquare = 4;

// A group for each square of iterations, if squares are worth it: processors get some, most work-items have work, and
// most iterations are in whole squares.
std::optional<LaunchGrid> cover_squares(const IterationSpace& space, const GridLimits& limits) {
  constexpr std::uint64_t kSide = codegen::kSquareSide;
  constexpr std::uint64_t kItems = codegen::kSquareItems;
  if (!limits.squares) return {};
  const std::uint64_t width = space.extent(space.inner());
  const std::uint64_t height = space.extent(space.inner() - 1);
  const std::uint64_t depth = space.dimensions == 3 ? space.extent(0) : 1;
  LaunchGrid grid;
  grid.group = {codegen::kSquareGroup, codegen::kSquareGroup, 1};
  std::uint64_t groups = limits.groups;
  grid.groups[0] = limited(quotient_up(width, kSide), groups);
  groups /= grid.groups[0];
  grid.groups[1] = limited(quotient_up(height, kSide), std::min(groups, kMostAlongOuterAxes));
  groups /= grid.groups[1];
  grid.groups[2] = limited(depth, std::min(groups, kMostAlongOuterAxes));
  const std::uint64_t launched = std::uint64_t{grid.groups[0]} * grid.groups[1] * grid.groups[2];
  if (launched * kProcessorsForSquare < limits.processors) return {};
  // Squares at the edges may have fewer iterations than work-items.
  const std::uint64_t across = width / kSide;
  const std::uint64_t down = height / kSide;
  const auto working = [&](std::uint64_t columns, std::uint64_t rows) {
    return std::min(columns * rows, kItems);
  };
  const std::uint64_t work = across * down * kItems + down * working(width % kSide, kSide) +
                             across * working(kSide, height % kSide) + working(width % kSide, height % kSide);
  const std::uint64_t items = quotient_up(width, kSide) * quotient_up(height, kSide) * kItems;
  if (items - work > items / 5) return {};
  if (across * kSide * down * kSide < width * height / 4 * 3) return {};
  return grid;
}

// Each run of work-items does a block of a reduction, and a group has as many runs as leave a group for every
// processor. If a group could have more, all work-items of the largest group share a block, provided that the kernel
// supports that. The last block of a row goes to the group of the block before it, if it would leave most of a group
// idle.
LaunchGrid cover_blocks(const IterationSpace& space, const GridNeeds& needs, const GridLimits& limits) {
  LaunchGrid grid;
  const std::uint64_t blocks = reduction_blocks(space);
  const std::uint64_t most = limits.group / bytecode::kReductionLanes;
  const std::uint64_t runs = limited(blocks / std::max(limits.processors, 1U), most);
  const std::uint64_t sharing =
      std::min(most, quotient_up(space.extent(space.inner()), bytecode::kReductionLanes));
  if (needs.run > 1 && runs < sharing && blocks <= limits.groups) {
    const std::uint64_t row = space.extent(space.inner());
    const std::uint64_t in_row = quotient_up(row, bytecode::kReductionBlock);
    const std::uint64_t items = sharing * bytecode::kReductionLanes;
    const bool ends_idle = in_row > 1 && row - (in_row - 1) * bytecode::kReductionBlock < items;
    const bool joins_last = ends_idle && sharing >= codegen::kLeastRunsForTwo;
    grid.group[0] = static_cast<std::uint32_t>(items);
    grid.groups[0] = static_cast<std::uint32_t>(joins_last ? blocks - blocks / in_row : blocks);
    return grid;
  }
  grid.group[0] = static_cast<std::uint32_t>(runs * bytecode::kReductionLanes);
  grid.groups[0] = limited(quotient_up(blocks, runs), limits.groups);
  return grid;
}

// The work-items of a processor with which memory answers as fast as it can. This is a bound, and not tuned.
constexpr std::uint64_t kCrowd = 2048;

// A group for each iteration, or as many as processors have work-items for. Groups are not made smaller, because each
// of them clears and adds up what it updates in local memory.
LaunchGrid cover_shared(const IterationSpace& space, const GridLimits& limits) {
  LaunchGrid grid;
  const std::uint64_t iterations = space.extent(0);
  const std::uint64_t wanted = limits.processors * kCrowd / std::max(limits.group, 1U);
  const std::uint64_t share =
      std::max<std::uint64_t>(std::min<std::uint64_t>(wanted, limits.groups) / iterations, 1);
  grid.group[0] = limits.group;
  grid.groups[0] = limited(iterations, limits.groups);
  if (share > 1) grid.groups[0] = static_cast<std::uint32_t>(share * iterations);
  return grid;
}

// The work-items of a processor with which several can wait for memory at a time. This is a bound, and not tuned.
constexpr std::uint64_t kFilled = 256;

// The rest of a row is cut into groups of these widths, beginning with the first that fits, and then into single
// work-items: a loop of a few vectors, and one vector.
constexpr std::uint64_t kWidthsOfRests[] = {64, 8, 1};

// Work-items beyond whole vectors are done one by one, which is a small part of such a group.
constexpr std::uint32_t kLeastOwnWidth = 128;

std::uint64_t count(const LaunchPiece& piece) { return piece.items[0] * piece.items[1] * piece.items[2]; }

// Starting its rows one by one costs less than one more launch.
bool is_small(const LaunchPiece& piece) { return count(piece) <= 2048; }

}  // namespace

LaunchGrid plan_grid(const IterationSpace& space, const GridNeeds& needs, const GridLimits& limits) {
  if (needs.has_squares) {
    if (const std::optional<LaunchGrid> squares = cover_squares(space, limits)) return *squares;
  }
  if (needs.dealing == codegen::Dealing::kShared) return cover_shared(space, limits);
  if (!needs.reductions) return cover(space, needs, limits);
  if (needs.dealing != codegen::Dealing::kRuns) return cover_blocks(space, needs, limits);
  LaunchGrid grid;
  grid.group[0] = limits.group;
  grid.groups[0] = limited(reduction_blocks(space), limits.groups);
  return grid;
}

std::uint64_t rows_for_squares(const IterationSpace& space, const GridLimits& limits) {
  if (space.dimensions != 2 || !limits.squares) return 1;
  const std::uint64_t across = quotient_up(space.extent(1), codegen::kSquareSide);
  const std::uint64_t down = quotient_up(quotient_up(limits.processors, kProcessorsForSquare), across);
  IterationSpace rows = space;
  rows.high[0] =
      rows.low[0] + static_cast<std::int64_t>(std::min(space.extent(0), down * codegen::kSquareSide));
  return cover_squares(rows, limits) ? rows.extent(0) : 1;
}

std::uint64_t rows_to_fill(const IterationSpace& space, const GridNeeds& needs, const GridLimits& limits) {
  if (needs.reductions) return 1;
  std::uint64_t in_row = needs.items;
  for (unsigned d = 1; d < space.dimensions; ++d) in_row *= space.extent(d);
  const std::uint64_t wanted = limits.processors * kFilled;
  const std::uint64_t rows = quotient_up(wanted, std::max<std::uint64_t>(in_row, 1));
  return std::max<std::uint64_t>(std::min(rows, space.extent(0)), 1);
}

std::vector<LaunchPiece> PiecePlanner::plan(const IterationSpace& space, const GridLimits& limits) {
  LaunchPiece whole;
  for (unsigned axis = 0; axis < space.dimensions; ++axis)
    whole.items[axis] = space.extent(space.inner() - axis);
  // Iterations may be long if there are few of them: every thread of the device gets its share before groups grow.
  const std::uint64_t share =
      std::clamp<std::uint64_t>(count(whole) / limits.groups, 1, std::max(limits.group, 1U));
  cut(whole, 0, space.dimensions, width_of_rows(whole, static_cast<std::uint32_t>(share)));
  return std::exchange(pieces_, {});
}

// Cuts `piece`, whose groups along all axes below `axis` are fixed, into pieces with groups of up to `room` times that.
void PiecePlanner::cut(LaunchPiece piece, unsigned axis, unsigned axes, std::uint32_t room) {
  if (axis == axes || room == 1 || (axis != 0 && is_small(piece))) {
    pieces_.push_back(piece);
    return;
  }
  const std::uint64_t extent = piece.items[axis];
  for (std::uint64_t left = extent; left != 0;) {
    piece.first[axis] = extent - left;
    piece.items[axis] = left;
    std::uint64_t width = *std::ranges::find_if(kWidthsOfRests, [&](auto rest) { return rest <= left; });
    if (left >= room) {
      width = room;
    } else if (axis == 0 && !is_small(piece) && is_own_width(left)) {
      width = left;
    } else if (left == extent) {
      width = std::bit_floor(left);
    }
    piece.group[axis] = static_cast<std::uint32_t>(width);
    piece.items[axis] -= left % width;
    cut(piece, axis + 1, axes, static_cast<std::uint32_t>(std::bit_floor(room / width)));
    left %= width;
  }
}

// `most`, or less: the widest group that divides the rows, if that is not much less. One launch for everything is
// better than one for whole groups and some for the rests of rows, and all threads end at the same time.
std::uint32_t PiecePlanner::width_of_rows(const LaunchPiece& whole, std::uint32_t most) {
  const std::uint32_t usual = std::bit_floor(most);
  const std::uint64_t row = whole.items[0];
  if (row <= most || row % usual == 0 || most < kLeastOwnWidth || !comes_again(row)) return usual;
  for (std::uint32_t width = most; width > most / 2; --width) {
    if (row % width == 0) return is_own_width(width) ? width : usual;
  }
  return usual;
}

// Whether more rows of this length can be expected: kernels are not compiled for the widths of many lengths.
bool PiecePlanner::comes_again(std::uint64_t row) {
  constexpr std::size_t kMostRows = 16;
  const bool is_first = rows_.empty();
  if (std::ranges::find(rows_, row) != rows_.end()) return true;
  if (rows_.size() < kMostRows) rows_.push_back(row);
  return is_first;
}

bool PiecePlanner::is_own_width(std::uint64_t width) {
  constexpr std::size_t kMostOwnWidths = 4;
  if (std::has_single_bit(width)) return true;
  if (std::ranges::find(own_widths_, width) != own_widths_.end()) return true;
  if (own_widths_.size() == kMostOwnWidths) return false;
  own_widths_.push_back(width);
  return true;
}

}  // namespace dhpvm::offload
