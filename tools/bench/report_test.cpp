// SPDX-License-Identifier: Apache-2.0
// Figures and reports of dhpvm-bench, from measurements that are made up.
#include "bench/report.h"

#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "bench/model.h"
#include "bench/page.h"
#include "bench/svg.h"

namespace dhpvm::tools {
namespace {

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Measurement measurement(Mode mode, double seconds, std::uint64_t chunks) {
  Measurement made;
  made.mode = mode;
  made.chunks_wanted = mode == Mode::kPipelined ? chunks : 0;
  made.run.seconds = seconds;
  made.run.stages = {0.002, 0.004, 0.001};
  made.run.loops = 1;
  made.run.chunks = chunks;
  made.run.upload_bytes = 1000;
  made.run.registrations = 1;
  made.run.timeline = {{DeviceOperation::Kind::kUpload, 0, 0.002},
                       {DeviceOperation::Kind::kLaunch, 0.002, 0.006}};
  made.seconds = {seconds};
  made.device.copy_engines = 2;
  return made;
}

// Serial pageable in 9 ms, pinned in 7 ms, the best of the sweep in 4.5 ms, automatic in `automatic` seconds.
Case example(const Kernel& kernel, double automatic) {
  Case one;
  one.kernel = &kernel;
  one.size = 2;
  one.bytes = std::uint64_t{128} << 20;
  one.measurements = {measurement(Mode::kSerialPageable, 0.009, 1),
                      measurement(Mode::kSerialPinned, 0.007, 1), measurement(Mode::kPipelined, 0.006, 2),
                      measurement(Mode::kPipelined, 0.0045, 16),
                      measurement(Mode::kAutomatic, automatic, 12)};
  return one;
}

class Report : public ::testing::Test {
 protected:
  Report() {
    device_.name = "sim?a=1&b=2";
    device_.description = "made up <fast>";
    device_.is_simulated = true;
    device_.copy_engines = 2;
    device_.memory_bytes = std::uint64_t{64} << 20;
    plan_.kernels = {&kernel_};
    plan_.sizes = {2};
    plan_.settings.device = device_.name;
    plan_.settings.budget = device_.memory_bytes;
  }

  const Kernel kernel_ = {"saxpy", "saxpy", 0, 2, 12, 0, "y += a x, in place"};
  DeviceUse device_;
  Plan plan_;
};

TEST_F(Report, NumbersHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(time_text(0), "0 us");
  EXPECT_EQ(time_text(12.34e-6), "12.3 us");
  EXPECT_EQ(time_text(999.4e-6), "999 us");
  EXPECT_EQ(time_text(999.6e-6), "1 ms");
  EXPECT_EQ(time_text(2.346e-3), "2.35 ms");
  EXPECT_EQ(time_text(0.9996), "1 s");
  EXPECT_EQ(time_text(75), "75 s");
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.5 KB");
  EXPECT_EQ(size_text(std::uint64_t{64} << 20), "64 MB");
  EXPECT_EQ(size_text(std::uint64_t{3} << 42), "12 TB");
}

TEST_F(Report, TheIdealHidesAllButTheLongestStage) {
  const Stages stages{2, 4, 1};
  EXPECT_EQ(serial_seconds(stages), 7);
  EXPECT_EQ(ideal_seconds(stages, 1, 2), 7);
  EXPECT_EQ(ideal_seconds(stages, 3, 2), 5);
  EXPECT_EQ(ideal_seconds(stages, 0, 2), 7) << "no chunk is as good as one";
  // One engine does both copies, which then take longest; none does them where kernels run.
  EXPECT_EQ(ideal_seconds({3, 4, 2}, 4, 1), 6);
  EXPECT_EQ(ideal_seconds(stages, 100, 0), 7);
}

TEST_F(Report, TheSummaryIsOfAllCases) {
  std::vector<Case> cases = {example(kernel_, 0.0045), example(kernel_, 0.0090)};
  Summary summary = summary_of(cases);
  EXPECT_EQ(summary.cases, 2u);
  EXPECT_EQ(summary.wrong, 0u);
  EXPECT_DOUBLE_EQ(summary.worst_choice, 2);
  EXPECT_DOUBLE_EQ(summary.mean_choice, std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(summary.best_over_pageable, 2);
  EXPECT_DOUBLE_EQ(summary.mean_over_pageable, std::sqrt(2.0));
  EXPECT_EQ(summary.registrations, 10u);
  cases[1].measurements[2].difference = "element 3 is 1 instead of 2";
  EXPECT_EQ(summary_of(cases).wrong, 1u);
  EXPECT_EQ(summary_of({}).cases, 0u);
  // best_in_turns, measured in turns with the automatic choice, takes precedence over the best of the sweep.
  cases[1].best_in_turns = 0.0072;
  EXPECT_DOUBLE_EQ(summary_of(cases).worst_choice, 1.25);
}

TEST_F(Report, ThereIsALineForEachCase) {
  Case one = example(kernel_, 0.0045);
  const std::string line = table_line(one);
  EXPECT_EQ(count(line, "\n"), 1u);
  for (const char* const part :
       {"saxpy", "2x", "128 MB", "4.5 ms /16", "4.5 ms /12", "1.000", "2.00", "same"})
    EXPECT_NE(line.find(part), std::string::npos) << part << " in " << line;
  one.measurements[0].difference = "element 3 is 1 instead of 2";
  EXPECT_NE(table_line(one).find("DIFFER"), std::string::npos);
  const std::string closing = table_closing({one}, device_);
  EXPECT_NE(closing.find("WRONG: saxpy x 2, serial pageable: element 3 is 1 instead of 2"), std::string::npos)
      << closing;
  EXPECT_NE(closing.find("SIMULATED"), std::string::npos);
}

TEST_F(Report, JsonHasAllMeasurements) {
  Case one = example(kernel_, 0.0045);
  one.measurements[3].difference = "element 3 is 1 instead of 2";
  const nlohmann::json json = nlohmann::json::parse(report_json({one}, plan_, device_));
  EXPECT_EQ(json["benchmark"], "batching");
  EXPECT_EQ(json["device"]["name"], "sim?a=1&b=2");
  EXPECT_EQ(json["device"]["simulated"], true);
  EXPECT_EQ(json["summary"]["wrong"], 1);
  ASSERT_EQ(json["cases"].size(), 1u);
  EXPECT_EQ(json["cases"][0]["kernel"], "saxpy");
  EXPECT_EQ(json["cases"][0]["verified"], false);
  const nlohmann::json& measurements = json["cases"][0]["measurements"];
  ASSERT_EQ(measurements.size(), 5u);
  EXPECT_EQ(measurements[0]["mode"], "serial pageable");
  EXPECT_FALSE(measurements[0].contains("chunks_wanted"));
  EXPECT_EQ(measurements[3]["chunks_wanted"], 16);
  EXPECT_EQ(measurements[3]["difference"], "element 3 is 1 instead of 2");
  EXPECT_EQ(measurements[4]["mode"], "automatic");
  EXPECT_DOUBLE_EQ(measurements[4]["serial_model_seconds"], 0.007);
  EXPECT_DOUBLE_EQ(measurements[4]["overlap_efficiency"], (0.004 + 0.003 / 12) / 0.0045);
}

TEST_F(Report, ThePageIsOneFileWithEverything) {
  Case one = example(kernel_, 0.0045);
  one.measurements[3].difference = "1 < 2";
  const std::string page = report_page({one}, plan_, device_);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(page.ends_with("</body></html>\n"));
  EXPECT_NE(page.find("Simulated."), std::string::npos);
  EXPECT_NE(page.find("sim?a=1&amp;b=2"), std::string::npos);
  EXPECT_NE(page.find("made up &lt;fast&gt;"), std::string::npos);
  EXPECT_EQ(page.find("<fast>"), std::string::npos);
  EXPECT_EQ(count(page, "<tr"), 1 + one.measurements.size());
  EXPECT_EQ(count(page, "<tr class=\"differ\">"), 1u);
  // Bars, efficiencies, a sweep and a timeline, in addition to the small ones of the keys.
  EXPECT_GE(count(page, "role=\"img\""), 4u);
  for (const char* const element : {"svg", "table", "p", "h2"})
    EXPECT_EQ(count(page, "</" + std::string(element) + ">"),
              count(page, "<" + std::string(element) + " ") + count(page, "<" + std::string(element) + ">"))
        << element;
  // Nothing is fetched from elsewhere.
  for (const char* const part : {"src=", "href=", "@import", "url("})
    EXPECT_EQ(page.find(part), page.npos) << part;
}

TEST_F(Report, TextInPicturesIsEscaped) {
  EXPECT_EQ(escaped("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
  Svg svg(10, 20, "x<y");
  svg.rectangle(1, 2, 3, 4, "best", "5 & 6");
  svg.text(0, 0, "<");
  const std::string text = std::move(svg).finish();
  EXPECT_TRUE(text.starts_with("<svg "));
  EXPECT_TRUE(text.ends_with("</svg>\n"));
  EXPECT_NE(text.find("aria-label=\"x&lt;y\""), std::string::npos);
  EXPECT_NE(text.find("<title>5 &amp; 6</title></rect>"), std::string::npos);
  EXPECT_NE(text.find(">&lt;</text>"), std::string::npos);
}

TEST(BenchKernels, AllHaveTheirPrograms) {
  ASSERT_FALSE(kernels().empty());
  for (const Kernel& kernel : kernels()) {
    EXPECT_TRUE(program_text(kernel.program).ok()) << kernel.name;
    const auto found = find_kernel(kernel.name);
    ASSERT_TRUE(found.ok()) << kernel.name;
    EXPECT_EQ(*found, &kernel) << "two kernels are called " << kernel.name;
  }
  const auto unknown = find_kernel("saxpi");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code(), ErrorCode::kNotFound);
  EXPECT_NE(unknown.error().message().find("saxpy"), std::string::npos);
  EXPECT_EQ(program_text("nothing").error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace dhpvm::tools
