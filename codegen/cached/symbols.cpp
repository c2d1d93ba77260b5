// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/symbols.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "base/trigonometry.h"

namespace dhpvm::codegen {

SymbolTable::SymbolTable() : math_("libm.so.6"), vector_math_("libmvec.so.1") {
  // Code generation calls these for copies and comparisons of blocks.
  add({"memcpy", reinterpret_cast<const void*>(&std::memcpy)});
  add({"memmove", reinterpret_cast<const void*>(&std::memmove)});
  add({"memset", reinterpret_cast<const void*>(&std::memset)});
  add({"memcmp", reinterpret_cast<const void*>(&std::memcmp)});
  // In place of libm's, which are wrong for large angles.
  add({"sin", reinterpret_cast<const void*>(&sine)});
  add({"cos", reinterpret_cast<const void*>(&cosine)});
  add({"tan", reinterpret_cast<const void*>(&tangent)});
}

SymbolTable::~SymbolTable() {
  if (math_.handle != nullptr) dlclose(math_.handle);
  if (vector_math_.handle != nullptr) dlclose(vector_math_.handle);
}

void SymbolTable::add(NamedAddress symbol) { table_[std::move(symbol.name)] = symbol.address; }

const void* SymbolTable::find(std::string_view name) {
  const std::string key(name);
  if (const auto found = table_.find(key); found != table_.end()) return found->second;
  // _ZGV begins the names of the vector function ABI, such as _ZGVdN4v_sin.
  return find_in(name.starts_with("_ZGV") ? vector_math_ : math_, key);
}

const void* SymbolTable::find_in(Library& library, const std::string& name) {
  std::call_once(library.opened, [&library] {
    library.handle = dlopen(library.file, RTLD_NOW | RTLD_LOCAL);
    link_map* map = nullptr;
    if (library.handle != nullptr && dlinfo(library.handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0) {
      library.base = reinterpret_cast<void*>(map->l_addr);
    }
  });
  if (library.handle == nullptr) return nullptr;
  const void* address = dlsym(library.handle, name.c_str());
  // dlsym looks in the libraries that this one needs as well, that is, in all of libc.
  Dl_info info;
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fbase != library.base) return nullptr;
  return address;
}

}  // namespace dhpvm::codegen
