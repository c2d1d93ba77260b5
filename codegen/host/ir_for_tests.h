// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of this folder: modules from text, and work in a child process.
#pragma once

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Support/SourceMgr.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "codegen/host/host_compiler.h"

#if defined(__has_feature)
#define DHPVM_TEST_HAS(sanitizer) __has_feature(sanitizer)
#else
#define DHPVM_TEST_HAS(sanitizer) 0
#endif
#if DHPVM_TEST_HAS(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#endif

namespace dhpvm::codegen {

// The processors to compile for: this one, and the baseline.
#if defined(__x86_64__)
inline constexpr const char* kCpus[] = {"native", "x86-64"};
#else
inline constexpr const char* kCpus[] = {"native"};
#endif

// Disables leak detection for allocations during its lifetime: an abandoned compilation leaks on purpose.
#if DHPVM_TEST_HAS(address_sanitizer)
using LostOnPurpose = __lsan::ScopedDisabler;
#else
struct LostOnPurpose {
  LostOnPurpose() {}
};
#endif

inline std::unique_ptr<HostCompiler> new_compiler(std::string_view cpu = "native", HostOptions options = {}) {
  auto compiler = HostCompiler::create(cpu, std::make_unique<SymbolTable>(), std::move(options));
  if (!compiler.ok()) {
    ADD_FAILURE() << compiler.error().to_string();
    std::abort();
  }
  return std::move(compiler).value();
}

inline IrModule parse(const HostCompiler& compiler, const std::string& text) {
  IrModule ir = compiler.new_module("test");
  llvm::SMDiagnostic problem;
  // True when it fails, as everywhere in LLVM.
  if (llvm::parseAssemblyInto(llvm::MemoryBufferRef(text, "test"), ir.module.get(), nullptr, problem)) {
    ADD_FAILURE() << problem.getLineNo() << ": " << problem.getMessage().str();
  }
  return ir;
}

// Runs `work` in a child process and returns its exit code, or -1 if a signal ended it. Leak detection is off there.
template <typename Work>
int in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ::_exit(work());
    } catch (...) {
      ::_exit(99);  // GoogleTest would catch it and continue with the tests in the child
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace dhpvm::codegen
