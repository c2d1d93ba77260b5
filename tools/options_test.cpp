// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <gtest/gtest.h>

namespace dhpvm::tools {
namespace {

using namespace std::chrono_literals;

constexpr Option kTable[] = {
    {"Output", "--output", 'o', Value::kRequired, "FILE", "where to"},
    {"Output", "--strip", 0, Value::kNone, "", "smaller"},
    {"Output", "--a-very-long-option-name", 0, Value::kRequired, "SOMETHING", "first line\nsecond line"},
    {"Other", "--stats", 0, Value::kOptional, "json", "counters"},
};

Result<Arguments> parse(std::vector<const char*> words, Operands operands = Operands::kAnywhere) {
  return parse_arguments(kTable, words, operands);
}

TEST(ParseArguments, TakesAllForms) {
  const auto arguments =
      parse({"--output=a", "-o", "b", "-oc", "--output", "d", "--stats", "--stats=json", "x", "--strip"});
  ASSERT_TRUE(arguments.ok()) << arguments.error().message();
  EXPECT_EQ(*arguments->last("--output"), "d");
  EXPECT_EQ(arguments->options.size(), 7u);
  EXPECT_EQ(*arguments->last("--stats"), "json");
  EXPECT_TRUE(arguments->has("--strip"));
  EXPECT_FALSE(arguments->has("--a-very-long-option-name"));
  EXPECT_EQ(arguments->operands, std::vector<std::string>{"x"});
}

TEST(ParseArguments, TheFirstOperandMayEndTheOptions) {
  const auto arguments = parse({"--strip", "program", "--strip", "-x", "--", "y"}, Operands::kEndOptions);
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->options.size(), 1u);
  EXPECT_EQ(arguments->operands, (std::vector<std::string>{"program", "--strip", "-x", "--", "y"}));
}

TEST(ParseArguments, DashesAloneHaveTheirMeaning) {
  const auto arguments = parse({"-", "--", "--strip", "-", "--"});
  ASSERT_TRUE(arguments.ok());
  EXPECT_TRUE(arguments->options.empty());
  EXPECT_EQ(arguments->operands, (std::vector<std::string>{"-", "--strip", "-", "--"}));
}

TEST(ParseArguments, MistakesAreNamed) {
  const auto message = [](std::vector<const char*> words) {
    const auto arguments = parse(std::move(words));
    return arguments.ok() ? std::string("no error") : arguments.error().message();
  };
  EXPECT_EQ(message({"--stirp"}), "unknown option '--stirp'; did you mean --strip?");
  EXPECT_EQ(message({"--stast"}), "unknown option '--stast'; did you mean --stats?");
  EXPECT_EQ(message({"--outptu=x"}), "unknown option '--outptu'; did you mean --output?");
  EXPECT_EQ(message({"--nothing-like-it-at-all"}), "unknown option '--nothing-like-it-at-all'");
  EXPECT_EQ(message({"-x"}), "unknown option '-x'");
  EXPECT_EQ(message({"--strip=1"}), "option --strip takes no value");
  EXPECT_EQ(message({"x", "--output"}), "option --output needs a value: -o, --output=FILE");
  EXPECT_EQ(message({"--output="}), "option --output needs a file: -o, --output=FILE");
  EXPECT_EQ(message({"-o", ""}), "option --output needs a file: -o, --output=FILE");
  EXPECT_EQ(message({"--stats="}), "no error");
}

TEST(HelpText, GroupsAndAligns) {
  EXPECT_EQ(help_text("usage: x\n", kTable, "\nend\n"),
            "usage: x\n"
            "\nOutput:\n"
            "  -o, --output=FILE         where to\n"
            "  --strip                   smaller\n"
            "  --a-very-long-option-name=SOMETHING\n"
            "                            first line\n"
            "                            second line\n"
            "\nOther:\n"
            "  --stats[=json]            counters\n"
            "\nend\n");
}

TEST(ParseSize, KnowsUnits) {
  EXPECT_EQ(parse_size("0").value_or(1), 0u);
  EXPECT_EQ(parse_size("123").value_or(0), 123u);
  EXPECT_EQ(parse_size("123B").value_or(0), 123u);
  EXPECT_EQ(parse_size("64M").value_or(0), 64u << 20);
  EXPECT_EQ(parse_size("64MiB").value_or(0), 64u << 20);
  EXPECT_EQ(parse_size("3g").value_or(0), 3ull << 30);
  EXPECT_EQ(parse_size("1T").value_or(0), 1ull << 40);
  for (const char* bad :
       {"", "M", "-1", "1.5M", "1X", "1MX", " 1", "1 M", "99999999999999999999", "16777216T"}) {
    EXPECT_FALSE(parse_size(bad).ok()) << bad;
  }
}

TEST(ParseDuration, KnowsUnits) {
  EXPECT_EQ(parse_duration("2s").value_or(0ns), 2s);
  EXPECT_EQ(parse_duration("1.5ms").value_or(0ns), 1500us);
  EXPECT_EQ(parse_duration("250us").value_or(0ns), 250us);
  EXPECT_EQ(parse_duration("7ns").value_or(0ns), 7ns);
  EXPECT_EQ(parse_duration("3m").value_or(0ns), 3min);
  EXPECT_EQ(parse_duration("1h").value_or(0ns), 1h);
  for (const char* bad : {"", "2", "s", "-1s", "1d", "inf s", "nans", "1e300h", "2 s"}) {
    EXPECT_FALSE(parse_duration(bad).ok()) << bad;
  }
}

TEST(ParseCount, TakesWholeNumbers) {
  EXPECT_EQ(parse_count("1_000_000").value_or(0), 1'000'000u);
  EXPECT_EQ(parse_count("18446744073709551615").value_or(0), UINT64_MAX);
  for (const char* bad : {"", "-1", "+1", "1.0", "1k", "18446744073709551616"})
    EXPECT_FALSE(parse_count(bad).ok()) << bad;
}

TEST(ParseFactor, TakesNumbersAboveZero) {
  EXPECT_EQ(parse_factor("8").value_or(0), 8.0);
  EXPECT_EQ(parse_factor("0.5").value_or(0), 0.5);
  for (const char* bad : {"", "0", "-1", "x", "1x", "nan", "inf"})
    EXPECT_FALSE(parse_factor(bad).ok()) << bad;
}

}  // namespace
}  // namespace dhpvm::tools
