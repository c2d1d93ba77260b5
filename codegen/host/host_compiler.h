// SPDX-License-Identifier: Apache-2.0
// From an LLVM module to code that can be called in this process: target, optimiser, emission, cache and
// linker together.
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
  std::shared_ptr<CodeCache> cache;  // null: nothing is kept
  Tracer* tracer = nullptr;          // one slice per phase of a compilation; must outlive the compiler
};

struct CompileRequest {
  IrModule ir;
  Pipeline pipeline = Pipeline::kFunctions;
  // Undefined symbols are looked for here, then in the compiler's own table.
  std::span<const NamedAddress> symbols;
  // If given, the object file is kept in the cache under it, with `metadata`. The module must then name
  // addresses of this process by symbols: as constants they would be wrong in the next one.
  const CacheKey* key = nullptr;
  std::span<const std::byte> metadata;
  std::uint32_t track = 0;  // of the tracer
  // For people to read: the module after optimisation, and its assembly. The second costs another code
  // generation.
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
  std::string ir, assembly;  // if asked for
};

// Sums over all threads.
struct HostStats {
  std::uint64_t compiled = 0;
  std::uint64_t failed = 0;
  std::uint64_t object_bytes = 0;
  CompileTimes times;
};

// Thread-safe: any number of threads may compile at once. A thread that compiles needs a stack of 8 MiB: LLVM
// recurses on expressions.
class HostCompiler {
 public:
  // `cpu` is for Target::create; `symbols` is what compiled code may call.
  static Result<std::unique_ptr<HostCompiler>> create(std::string_view cpu,
                                                      std::unique_ptr<SymbolTable> symbols,
                                                      HostOptions options = {});
  ~HostCompiler();
  HostCompiler(const HostCompiler&) = delete;
  HostCompiler& operator=(const HostCompiler&) = delete;

  const Target& target() const { return target_; }
  // The functions that compiled code may call.
  SymbolTable& symbols();

  // An empty module in a context of its own, with the target's triple and data layout.
  IrModule new_module(std::string_view name) const;

  // Optimises a module, makes machine code of it and loads that. kLink for undefined symbols, kOutOfMemory
  // when there is no memory for the compilation, kInternal when the module is invalid or LLVM cannot compile
  // it.
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
  std::vector<std::unique_ptr<llvm::TargetMachine>> idle_;  // as many as were in use at once
  HostStats stats_;
};

}  // namespace dhpvm::codegen
