// SPDX-License-Identifier: Apache-2.0
// The symbols that compiled code may refer to: the runtime's functions, C's memory functions, libm, and glibc's vector
// math. No other symbol of the process is visible.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dhpvm::codegen {

// A symbol that the caller defines: a function of the runtime, or a piece of data.
struct NamedAddress {
  std::string name;
  const void* address = nullptr;
};

class SymbolTable {
 public:
  SymbolTable();
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // Call it before threads share the table. A later definition of a name replaces an earlier one.
  void add(NamedAddress symbol);

  // The address of `name`, or null. Thread-safe. The first use of a mathematical function loads its library.
  const void* find(std::string_view name);

 private:
  // A shared library that is opened at first use; a missing one defines no symbols.
  struct Library {
    explicit Library(const char* name) : file(name) {}

    const char* const file;
    std::once_flag opened;
    void* handle = nullptr;
    void* base = nullptr;  // its load address
  };
  static const void* find_in(Library& library, const std::string& name);

  std::unordered_map<std::string, const void*> table_;
  Library math_;
  Library vector_math_;
};

}  // namespace dhpvm::codegen
