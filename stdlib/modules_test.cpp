// SPDX-License-Identifier: Apache-2.0
#include "stdlib/modules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/check/warnings.h"
#include "compiler/parse/imports.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/habits.h"
#include "compiler/text/source.h"

namespace dhpvm::stdlib {
namespace {

TEST(ModulesTest, HoldsTheFilesOfThisFolder) {
  ASSERT_TRUE(source("list").has_value());
  EXPECT_NE(source("list")->find("class List<T>"), std::string_view::npos);
  EXPECT_FALSE(source("nonsense").has_value());
  EXPECT_FALSE(source("").has_value());
}

// The compiler names them where an import is missing, and cannot ask this room. Parts of others have a `_`.
TEST(ModulesTest, AreKnownToTheCompiler) {
  for (const compiler::BuiltinModule& module : modules()) {
    const bool is_part = module.name.find('_') != std::string_view::npos;
    EXPECT_EQ(compiler::is_library_module(module.name), !is_part) << module.name;
  }
}

TEST(ModulesTest, AreSortedByName) {
  for (std::size_t i = 1; i < modules().size(); ++i) {
    EXPECT_LT(modules()[i - 1].name, modules()[i].name);
  }
}

// Each on its own, imports included: a module must not rely on what its users import.
TEST(ModulesTest, AllParse) {
  for (const compiler::BuiltinModule& module : modules()) {
    compiler::SourceManager sources;
    compiler::Diagnostics diagnostics(sources);
    const compiler::ImportOptions options{modules(), {}, {}};
    const std::string program = "import " + std::string(module.name) + ";\n";
    compiler::load_program(sources, "test.dhp", program, options, diagnostics);
    EXPECT_FALSE(diagnostics.has_errors()) << module.name << ":\n" << diagnostics.render();
  }
}

// The compiler does not show users warnings about the library, so that only this test reports them.
TEST(ModulesTest, GiveNoWarnings) {
  compiler::SourceManager sources;
  compiler::Diagnostics diagnostics(sources);
  std::string program;
  for (const compiler::BuiltinModule& module : modules()) program += fmt::format("import {};\n", module.name);
  const compiler::ImportOptions options{modules(), {}, {}};
  const auto loaded = compiler::load_program(sources, "test.dhp", program, options, diagnostics);
  for (const auto& module : loaded.modules) {
    if (module->is_stdlib) compiler::warn(*module, loaded, diagnostics);
  }
  EXPECT_TRUE(diagnostics.all().empty()) << diagnostics.render();
}

}  // namespace
}  // namespace dhpvm::stdlib
