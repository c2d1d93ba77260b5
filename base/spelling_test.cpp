// SPDX-License-Identifier: Apache-2.0
#include "base/spelling.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dhpvm {
namespace {

TEST(SpellingTest, MeasuresInHalfEdits) {
  EXPECT_EQ(edit_distance("width", "width", 10), 0u);
  EXPECT_EQ(edit_distance("width", "wdith", 10), 2u) << "a swap is one edit";
  EXPECT_EQ(edit_distance("width", "Width", 10), 1u) << "a change of case is half an edit";
  EXPECT_EQ(edit_distance("", "abc", 10), 6u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 10), 6u);
  EXPECT_GT(edit_distance("abc", "xyzxyz", 4), 4u);
}

TEST(SpellingTest, FindsTheLikelyName) {
  const std::vector<std::string_view> names{"length", "width", "height", "X", "print"};
  EXPECT_EQ(nearest_name("lenght", names), "length");
  EXPECT_EQ(nearest_name("Height", names), "height");
  EXPECT_EQ(nearest_name("x", names), "X");
  EXPECT_EQ(nearest_name("y", names), "");
  EXPECT_EQ(nearest_name("depth", names), "");
  EXPECT_EQ(nearest_name("width", std::vector<std::string_view>{"width"}), "")
      << "it is not its own correction";
}

}  // namespace
}  // namespace dhpvm
