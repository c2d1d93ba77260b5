// SPDX-License-Identifier: Apache-2.0
// Writes random parallel loops without races: iterations write only their own elements of arrays that nothing else
// reads in the loop, update other arrays by one kind of atomic operation, and reduce.
#pragma once

#include <string>
#include <vector>

#include "compiler/testing/source_expressions.h"
#include "compiler/testing/source_world.h"

namespace dhpvm::compiler::testing {

class SourceKernels {
 public:
  SourceKernels(SourceWorld& world, SourcePlace& place, SourceExpressions& expressions)
      : world_(world), place_(place), decisions_(world.decisions), expressions_(expressions) {}

  // The declarations that the loop needs, the loop, and statements that use its results. The declarations stay in
  // scope.
  std::string loop();

 private:
  struct Reduction {
    std::string name;
    const SourceType* type = nullptr;
    std::string op;
    unsigned rank = 0;                    // 1 and 2: an array of 8, whose elements are reduced
    const SourceType* element = nullptr;  // of the array: the type, or a struct that has it
    std::string field;                    // empty, or `.name`
  };
  struct Counters {
    std::string name;
    const SourceType* element = nullptr;
    const SourceType* updated = nullptr;  // the element, or one of its fields
    std::string field;                    // empty, or `.name`
    std::string op;
  };
  static bool is_updated(const SourceType& type);
  const SourceType* pick_updated();
  void choose_space();
  std::string range(std::size_t dimension);
  void declare_closure();
  void reduce_elements(Reduction& reduction);
  std::string search();
  void declare_outputs();
  void declare_reductions();
  void declare_counters();
  std::string head();
  std::string body();
  void enter();
  std::string update(const Reduction& reduction);

  SourceWorld& world_;
  SourcePlace& place_;
  Decisions& decisions_;
  SourceExpressions& expressions_;
  std::string before_;
  std::vector<std::string> indices_;   // names of the loop variables
  std::vector<unsigned> low_, sizes_;  // of each dimension
  const SourceType* index_type_ = nullptr;
  std::vector<SourceVariable> outputs_;
  std::vector<Reduction> reductions_;
  std::vector<SourceFunction> closures_;
  std::string best_;  // a variable that is reduced by a function; empty if there is none
  std::vector<Counters> counters_;
};

}  // namespace dhpvm::compiler::testing
