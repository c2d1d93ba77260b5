// SPDX-License-Identifier: Apache-2.0
// Loads object files from memory as callable code, and unloads them.
//
// Objects are position-independent code with the relocations of LLVM's small code model (relocations.h). Each object
// gets its own pages: code, constants and variables lie within 2 GiB of each other, and outside functions are reached
// through a table next to them. Pages are writable while they are filled and executable afterwards, never both.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cached/load_watch.h"
#include "codegen/cached/symbols.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen {

struct LinkerOptions {
  // With either of these, code is never unloaded, because debuggers and profilers cannot be told so.
  bool debugger = false;  // tell gdb about the code, by its interface for just-in-time compilers
  bool profiler = false;  // name the code for perf, in /tmp/perf-PID.map
  // Called for every loaded function, from any thread; may be empty.
  std::function<void(const void* begin, std::size_t size, std::string_view name)> loaded = {};

  // Whether debuggers or profilers may unwind the stack through the code.
  bool is_traceable() const { return debugger || profiler || loaded; }
};

// Loaded code and its memory. When it is destroyed, no thread may be in the code or enter it later. It keeps the
// libraries open that it calls.
class LoadedCode {
 public:
  class State;
  explicit LoadedCode(std::unique_ptr<State> state);
  ~LoadedCode();
  LoadedCode(LoadedCode&&) noexcept;
  LoadedCode& operator=(LoadedCode&&) noexcept;

  // The address of the object's global symbol `name`, or null.
  void* address(std::string_view name) const;
  template <typename Function>
  Function* function(std::string_view name) const {
    return reinterpret_cast<Function*>(address(name));
  }

 private:
  std::unique_ptr<State> state_;
};

// Thread-safe.
class Linker {
 public:
  static Result<std::unique_ptr<Linker>> create(std::unique_ptr<SymbolTable> symbols,
                                                const LinkerOptions& options = {});
  ~Linker();
  Linker(const Linker&) = delete;
  Linker& operator=(const Linker&) = delete;

  // The table given to create.
  SymbolTable& symbols();

  // Loads `object`, whose bytes need not outlive the call. Undefined symbols are resolved in `symbols`, then in the
  // linker's own table; kLink names those that are in neither. kInternal for a malformed file, kOutOfMemory if there is
  // no memory for the code.
  Result<LoadedCode> load(std::span<const std::byte> object, std::span<const NamedAddress> symbols = {});

 private:
  Linker(std::shared_ptr<SymbolTable> symbols, const LinkerOptions& options);

  const std::shared_ptr<SymbolTable> symbols_;
  const LinkerOptions options_;
  std::vector<LoadWatch> watches_;
};

}  // namespace dhpvm::codegen
