// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/imports.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/spelling.h"
#include "compiler/parse/parser.h"
#include "compiler/text/habits.h"

namespace dhpvm::compiler {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".dhp";
// Loaded on demand: it takes a fifth of the time to compile a small program.
constexpr std::string_view kMaps = "map";
constexpr std::string_view kTypesOfMaps[] = {"Map", "Set"};
// More imports than a person writes.
constexpr std::size_t kMaxModules = 4096;
// Files of a folder that are considered as suggestions for a misspelt module.
constexpr std::size_t kMaxListed = 1000;

std::string dotted(const ast::Import& import) {
  std::string text;
  for (const ast::Name& part : import.path) {
    if (!text.empty()) text += '.';
    text += part.text;
  }
  return text;
}

SourceRange path_range(const ast::Import& import) {
  return join(import.path.front().range, import.path.back().range);
}

// A file that does not exist is not an error yet: the next folder may have it.
Result<std::string> read_module(const std::string& path) {
  std::error_code code;
  if (!fs::exists(path, code)) return error(ErrorCode::kNotFound, "there is no file '{}'", path);
  return read_text_file(path);
}

class Loader {
 public:
  Loader(SourceManager& sources, const ImportOptions& options, Diagnostics& diagnostics)
      : sources_(sources), options_(options), diagnostics_(diagnostics) {}

  ast::Program run(std::string file_name, std::string text) {
    add("", std::move(file_name), std::move(text), {}, false);
    for (const std::string_view name : kKnownModules) {
      if (name != kMaps) builtin(std::string(name));
    }
    while (!waiting_.empty()) {
      const Waiting next = waiting_.front();
      waiting_.pop_front();
      if (uses_maps(*next.module)) builtin(std::string(kMaps));
      for (ast::Import& import : next.module->imports) {
        import.module = next.module->is_stdlib ? builtin(dotted(import)) : find(import, next.folder);
        if (import.module == nullptr && next.module->is_stdlib) not_found(import, {});
      }
    }
    return std::move(program_);
  }

 private:
  struct Waiting {
    ast::Module* module = nullptr;
    std::string folder;  // of its file; empty for the root and for built-in modules
  };

  ast::Module* add(std::string path, std::string file_name, std::string text, std::string folder,
                   bool is_stdlib) {
    const std::uint32_t file = sources_.add(std::move(file_name), std::move(text));
    program_.modules.push_back(parse(sources_, file, {std::move(path), is_stdlib}, diagnostics_));
    ast::Module* module = program_.modules.back().get();
    waiting_.push_back({module, std::move(folder)});
    return module;
  }

  // The built-in module of that name, or null.
  ast::Module* builtin(const std::string& name) {
    const auto same = [&](const BuiltinModule& module) { return module.name == name; };
    const auto found = std::find_if(options_.builtin_modules.begin(), options_.builtin_modules.end(), same);
    if (found == options_.builtin_modules.end()) return nullptr;
    ast::Module*& module = builtin_[name];
    if (module == nullptr) {
      module = add(name, "stdlib/" + name + std::string(kSuffix), std::string(found->text), {}, true);
      module->is_of_host = found->is_of_host;
    }
    return module;
  }

  bool uses_maps(const ast::Module& module) const {
    const std::string_view text = sources_.file(module.file).text();
    const auto is_there = [&](std::string_view name) { return text.find(name) != std::string_view::npos; };
    return !module.is_stdlib && (module.has_map_literals || std::ranges::any_of(kTypesOfMaps, is_there));
  }

  ast::Module* find(const ast::Import& import, const std::string& folder) {
    const std::string name = dotted(import);
    if (ast::Module* module = builtin(name)) return module;
    if (program_.modules.size() >= kMaxModules) {
      diagnostics_.error(path_range(import), "the program has more than {} modules", kMaxModules)
          .help("combine some of them");
      return nullptr;
    }
    std::string relative = name;
    std::replace(relative.begin(), relative.end(), '.', '/');
    relative += kSuffix;

    std::vector<std::string> folders;
    if (!folder.empty()) folders.push_back(folder);
    for (const std::string& path : options_.import_paths) {
      if (std::find(folders.begin(), folders.end(), path) == folders.end()) folders.push_back(path);
    }
    for (const std::string& candidate : folders) {
      const fs::path path = (fs::path(candidate) / relative).lexically_normal();
      const std::string key = path.string();
      if (const auto known = by_path_.find(key); known != by_path_.end()) return known->second;
      Result<std::string> text = options_.read ? options_.read(key) : read_module(key);
      if (text.ok() && text->size() < SourceManager::kMaxFileBytes) {
        // Registered before parsing continues, so that a cyclic import finds it.
        const std::string own_folder = path.has_parent_path() ? path.parent_path().string() : ".";
        return by_path_[key] = add(name, key, std::move(*text), own_folder, false);
      }
      if (text.ok()) {
        diagnostics_.error(path_range(import), "the module '{}' is too large", name)
            .note("{} has {} bytes; at most {} are allowed", key, text->size(),
                  SourceManager::kMaxFileBytes - 1);
        return by_path_[key] = nullptr;
      }
      if (text.error().code() != ErrorCode::kNotFound) {
        diagnostics_.error(path_range(import), "the module '{}' cannot be read: {}", name,
                           text.error().message());
        return by_path_[key] = nullptr;
      }
    }
    not_found(import, folders);
    return nullptr;
  }

  void not_found(const ast::Import& import, const std::vector<std::string>& folders) {
    const std::string name = dotted(import);
    auto& error = diagnostics_.error(path_range(import), "there is no module '{}'", name);
    std::string relative = name;
    std::replace(relative.begin(), relative.end(), '.', '/');
    std::string places = "the standard library";
    for (const std::string& folder : folders) {
      places += ", " + (fs::path(folder) / relative).lexically_normal().string() + std::string(kSuffix);
    }
    error.note("looked for it in {}", places);

    std::set<std::string> names = names_in(folders);
    for (const BuiltinModule& module : options_.builtin_modules) names.emplace(module.name);
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string_view nearest = nearest_name(name, candidates);
    const std::string_view first = import.path.front().text;
    const std::string_view last = import.path.back().text;
    const std::string_view here = module_for_foreign(last);
    if (!here.empty()) {
      error.help("write `import {};`", here);
    } else if (import.path.size() > 1 && names.contains(std::string(last))) {
      error.help("write `import {};`", last);
    } else if (import.path.size() > 1 && names.contains(std::string(first))) {
      error.help("import the module, `import {};`, and name what is in it where it is used: `{}`", first,
                 name);
    } else if (!nearest.empty()) {
      error.help("did you mean `import {};`?", nearest);
    } else {
      error.help("put {}{} beside the importing file, or name its folder with -I", relative, kSuffix);
    }
  }

  // The modules directly in these folders.
  std::set<std::string> names_in(const std::vector<std::string>& folders) const {
    std::set<std::string> names;
    if (options_.read) return names;  // with a custom reader these need not be folders
    for (const std::string& folder : folders) {
      std::error_code code;
      for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
        if (entry->path().extension() == kSuffix) names.insert(entry->path().stem().string());
        if (names.size() >= kMaxListed) return names;
      }
    }
    return names;
  }

  SourceManager& sources_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  ast::Program program_;
  std::deque<Waiting> waiting_;
  std::map<std::string, ast::Module*> builtin_;
  std::map<std::string, ast::Module*> by_path_;  // null: reported as unusable
};

}  // namespace

bool is_known_module(std::string_view name) {
  return std::ranges::find(kKnownModules, name) != std::end(kKnownModules);
}

ast::Program load_program(SourceManager& sources, std::string file_name, std::string text,
                          const ImportOptions& options, Diagnostics& diagnostics) {
  return Loader(sources, options, diagnostics).run(std::move(file_name), std::move(text));
}

}  // namespace dhpvm::compiler
