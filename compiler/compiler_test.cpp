// SPDX-License-Identifier: Apache-2.0
#include "compiler/compiler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler {
namespace {

std::string message_of(std::string_view source, const CompileOptions& options = {}) {
  const Result<bytecode::Module> module = compile(source, options);
  if (module.ok()) return "";
  EXPECT_EQ(module.error().code(), ErrorCode::kCompile);
  return module.error().message();
}

TEST(CompilerTest, GivesAModule) {
  const Result<bytecode::Module> module = compile("fn main() { let x = 1; }", {});
  ASSERT_TRUE(module.ok()) << module.error().message();
  EXPECT_FALSE(module->functions.empty());
}

TEST(CompilerTest, RendersWhatIsWrong) {
  CompileOptions options;
  options.file_name = "a.dhp";
  EXPECT_EQ(message_of("fn main() { let x = 1 }", options),
            "a.dhp:1:22: error: expected `;` after the declaration\n"
            "    1 | fn main() { let x = 1 }\n"
            "      |                      ^\n"
            "  help: write `;` here");
  EXPECT_EQ(message_of("fn main() { let x = 1 }", options).find('\x1b'), std::string::npos);
  options.colour = true;
  EXPECT_NE(message_of("fn main() { let x = 1 }", options).find('\x1b'), std::string::npos);
}

TEST(CompilerTest, ReportsMistakesOfSyntaxAndTypesTogether) {
  const std::string message =
      message_of("fn main() {\n  let x = 1 + ;\n  let y: i64 = \"a\";\n  return x\n}\n");
  EXPECT_NE(message.find("program.dhp:2:15: error: expected an expression"), std::string::npos) << message;
  EXPECT_NE(message.find("program.dhp:3:16: error: 'i64' expected, found 'str'"), std::string::npos)
      << message;
}

TEST(CompilerTest, DoesNotMissWhatSyntaxErrorsHaveSwallowed) {
  const std::string message = message_of("fn f(x: ) { }\nfn main() { f(1); g(); }\n");
  EXPECT_NE(message.find("1:9: error: expected a type"), std::string::npos) << message;
  EXPECT_EQ(message.find("2:"), std::string::npos) << message;
}

// A statement with a syntax error may have been a `return`, or a call that narrows `x`.
TEST(CompilerTest, SaysNothingOfWhatFollowsFromSyntaxErrors) {
  const std::string message = message_of(
      "fn f(x: i64?) -> i64 {\n  if x == null { retrun 1; }\n  return x;\n}\n"
      "fn g() -> i64 {\n  ret 1;\n}\nfn main() { }\n");
  EXPECT_EQ(std::count(message.begin(), message.end(), '^'), 2) << message;
}

TEST(CompilerTest, ReadsImports) {
  const std::map<std::string, std::string> files{
      {"lib/shapes.dhp", "fn area(r: f64) -> f64 => 3.0 * r * r;"}};
  CompileOptions options;
  options.import_paths = {"lib"};
  options.read = [&](const std::string& path) -> Result<std::string> {
    if (const auto file = files.find(path); file != files.end()) return file->second;
    return error(ErrorCode::kNotFound, "no such file");
  };
  EXPECT_EQ(message_of("import shapes; fn main() { let a: f64 = shapes.area(2.0); }", options), "");
  EXPECT_NE(message_of("import shaeps; fn main() { }", options).find("there is no module 'shaeps'"),
            std::string::npos);
}

// The import has reported the missing module; its uses need not repeat it.
TEST(CompilerTest, ReportsAMissingModuleOnce) {
  CompileOptions options;
  options.read = [](const std::string&) -> Result<std::string> {
    return error(ErrorCode::kNotFound, "none");
  };
  const std::string message = message_of(
      "import shapes; fn main() { shapes.draw(1); let c = shapes.Circle(2); print(shapes.pi); }", options);
  EXPECT_EQ(std::count(message.begin(), message.end(), '^'), 1) << message;
}

TEST(CompilerTest, RefusesHugeSources) {
  EXPECT_NE(message_of(std::string(SourceManager::kMaxFileBytes, ' ')).find("at most"), std::string::npos);
}

}  // namespace
}  // namespace dhpvm::compiler
