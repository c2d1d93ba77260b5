// SPDX-License-Identifier: Apache-2.0
// The arithmetic that no program of the interpreter's tests reaches. Those programs test the results of whole
// loops.
#include "bytecode/reduction.h"

#include <gtest/gtest.h>

#include <limits>

#include "bytecode/registers.h"

namespace dhpvm::bytecode {
namespace {

TEST(Reduction, OfBools) {
  for (const ReductionOp op : {ReductionOp::kAnd, ReductionOp::kOr, ReductionOp::kXor}) {
    const Reduction reduction{op, Kind::kBool};
    const std::uint64_t neutral = identity(reduction);
    for (const std::uint64_t value : {0u, 1u}) {
      EXPECT_EQ(combine(reduction, neutral, value), value);
      EXPECT_EQ(combine(reduction, value, neutral), value);
    }
  }
  EXPECT_EQ(combine({ReductionOp::kXor, Kind::kBool}, 1, 1), 0u);
}

TEST(Reduction, TheIdentityChangesNothing) {
  for (const Kind kind : {Kind::kF32, Kind::kF64}) {
    const auto value = [&](double v) {
      return kind == Kind::kF32 ? bytecode::put(static_cast<float>(v)) : bytecode::put(v);
    };
    for (const ReductionOp op :
         {ReductionOp::kAdd, ReductionOp::kMul, ReductionOp::kMin, ReductionOp::kMax}) {
      const Reduction reduction{op, kind};
      for (const double v : {0.0, -0.0, 1.5, -3.0, 1e30, std::numeric_limits<double>::infinity()}) {
        EXPECT_EQ(combine(reduction, identity(reduction), value(v)), value(v))
            << static_cast<int>(op) << " " << v;
      }
    }
  }
}

}  // namespace
}  // namespace dhpvm::bytecode
