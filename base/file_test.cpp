// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>

namespace dhpvm {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  FileTest() : folder_(fs::temp_directory_path() / ("dhpvm_file_test_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~FileTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t files_in_folder() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST_F(FileTest, WhatWasWrittenIsRead) {
  const std::string text(300'000, 'x');
  ASSERT_TRUE(write_file(path("a"), bytes_of(text)).ok());
  EXPECT_EQ(read_text_file(path("a")).value(), text);
  EXPECT_EQ(read_file(path("a")).value().size(), text.size());
}

TEST_F(FileTest, FilesOfAnySizeAreReadWithoutRoomForMore) {
  for (const std::size_t size : {1u, 470u, 65'535u, 65'536u, 65'537u, 200'000u}) {
    const std::string text(size, 'x');
    ASSERT_TRUE(write_file(path("a"), bytes_of(text)).ok());
    const std::vector<std::byte> bytes = read_file(path("a")).value();
    EXPECT_EQ(bytes.size(), size);
    EXPECT_LE(bytes.capacity(), size + 1);
  }
}

TEST_F(FileTest, APipeIsReadToItsEnd) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::thread writer([end = ends[1]] {
    const std::string part(1000, 'x');
    for (int i = 0; i < 150; ++i) EXPECT_EQ(::write(end, part.data(), part.size()), 1000);
    ::close(end);
  });
  const Result<std::string> text = read_text_file("/dev/fd/" + std::to_string(ends[0]));
  writer.join();
  ::close(ends[0]);
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_EQ(text.value(), std::string(150'000, 'x'));
}

TEST_F(FileTest, ReplacingLeavesNoTemporaryFile) {
  ASSERT_TRUE(write_file(path("a"), bytes_of("one")).ok());
  ASSERT_TRUE(write_file(path("a"), bytes_of("two")).ok());
  EXPECT_EQ(read_text_file(path("a")).value(), "two");
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(FileTest, LinksAndPermissionsStay) {
  ASSERT_TRUE(write_file(path("script"), bytes_of("one")).ok());
  fs::permissions(path("script"), fs::perms::owner_all);
  fs::create_symlink("script", path("link"));
  ASSERT_TRUE(write_file(path("link"), bytes_of("two")).ok());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_text_file(path("script")).value(), "two");
  EXPECT_EQ(fs::status(path("script")).permissions(), fs::perms::owner_all);
  EXPECT_EQ(files_in_folder(), 2u);
}

TEST_F(FileTest, AMissingFileIsNamed) {
  const auto result = read_file(path("none"));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(result.error().message().find("none"), std::string::npos);
}

TEST_F(FileTest, AFullDeviceIsAnError) {
  const std::string text(100'000, 'x');
  EXPECT_FALSE(write_file("/dev/full", bytes_of(text)).ok());
}

}  // namespace
}  // namespace dhpvm
