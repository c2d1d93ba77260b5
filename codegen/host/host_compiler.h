// SPDX-License-Identifier: Apache-2.0
// Compiles an LLVM module to callable code in this process: combines target, optimiser, emission, cache and linker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/trace.h"
#include "codegen/cached/code_cache.h"
#include "codegen/cached/linker.h"
#include "codegen/host/ir_module.h"
#include "codegen/host/optimise.h"
#include "codegen/host/target.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen {

struct HostOptions {
  LinkerOptions linker;
  std::shared_ptr<CodeCache> cache;  // null: no cache
  Tracer* tracer = nullptr;          // one slice per phase of a compilation; must outlive the compiler
};

struct CompileRequest {
  IrModule ir;
  Pipeline pipeline = Pipeline::kFunctions;
  // Undefined symbols are resolved here first, then in the compiler's own table.
  std::span<const NamedAddress> symbols;
  // If given, the object file is stored in the cache under it, with `metadata`. The module must then refer to addresses
  // of this process by symbols: constants would be wrong in the next process.
  const CacheKey* key = nullptr;
  std::span<const std::byte> metadata;
  std::uint32_t track = 0;  // the track of the tracer
  // Listings: the module after optimisation, and its assembly, which costs another code generation.
  bool list_ir = false;
  bool list_assembly = false;
};

struct CompileTimes {
  double optimise_ms = 0;
  double emit_ms = 0;
  double link_ms = 0;
};

struct Compiled {
  LoadedCode code;
  CompileTimes times;
  std::size_t object_bytes = 0;
  std::string ir, assembly;  // if requested
};

// Sums over all threads.
struct HostStats {
  std::uint64_t compiled = 0;
  std::uint64_t failed = 0;
  std::uint64_t object_bytes = 0;
  CompileTimes times;
};

// Thread-safe: any number of threads may compile concurrently. A compiling thread needs a stack of 8 MiB: LLVM recurses
// on expressions.
class HostCompiler {
 public:
  // `cpu` as in Target::create; `symbols` are those that compiled code may refer to.
  static Result<std::unique_ptr<HostCompiler>> create(std::string_view cpu,
                                                      std::unique_ptr<SymbolTable> symbols,
                                                      HostOptions options = {});
  ~HostCompiler();
  HostCompiler(const HostCompiler&) = delete;
  HostCompiler& operator=(const HostCompiler&) = delete;

  const Target& target() const { return target_; }
  // The symbols that compiled code may refer to.
  SymbolTable& symbols();

  // An empty module with its own context, with the target's triple and data layout.
  IrModule new_module(std::string_view name) const;

  // Optimises a module, generates machine code and loads it. kLink for undefined symbols, kOutOfMemory if there is no
  // memory for the compilation, kInternal if the module is invalid or LLVM cannot compile it.
  Result<Compiled> compile(CompileRequest request);
  Result<LoadedCode> compile(IrModule ir, Pipeline pipeline, std::span<const NamedAddress> symbols = {});

  HostStats stats() const;

 private:
  struct Object;

  HostCompiler(Target target, std::unique_ptr<Linker> linker, HostOptions options);

  Result<Object> make_object(CompileRequest& request);
  Status make_object(CompileRequest& request, llvm::TargetMachine& machine, Object& object) const;
  Result<std::unique_ptr<llvm::TargetMachine>> take_machine();
  void give_back(std::unique_ptr<llvm::TargetMachine> machine);
  // Records the time since `begin`, and returns it in milliseconds.
  double phase(std::uint32_t track, std::string_view what, std::string_view module,
               Tracer::Clock::time_point begin) const;

  const Target target_;
  const std::unique_ptr<Linker> linker_;
  const HostOptions options_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<llvm::TargetMachine>> idle_;  // at most as many as were in use concurrently
  HostStats stats_;
};

}  // namespace dhpvm::codegen
