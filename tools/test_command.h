// SPDX-License-Identifier: Apache-2.0
// dhpvm-run --test: runs the functions of programs that are tests.
#pragma once

#include <string>
#include <vector>

#include "dhpvm/engine.h"
#include "dhpvm/limits.h"
#include "dhpvm/module.h"
#include "ending.h"
#include "options.h"

namespace dhpvm::tools {

struct TestRequest {
  std::vector<std::string> files;
  // A test runs if one of them matches its name, or if there is none. With * and ? a filter stands for the whole name,
  // otherwise for a part of it.
  std::vector<std::string> filters;
  unsigned jobs = 0;  // tests that run at once; 0: one for each core
  std::string junit;  // files to be written; empty: none
  std::string coverage;
};

// The options for tests; kInvalidArgument for options that make no sense with them.
Result<TestRequest> test_request_of(const Arguments& arguments);

// kInvalidArgument for an option for tests on a command line without --test.
Status check_without_tests(const Arguments& arguments);

// Runs every test in an isolate of its own, so that a trap ends only that test. Prints the results in the order of
// files and sources, and returns 0 if all have passed, or 1. A signal ends the running tests, and then the process.
Ending run_tests(const TestRequest& request, const EngineOptions& engine, const IsolateOptions& isolate,
                 const CompileOptions& compile);

}  // namespace dhpvm::tools
