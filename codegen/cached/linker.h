// SPDX-License-Identifier: Apache-2.0
// From an object file in memory to code that can be called, and back to nothing.
//
// Objects are position-independent code with what LLVM's small code model has of relocations (relocations.h). An object
// gets pages of its own: code, constants and variables lie within 2 GiB of each other, and what it calls outside is
// reached through a table next to them. Pages are writable while they are filled and executable afterwards, never both
// at once.
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
  // With either of these, loaded code stays in memory for good: what was told about it cannot be taken back.
  bool debugger = false;  // tell gdb about the code, by its interface for just-in-time compilers
  bool profiler = false;  // name the code for perf, in /tmp/perf-PID.map
  // Told of every function that is loaded, from any thread; empty: nobody is.
  std::function<void(const void* begin, std::size_t size, std::string_view name)> loaded = {};

  // Whether somebody walks the stack through the code.
  bool is_traceable() const { return debugger || profiler || loaded; }
};

// Loaded code and its memory. When it goes, no thread may be in the code or enter it any more. It keeps the libraries
// open that it calls.
class LoadedCode {
 public:
  class State;
  explicit LoadedCode(std::unique_ptr<State> state);
  ~LoadedCode();
  LoadedCode(LoadedCode&&) noexcept;
  LoadedCode& operator=(LoadedCode&&) noexcept;

  // Where the object's global symbol `name` is, or null.
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

  // Loads `object`, whose bytes need not live longer than the call. Undefined symbols are looked for in `symbols`, then
  // in the linker's own table; kLink names what is in neither. kInternal for bytes that are not such a file,
  // kOutOfMemory when there is no memory for the code.
  Result<LoadedCode> load(std::span<const std::byte> object, std::span<const NamedAddress> symbols = {});

 private:
  Linker(std::shared_ptr<SymbolTable> symbols, const LinkerOptions& options);

  const std::shared_ptr<SymbolTable> symbols_;
  const LinkerOptions options_;
  std::vector<LoadWatch> watches_;
};

}  // namespace dhpvm::codegen
