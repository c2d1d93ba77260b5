// SPDX-License-Identifier: Apache-2.0
#include "base/private_library.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace dhpvm {
namespace {

TEST(PrivateLibrary, IsLookedForBesideThisCodeThenInTheFolderOfPackages) {
  static const char object = 0;
  const std::vector<std::string> paths = private_library_paths(&object, "libx.so");
  ASSERT_EQ(paths.size(), 3U);
  EXPECT_TRUE(paths[0].ends_with("/libx.so")) << paths[0];
  EXPECT_EQ(paths[1], paths[0].substr(0, paths[0].size() - 7) + "dhpvm/libx.so");
  EXPECT_EQ(paths[2], "libx.so");
}

TEST(PrivateLibrary, OfUnknownCodeIsLeftToTheLoader) {
  EXPECT_EQ(private_library_paths(nullptr, "libx.so"), std::vector<std::string>{"libx.so"});
}

TEST(PrivateLibrary, OpensTheFirstThatLoads) {
  const OpenedLibrary opened = open_first({"/nowhere/libx.so", "libm.so.6"});
  EXPECT_NE(opened.handle, nullptr);
  EXPECT_EQ(opened.path, "libm.so.6");
}

TEST(PrivateLibrary, TheReasonIsThatOfTheFileThatIsThere) {
  const std::string broken = (std::filesystem::temp_directory_path() / "dhpvm-broken-library.so").string();
  std::ofstream(broken) << "no library";
  const OpenedLibrary opened = open_first({"/nowhere/libx.so", broken, "liby.so"});
  std::filesystem::remove(broken);
  EXPECT_EQ(opened.handle, nullptr);
  EXPECT_NE(opened.reason.find("dhpvm-broken-library.so"), std::string::npos) << opened.reason;
  EXPECT_NE(open_first({"/nowhere/libx.so", "liby.so"}).reason.find("libx.so"), std::string::npos);
}

}  // namespace
}  // namespace dhpvm
