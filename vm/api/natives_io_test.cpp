// SPDX-License-Identifier: Apache-2.0
// Natives of io, os, time and random, called from a program.
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "vm/api/natives_test.h"

namespace dhpvm {
namespace {

using Text = std::string_view;
using I64 = std::int64_t;
using namespace std::chrono_literals;

struct NativeFiles : Natives {
  NativeFiles() : folder(testing::TempDir() + "dhpvm-natives-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder);
  }
  ~NativeFiles() override { std::filesystem::remove_all(folder); }
  std::string path(const std::string& name) const { return folder + "/" + name; }
  static std::string content(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(stream)), {});
  }
  Object open(const std::string& file, Text mode) { return call<Object>("io_open", Text(file), mode); }
  void write(const Object& file, Text text) { call<void>("io_file_write_text", file, text); }
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      names.push_back(entry.path().filename());
    return names;
  }

  std::string folder;
};

TEST_F(NativeFiles, WholeFilesComeBack) {
  const std::string file = path("a.txt");
  const std::string text("line\n\0\xff end", 11);
  call<void>("io_write_text", Text(file), Text(text));
  EXPECT_EQ(content(file), text);
  EXPECT_EQ(call<std::string>("io_read_text", Text(file)), text);
  EXPECT_EQ(call<std::vector<std::uint8_t>>("io_read_bytes", Text(file)).size(), 11u);
  std::vector<std::uint8_t> bytes(300'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7);
  call<void>("io_write_bytes", Text(file), std::span<const std::uint8_t>(bytes));
  EXPECT_EQ(call<std::vector<std::uint8_t>>("io_read_bytes", Text(file)), bytes);
  call<void>("io_append_text", Text(file), Text("end"));
  EXPECT_TRUE(content(file).ends_with("end"));
  EXPECT_EQ(content(file).size(), bytes.size() + 3);
  EXPECT_EQ(entries(), std::vector<std::string>{"a.txt"});
  EXPECT_TRUE(call<bool>("io_exists", Text(file)));
  EXPECT_FALSE(call<bool>("io_exists", Text(path("b"))));
}

TEST_F(NativeFiles, RefusalsNameThePath) {
  const auto refused = [&](const Error& error, Text part) {
    EXPECT_EQ(error.code(), ErrorCode::kIoTrap) << error.message();
    EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
  };
  const std::string missing = path("missing");
  refused(trap<std::string>("io_read_text", Text(missing)), "missing': No such file");
  refused(trap<Object>("io_read_bytes", Text(folder)), "Is a directory");
  refused(trap<void>("io_write_text", Text(missing + "/x"), Text("")), "missing/x': No such file");
  refused(trap<void>("io_write_text", Text("/dev/full"), Text("x")), "/dev/full': No space left");
  refused(trap<void>("io_append_text", Text(folder), Text("x")), "Is a directory");
  refused(trap<Object>("io_open", Text(missing), Text("r")), "missing': No such file");
  refused(trap<Object>("io_open", Text(missing), Text("rw")), "the mode is 'rw'");
  refused(trap<Object>("io_open", Text(folder), Text("r")), "Is a directory");
  refused(trap<std::string>("io_read_text", Text("")), "empty");
  refused(trap<std::string>("io_read_text", Text("a\0b", 3)), "zero byte");
}

TEST_F(NativeFiles, EndlessFilesMeetTheLimits) {
  Isolate small = need(Isolate::create(need(Module::assemble(host.engine, native_program())),
                                       {.limits = {.heap_bytes = 4 << 20, .off_heap_bytes = 4 << 20}}));
  const auto text = need(small.function<std::string(Text)>("io_read_text"))("/dev/zero");
  EXPECT_EQ(text.error().code(), ErrorCode::kIoTrap);
  const auto bytes = need(small.function<Object(Text)>("io_read_bytes"))("/dev/zero");
  EXPECT_EQ(bytes.error().code(), ErrorCode::kIoTrap);
  EXPECT_NE(bytes.error().message().find("larger than"), std::string::npos) << bytes.error().message();
}

TEST_F(NativeFiles, HandlesReadWriteAndSeek) {
  const std::string file = path("h");
  const Object out = open(file, "w");
  write(out, "one\r\ntwo\n\nfour");
  EXPECT_EQ(call<I64>("io_file_size", out), 14);
  EXPECT_EQ(call<I64>("io_file_position", out), 14);
  call<void>("io_close", out);
  call<void>("io_close", out);
  EXPECT_EQ(trap<void>("io_file_write_text", out, Text("x")).code(), ErrorCode::kClosed);
  EXPECT_EQ(trap<I64>("io_file_size", out).code(), ErrorCode::kClosed);

  const Object in = open(file, "r");
  for (const char* line : {"one", "two", "", "four"})
    EXPECT_EQ(call<std::string>("io_file_read_line", in), line);
  EXPECT_FALSE(call<Object>("io_file_read_line", in));
  call<void>("io_file_seek", in, I64{5});
  std::vector<std::uint8_t> buffer(10, '.');
  EXPECT_EQ(call<I64>("io_file_read", in, std::span(buffer), I64{2}, I64{3}), 3);
  EXPECT_EQ(std::string(buffer.begin(), buffer.end()), "..two.....");
  EXPECT_EQ(call<I64>("io_file_position", in), 8);
  EXPECT_EQ(call<I64>("io_file_read", in, std::span(buffer), I64{0}, I64{10}), 6);
  EXPECT_EQ(call<I64>("io_file_read", in, std::span(buffer), I64{0}, I64{10}), 0);
  EXPECT_EQ(trap<I64>("io_file_read", in, std::span(buffer), I64{5}, I64{6}).code(),
            ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(trap<void>("io_file_seek", in, I64{-1}).code(), ErrorCode::kIoTrap);
  EXPECT_EQ(trap<void>("io_file_write_text", in, Text("x")).code(), ErrorCode::kIoTrap);

  // Reading and writing may alternate.
  const Object both = open(file, "r+");
  EXPECT_EQ(call<std::string>("io_file_read_line", both), "one");
  write(both, "TWO");
  EXPECT_EQ(call<std::string>("io_file_read_line", both), "");
  call<void>("io_file_seek", both, I64{0});
  write(both, "1");
  call<void>("io_file_flush", both);
  EXPECT_EQ(content(file), "1ne\r\nTWO\n\nfour");

  const Object more = open(file, "a");
  call<void>("io_file_write", more, std::span<const std::uint8_t>(buffer), I64{0}, I64{2});
  call<void>("io_close", more);
  EXPECT_TRUE(content(file).ends_with("four\nfo") || content(file).size() == 16u) << content(file);
}

TEST_F(NativeFiles, AFullDiskIsNoticedAtTheLatestWhenClosing) {
  const Object full = open("/dev/full", "w");
  write(full, "small enough for the buffer");
  EXPECT_EQ(trap<void>("io_close", full).code(), ErrorCode::kIoTrap);
}

TEST_F(NativeFiles, TheCollectorClosesWhatIsForgotten) {
  const std::string file = path("forgotten");
  {
    write(open(file, "w"), "kept");
  }
  isolate.collect();
  EXPECT_EQ(content(file), "kept");
  EXPECT_GE(isolate.statistics().cleaners_run, 1u);
}

TEST_F(NativeFiles, FoldersAreListedMadeAndRemoved) {
  const std::string deep = path("x/y");
  call<void>("os_mkdir", Text(deep));
  call<void>("os_mkdir", Text(deep));
  EXPECT_TRUE(call<bool>("os_is_dir", Text(deep)));
  for (const char* name : {"b", "a", "c"}) call<void>("io_write_text", Text(path(name)), Text(name));
  const Object list = call<Object>("os_list_dir", Text(folder));
  EXPECT_EQ(list.sizes(), std::vector<I64>{4});
  EXPECT_EQ(call<std::string>("str_join", list, I64{4}, Text(",")), "a,b,c,x");
  EXPECT_EQ(call<std::string>("str_join", list, I64{1}, Text(",")), "a");
  EXPECT_EQ(call<std::string>("str_join", list, I64{0}, Text(",")), "");
  EXPECT_EQ(trap<std::string>("str_join", list, I64{5}, Text(",")).code(), ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(trap<std::string>("str_join", list, I64{-1}, Text(",")).code(), ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(trap<void>("os_remove", Text(path("x"))).code(), ErrorCode::kIoTrap);
  call<void>("os_remove", Text(deep));
  call<void>("os_rename", Text(path("a")), Text(path("z")));
  EXPECT_EQ(content(path("z")), "a");
  EXPECT_EQ(trap<void>("os_remove", Text(path("a"))).code(), ErrorCode::kIoTrap);
  EXPECT_EQ(trap<Object>("os_list_dir", Text(path("a"))).code(), ErrorCode::kIoTrap);
  EXPECT_FALSE(call<bool>("os_is_dir", Text(path("z"))));
}

TEST_F(Natives, ConsoleWritesInOrder) {
  call<void>("io_write", Text("a"));
  const std::vector<std::uint8_t> bytes{'x', 'b', 'c', 'y'};
  call<void>("io_write_bytes_out", std::span<const std::uint8_t>(bytes), I64{1}, I64{2});
  call<void>("io_flush");
  EXPECT_EQ(host.output, "abc");
  call<void>("io_write_error", Text("e"));
  EXPECT_EQ(host.errors, "e");
}

TEST_F(Natives, ConsoleReadsWhatIsLeft) {
  bool first = true;
  Isolate reading =
      need(Isolate::create(need(Module::assemble(host.engine, native_program())),
                           {.standard_input = [&first](std::span<char> into) -> Result<std::size_t> {
                             return std::exchange(first, false) ? Text("one\ntwo\n").copy(into.data(), 8) : 0;
                           }}));
  EXPECT_EQ(need(need(reading.function<std::string()>("io_stdin_read_line"))()), "one");
  EXPECT_EQ(need(need(reading.function<std::string()>("io_stdin_read_text"))()), "two\n");
  EXPECT_EQ(need(need(reading.function<std::string()>("io_stdin_read_text"))()), "");
  EXPECT_TRUE(need(need(reading.function<std::vector<std::uint8_t>()>("io_stdin_read_bytes"))()).empty());
}

TEST_F(Natives, TimeGoesOn) {
  const double before = call<double>("time_monotonic");
  call<void>("time_sleep", 0.02);
  call<void>("time_sleep", -1.0);
  call<void>("time_sleep", std::numeric_limits<double>::quiet_NaN());
  EXPECT_GE(call<double>("time_monotonic"), before + 0.02);
  EXPECT_GT(call<double>("time_now"), 1.7e9);
  EXPECT_EQ(call<std::string>("time_format", 0.0, Text("")), "1970-01-01T00:00:00Z");
  EXPECT_EQ(call<std::string>("time_format", 86399.9, Text("%H:%M")), "23:59");
  EXPECT_EQ(call<std::string>("time_format", -1.0, Text("%Y")), "1969");
  EXPECT_EQ(call<std::string>("time_format", 0.0, Text("%%")), "%");
  EXPECT_EQ(trap<std::string>("time_format", 1e300, Text("")).code(), ErrorCode::kUserTrap);
  EXPECT_EQ(trap<std::string>("time_format", std::nan(""), Text("")).code(), ErrorCode::kUserTrap);
}

TEST_F(Natives, SleepIsInterruptible) {
  std::thread other([this] {
    std::this_thread::sleep_for(30ms);
    isolate.interrupt();
  });
  EXPECT_EQ(trap<void>("time_sleep", 3600.0).code(), ErrorCode::kInterrupted);
  other.join();
  isolate.set_deadline(20ms);
  EXPECT_EQ(trap<void>("time_sleep", 3600.0).code(), ErrorCode::kDeadline);
}

TEST_F(Natives, TheSystemIsKnown) {
  ::setenv("DHPVM_TEST_VARIABLE", "value", 1);
  EXPECT_EQ(call<std::string>("os_env", Text("DHPVM_TEST_VARIABLE")), "value");
  EXPECT_FALSE(call<Object>("os_env", Text("DHPVM_TEST_UNSET_VARIABLE")));
  EXPECT_EQ(call<I64>("os_pid"), ::getpid());
  EXPECT_GE(call<I64>("os_cpu_count"), 1);
  const I64 before = call<I64>("os_collections");
  call<void>("os_gc");
  EXPECT_GT(call<I64>("os_collections"), before);
  EXPECT_GE(call<I64>("os_heap_bytes"), 0);
  EXPECT_EQ(call<I64>("os_off_heap_bytes"), 0);
  EXPECT_NE(call<I64>("random_entropy"), call<I64>("random_entropy"));
}

TEST(NativeTable, SignaturesLoseTheirNames) {
  EXPECT_EQ(stdlib::without_parameter_names("(str path, [u8], i64 at) -> (bool, i64)"),
            "(str, [u8], i64) -> (bool, i64)");
  EXPECT_EQ(stdlib::without_parameter_names("([f32, 2] a)"), "([f32, 2])");
  EXPECT_EQ(stdlib::without_parameter_names("() -> f64"), "() -> f64");
}

}  // namespace
}  // namespace dhpvm
