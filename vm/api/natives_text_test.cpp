// SPDX-License-Identifier: Apache-2.0
// Natives of str and csv, called from a program.
#include <sys/resource.h>

#include "vm/api/natives_test.h"

namespace dhpvm {
namespace {

using Text = std::string_view;
using I64 = std::int64_t;

struct NativeText : Natives {
  std::string slice(Text text, I64 from, I64 to) { return call<std::string>("str_slice", text, from, to); }
};

TEST_F(NativeText, SlicesInsideTheText) {
  EXPECT_EQ(slice("hello", 1, 3), "el");
  EXPECT_EQ(slice("hello", 0, 5), "hello");
  EXPECT_EQ(slice("hello", 5, 5), "");
  EXPECT_EQ(slice("", 0, 0), "");
  for (const auto& [from, to] :
       {std::pair<I64, I64>{-1, 2}, {3, 2}, {0, 6}, {6, 6}, {INT64_MIN, INT64_MAX}}) {
    EXPECT_EQ(trap<std::string>("str_slice", Text("hello"), from, to).code(), ErrorCode::kIndexOutOfRange)
        << from;
  }
}

TEST_F(NativeText, Finds) {
  EXPECT_EQ(call<I64>("str_find", Text("banana"), Text("an"), I64{0}), 1);
  EXPECT_EQ(call<I64>("str_find", Text("banana"), Text("an"), I64{2}), 3);
  EXPECT_EQ(call<I64>("str_find", Text("banana"), Text("x"), I64{0}), -1);
  EXPECT_EQ(call<I64>("str_find", Text("banana"), Text(""), I64{6}), 6);
  EXPECT_EQ(call<I64>("str_find_last", Text("banana"), Text("an")), 3);
  EXPECT_EQ(call<I64>("str_find_last", Text("banana"), Text("x")), -1);
  EXPECT_EQ(trap<I64>("str_find", Text("banana"), Text("a"), I64{7}).code(), ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(trap<I64>("str_find", Text("banana"), Text("a"), I64{-1}).code(), ErrorCode::kIndexOutOfRange);
}

// Where a text lies in the parts in which long ones are searched must not matter.
TEST_F(NativeText, FindsInLongTexts) {
  // Each text has one x, with which the pattern begins. A search with std::string as the reference takes many times
  // as long under a sanitizer, which looks at all bytes that are about to be compared.
  const auto search = [&](const std::string& all, const std::string& what) {
    const auto expected = static_cast<I64>(all.find('x'));
    EXPECT_EQ(call<I64>("str_find", Text(all), Text(what), I64{0}), expected);
    EXPECT_EQ(call<I64>("str_find_last", Text(all), Text(what)), expected);
  };
  // So long that a part of the search has 64 positions.
  const std::string what = "x" + std::string((256 << 10) - 1, 'b');
  for (const std::size_t before : {0u, 1u, 62u, 63u, 64u, 65u, 127u, 128u, 1000u}) {
    std::string all(before, 'a');
    all += what + std::string(1000 - before, 'a');
    search(all, what);
    search(all + what.substr(1), what);
    search(what.substr(1) + all, what);
  }
  EXPECT_EQ(call<std::string>("str_replace", Text("x" + what + "y" + what), Text(what), Text("--")),
            "x--y--");
}

// The size of a result is known before there is memory for it.
TEST_F(NativeText, LimitsHoldForTextsThatGrow) {
  Isolate small = need(Isolate::create(need(Module::assemble(host.engine, native_program())),
                                       {.limits = {.heap_bytes = 16 << 20}}));
  const auto peak = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // in KiB
  };
  const auto before = peak();
  const std::string many(1 << 20, 'a');
  const std::string with(1 << 10, 'b');
  const auto replaced =
      need(small.function<std::string(Text, Text, Text)>("str_replace"))(Text(many), Text("a"), Text(with));
  EXPECT_EQ(replaced.error().code(), ErrorCode::kOutOfMemory);
  const auto repeated = need(small.function<std::string(Text, I64)>("str_repeat"))(Text(many), I64{1024});
  EXPECT_EQ(repeated.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_LT(peak() - before, 256 << 10);
}

TEST_F(NativeText, Transforms) {
  EXPECT_EQ(call<std::string>("str_upper", Text("aZ09é")), "AZ09é");
  EXPECT_EQ(call<std::string>("str_lower", Text("aZ[@É")), "az[@É");
  EXPECT_EQ(call<std::string>("str_trim", Text(" \t\r\n x y \v\f")), "x y");
  EXPECT_EQ(call<std::string>("str_trim", Text("  ")), "");
  EXPECT_EQ(call<std::string>("str_trim", Text("x")), "x");
  EXPECT_EQ(call<std::string>("str_replace", Text("aXbXc"), Text("X"), Text("--")), "a--b--c");
  EXPECT_EQ(call<std::string>("str_replace", Text("aaa"), Text("aa"), Text("b")), "ba");
  EXPECT_EQ(call<std::string>("str_replace", Text("abc"), Text(""), Text("-")), "abc");
  EXPECT_EQ(call<std::string>("str_repeat", Text("ab"), I64{3}), "ababab");
  EXPECT_EQ(call<std::string>("str_repeat", Text("ab"), I64{0}), "");
  EXPECT_EQ(call<std::string>("str_repeat", Text(""), INT64_MAX), "");
  EXPECT_EQ(trap<std::string>("str_repeat", Text("ab"), I64{-1}).code(), ErrorCode::kNegativeLength);
  EXPECT_EQ(trap<std::string>("str_repeat", Text("ab"), INT64_MAX).code(), ErrorCode::kUserTrap);
  EXPECT_EQ(trap<std::string>("str_repeat", Text("ab"), I64{4} << 30).code(), ErrorCode::kUserTrap);
}

TEST_F(NativeText, HashesDependOnEveryByte) {
  EXPECT_EQ(call<I64>("str_hash", Text("a")), call<I64>("str_hash", Text("a")));
  EXPECT_NE(call<I64>("str_hash", Text("a")), call<I64>("str_hash", Text("b")));
  EXPECT_NE(call<I64>("str_hash", Text("ab")), call<I64>("str_hash", Text("ba")));
  // Programs may store hashes: these values, computed by other means, must never change.
  EXPECT_EQ(static_cast<std::uint64_t>(call<I64>("str_hash", Text("dhpvm"))), 744460836458081236u);
  EXPECT_EQ(static_cast<std::uint64_t>(call<I64>("str_hash", Text("a text of several words"))),
            16515899854618734657u);
}

TEST_F(NativeText, ConvertsBytes) {
  const auto bytes = call<Object>("str_to_bytes", Text("h\xc3\xa9"));
  ASSERT_EQ(need(bytes.elements<std::uint8_t>()).size(), 3u);
  EXPECT_EQ(need(bytes.elements<std::uint8_t>())[1], 0xc3);
  EXPECT_EQ(call<std::string>("str_from_bytes", bytes, I64{0}, I64{3}), "h\xc3\xa9");
  EXPECT_EQ(call<std::string>("str_from_bytes", bytes, I64{1}, I64{1}), "");
  EXPECT_EQ(trap<std::string>("str_from_bytes", bytes, I64{-1}, I64{1}).code(), ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(trap<std::string>("str_from_bytes", bytes, I64{2}, I64{1}).code(), ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(trap<std::string>("str_from_bytes", bytes, I64{0}, I64{4}).code(), ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(trap<std::string>("str_from_bytes", bytes, INT64_MIN, INT64_MAX).code(),
            ErrorCode::kIndexOutOfRange);
  EXPECT_EQ(trap<std::string>("str_from_bytes", Object(), I64{0}, I64{0}).code(), ErrorCode::kNullReference);

  std::vector<std::uint8_t> into(4, '.');
  call<void>("str_copy_bytes", Text("ab"), std::span(into), I64{1});
  EXPECT_EQ(into, (std::vector<std::uint8_t>{'.', 'a', 'b', '.'}));
  EXPECT_EQ(trap<void>("str_copy_bytes", Text("ab"), std::span(into), I64{3}).code(),
            ErrorCode::kIndexOutOfRange);
  const std::span<const std::uint8_t> read_only(into);
  EXPECT_EQ(trap<void>("str_copy_bytes", Text("ab"), read_only, I64{0}).code(), ErrorCode::kBorrowEnded);
  call<void>("str_copy_bytes", Text(""), read_only, I64{4});
}

TEST_F(NativeText, KnowsUnicode) {
  using Point = std::tuple<I64, I64>;
  EXPECT_TRUE(call<bool>("str_is_utf8", Text("é€😀")));
  EXPECT_FALSE(call<bool>("str_is_utf8", Text("\xff")));
  EXPECT_EQ(call<std::string>("str_from_code_point", I64{0x20ac}), "€");
  EXPECT_EQ(trap<std::string>("str_from_code_point", I64{0xd800}).code(), ErrorCode::kUserTrap);
  EXPECT_EQ(trap<std::string>("str_from_code_point", I64{-1}).code(), ErrorCode::kUserTrap);
  EXPECT_EQ(call<Point>("str_code_point", Text("a€"), I64{1}), Point(0x20ac, 3));
  EXPECT_EQ(call<Point>("str_code_point", Text("a€"), I64{2}), Point(0xfffd, 1));
  EXPECT_EQ(trap<Point>("str_code_point", Text("a"), I64{1}).code(), ErrorCode::kIndexOutOfRange);
}

TEST_F(NativeText, NumbersBothWays) {
  EXPECT_EQ(call<std::string>("str_from_i64", INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(call<std::string>("str_from_u64", UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(call<std::string>("str_from_f64", 0.1), "0.1");
  EXPECT_EQ(call<std::string>("str_from_f32", 0.1f), "0.1");
  EXPECT_EQ(call<std::string>("str_with_i64", Text("a"), INT64_MIN, Text("b")), "a-9223372036854775808b");
  EXPECT_EQ(call<std::string>("str_with_u64", Text(""), UINT64_MAX, Text("b")), "18446744073709551615b");
  EXPECT_EQ(call<std::string>("str_with_f64", Text("a"), 0.1, Text("")), "a0.1");
  const std::string long_text(10'000, '.');
  EXPECT_EQ(call<std::string>("str_with_i64", Text(long_text), I64{0}, Text(long_text)),
            long_text + "0" + long_text);
  EXPECT_EQ(trap<std::string>("str_with_i64", Text("a"), I64{1}, Object()).code(), ErrorCode::kNullReference);
  EXPECT_EQ(trap<std::string>("str_with_f64", Object(), 1.0, Text("a")).code(), ErrorCode::kNullReference);
  EXPECT_EQ(call<std::string>("str_format_i64", I64{-42}, Text("06d")), "-00042");
  EXPECT_EQ(call<std::string>("str_format_i64", INT64_MIN, Text("x")), "-8000000000000000");
  EXPECT_EQ(call<std::string>("str_format_u64", UINT64_MAX, Text(",")), "18,446,744,073,709,551,615");
  EXPECT_EQ(call<std::string>("str_format_f64", 3.14159, Text(".2f")), "3.14");
  EXPECT_EQ(call<std::string>("str_format_str", Text("x"), Text(">3")), "  x");
  EXPECT_EQ(trap<std::string>("str_format_f64", 1.0, Text("d")).code(), ErrorCode::kUserTrap);
  using Int = std::tuple<bool, I64>;
  using Float = std::tuple<bool, double>;
  EXPECT_EQ(call<Int>("str_parse_i64", Text("-12")), Int(true, -12));
  EXPECT_EQ(call<Int>("str_parse_i64", Text("12a")), Int(false, 0));
  EXPECT_EQ(call<Float>("str_parse_f64", Text("2.5e3")), Float(true, 2500));
  EXPECT_EQ(call<Float>("str_parse_f64", Text("")), Float(false, 0));
  EXPECT_EQ(call<Int>("csv_parse_i64", Text("a, 7 ,b"), I64{2}, I64{5}), Int(true, 7));
  EXPECT_EQ(call<Float>("csv_parse_f64", Text("1.5,x"), I64{0}, I64{3}), Float(true, 1.5));
  EXPECT_EQ(call<Float>("csv_parse_f64", Text("1.5,x"), I64{4}, I64{5}), Float(false, 0));
  EXPECT_EQ(call<Float>("csv_parse_f64", Text("  "), I64{0}, I64{2}), Float(false, 0));
  EXPECT_EQ(trap<Float>("csv_parse_f64", Text("1.5"), I64{0}, I64{4}).code(), ErrorCode::kIndexOutOfRange);
}

TEST_F(NativeText, CsvFindsTheEndOfAField) {
  const Text line = "ab;c\"d\n";
  EXPECT_EQ(call<I64>("csv_field_end", line, I64{0}, I64{';'}), 2);
  EXPECT_EQ(call<I64>("csv_field_end", line, I64{3}, I64{';'}), 4);
  EXPECT_EQ(call<I64>("csv_field_end", line, I64{5}, I64{';'}), 6);
  EXPECT_EQ(call<I64>("csv_field_end", line, I64{7}, I64{';'}), 7);
  EXPECT_EQ(trap<I64>("csv_field_end", line, I64{8}, I64{';'}).code(), ErrorCode::kIndexOutOfRange);
}

TEST_F(NativeText, ImageReadsPlainSamples) {
  std::vector<std::int32_t> samples(4, -1);
  const auto parse = [&](Text text, I64 from, I64 wanted) {
    const std::span<const std::uint8_t> bytes(reinterpret_cast<const std::uint8_t*>(text.data()),
                                              text.size());
    return call<I64>("image_parse_samples", bytes, from, std::span(samples), wanted);
  };
  EXPECT_EQ(parse("xx 1 22\n# 99 comment\n65535\t4", 2, 4), 4);
  EXPECT_EQ(samples, (std::vector<std::int32_t>{1, 22, 65535, 4}));
  EXPECT_EQ(parse("1 2", 0, 4), 2);
  EXPECT_EQ(parse("1 x 2", 0, 4), 1);
  EXPECT_EQ(parse("99999999999999", 0, 1), 0);
  EXPECT_EQ(parse("", 0, 1), 0);
}

TEST_F(NativeText, ResourcesLeakNothing) {
  // Under the address sanitizer a leak fails the test.
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(call<Object>("io_open", Text("/dev/null"), Text("r")));
}

}  // namespace
}  // namespace dhpvm
