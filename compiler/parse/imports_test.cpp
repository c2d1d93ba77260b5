// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/imports.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"

namespace dhpvm::compiler {
namespace {

constexpr BuiltinModule kBuiltin[] = {
    {"list", "import map; class List<T> { }"},
    {"map", "import list; class Map<K, V> { }"},
    {"math", "const pi: f64 = 3.14;"},
};

// A program whose files exist only in a map.
class ImportsTest : public ::testing::Test {
 protected:
  ImportsTest() : diagnostics_(sources_) {
    options_.builtin_modules = kBuiltin;
    options_.import_paths = {"app", "lib"};
    options_.read = [this](const std::string& path) -> Result<std::string> {
      ++reads_[path];
      if (const auto file = files_.find(path); file != files_.end()) return file->second;
      return error(ErrorCode::kNotFound, "no file {}", path);
    };
  }
  void load(const std::string& root) {
    program_ = load_program(sources_, "app/main.dhp", root, options_, diagnostics_);
  }
  const ast::Module* import(std::size_t module, std::size_t index) const {
    return program_.modules.at(module)->imports.at(index).module;
  }

  SourceManager sources_;
  Diagnostics diagnostics_;
  ImportOptions options_;
  std::map<std::string, std::string> files_;
  std::map<std::string, int> reads_;
  ast::Program program_;
};

TEST_F(ImportsTest, RootAlone) {
  options_.builtin_modules = {};
  load("fn main() { }");
  ASSERT_EQ(program_.modules.size(), 1u);
  EXPECT_EQ(program_.modules[0]->path, "");
  EXPECT_FALSE(program_.modules[0]->is_stdlib);
}

// `list` is known without import; `map` is loaded for files that use it. Neither imports the other here.
TEST_F(ImportsTest, ReadsMapsOnDemand) {
  constexpr BuiltinModule kApart[] = {{"list", "class List<T> { }"}, {"map", "class Map<K, V> { }"}};
  options_.builtin_modules = kApart;
  const auto modules = [&](const std::string& root) {
    load(root);
    return program_.modules.size();
  };
  EXPECT_EQ(modules("fn main() { }"), 2u);
  EXPECT_EQ(modules("fn f(m: Map<str, i64>) { }"), 3u);
  EXPECT_EQ(modules("fn f() { let m = [1: 2]; }"), 3u);
  EXPECT_EQ(modules("fn f() { g([:]); }"), 3u);
  EXPECT_EQ(modules("import list;"), 2u);
}

TEST_F(ImportsTest, FollowsImportsAndParsesEachModuleOnce) {
  options_.builtin_modules = std::span(kBuiltin).last(1);  // without the modules that are always loaded
  files_["app/shapes.dhp"] = "import util.text; import math;";
  files_["app/util/text.dhp"] = "import shapes; import sibling;";
  files_["app/util/sibling.dhp"] = "";
  load("import shapes; import util.text as t; import math;");
  EXPECT_EQ(diagnostics_.render(), "");
  ASSERT_EQ(program_.modules.size(), 5u);
  EXPECT_EQ(import(0, 0)->path, "shapes");
  EXPECT_EQ(import(0, 1), import(1, 0)) << "the same module by two ways";
  EXPECT_EQ(import(2, 0), import(0, 0)) << "a circle";
  EXPECT_EQ(import(2, 1)->path, "sibling") << "beside the importing file";
  EXPECT_TRUE(import(0, 2)->is_stdlib);
  EXPECT_EQ(sources_.file(import(0, 1)->file).name(), "app/util/text.dhp");
  EXPECT_EQ(reads_["app/util/text.dhp"], 1);
}

TEST_F(ImportsTest, FindsTheStandardLibraryFirst) {
  files_["app/list.dhp"] = "class List { }";
  load("import list;");
  EXPECT_TRUE(import(0, 0)->is_stdlib);
  EXPECT_EQ(program_.modules.size(), 3u) << "with the map that it imports";
  EXPECT_TRUE(reads_.empty());
}

TEST_F(ImportsTest, LooksInTheImportPathsInOrder) {
  files_["lib/a.dhp"] = "const where = 2;";
  files_["app/b.dhp"] = "const where = 1;";
  files_["lib/b.dhp"] = "const where = 2;";
  load("import a; import b;");
  EXPECT_EQ(sources_.file(import(0, 0)->file).name(), "lib/a.dhp");
  EXPECT_EQ(sources_.file(import(0, 1)->file).name(), "app/b.dhp");
}

TEST_F(ImportsTest, SaysWhereItLooked) {
  load("import math;\nimport lists;\nimport deep.thing;\n");
  EXPECT_EQ(diagnostics_.render(),
            "app/main.dhp:2:8: error: there is no module 'lists'\n"
            "    2 | import lists;\n"
            "      |        ^~~~~\n"
            "  note: looked for it in the standard library, app/lists.dhp, lib/lists.dhp\n"
            "  help: did you mean `import list;`?\n"
            "app/main.dhp:3:8: error: there is no module 'deep.thing'\n"
            "    3 | import deep.thing;\n"
            "      |        ^~~~~~~~~~\n"
            "  note: looked for it in the standard library, app/deep/thing.dhp, lib/deep/thing.dhp\n"
            "  help: put deep/thing.dhp beside the importing file, or name its folder with -I\n");
  EXPECT_EQ(import(0, 1), nullptr);
}

TEST_F(ImportsTest, ReportsErrorsInsideModules) {
  files_["app/bad.dhp"] = "fn f() { let x = ; }";
  load("import bad;");
  EXPECT_TRUE(diagnostics_.render().starts_with("app/bad.dhp:1:18: error: expected an expression"));
}

TEST_F(ImportsTest, ReportsUnreadableFilesOnce) {
  options_.read = [](const std::string& path) -> Result<std::string> {
    return error(ErrorCode::kIo, "{}: permission denied", path);
  };
  load("import secret; import secret as s;");
  EXPECT_EQ(diagnostics_.error_count(), 1u);
  EXPECT_NE(diagnostics_.render().find("cannot be read: app/secret.dhp: permission denied"),
            std::string::npos);
}

TEST_F(ImportsTest, RefusesHugeFiles) {
  files_["app/huge.dhp"] = std::string(SourceManager::kMaxFileBytes, ' ');
  load("import huge;");
  EXPECT_NE(diagnostics_.render().find("the module 'huge' is too large"), std::string::npos);
}

TEST_F(ImportsTest, BoundsTheNumberOfModules) {
  options_.read = [count = 0](const std::string&) mutable -> Result<std::string> {
    return "import m" + std::to_string(++count) + ";";
  };
  load("import m;");
  EXPECT_EQ(diagnostics_.error_count(), 1u);
  EXPECT_EQ(program_.modules.size(), 4096u);
}

TEST(ImportFilesTest, ReadsFilesAndSuggestsThem) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("dhpvm_imports_test_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "shapes.dhp") << "struct Circle { r: f64; }";
  {
    SourceManager sources;
    Diagnostics diagnostics(sources);
    ImportOptions options;
    options.import_paths = {folder.string(), (folder / "missing").string()};
    const ast::Program program =
        load_program(sources, "main.dhp", "import shapes; import shaeps;", options, diagnostics);
    ASSERT_EQ(program.modules.size(), 2u);
    EXPECT_EQ(program.modules[1]->types.at(0)->name.text, "Circle");
    EXPECT_NE(diagnostics.render().find("help: did you mean `import shapes;`?"), std::string::npos)
        << diagnostics.render();
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace dhpvm::compiler
