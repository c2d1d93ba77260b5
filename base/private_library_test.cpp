// SPDX-License-Identifier: Apache-2.0
#include "base/private_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>

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

// KiB in memory of the mappings of a file that are never written.
std::size_t resident_kib(const std::string& file) {
  std::ifstream smaps("/proc/self/smaps");
  std::size_t kib = 0;
  bool is_counted = false;
  for (std::string line; std::getline(smaps, line);) {
    if (std::isxdigit(static_cast<unsigned char>(line[0])) != 0 && line.find('-') < line.find(' ')) {
      is_counted = line.ends_with("/" + file) && line.find(" r-xp ") != line.npos;
    } else if (is_counted && line.starts_with("Rss:")) {
      kib += std::stoul(line.substr(4));
    }
  }
  return kib;
}

TEST(PrivateLibrary, PagesGoBackAndComeAgain) {
  const std::string name = "libm.so.6";
  const OpenedLibrary opened = open_first({name});
  ASSERT_NE(opened.handle, nullptr);
  const auto cosine = reinterpret_cast<double (*)(double)>(dlsym(opened.handle, "cos"));
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0), 1);
  EXPECT_NE(resident_kib(name), 0U);
  release_library_pages("libx.so");
  EXPECT_NE(resident_kib(name), 0U);
  release_library_pages(name);
  EXPECT_EQ(resident_kib(name), 0U);
  EXPECT_EQ(cosine(0), 1);
  EXPECT_NE(resident_kib(name), 0U);
}

}  // namespace
}  // namespace dhpvm
