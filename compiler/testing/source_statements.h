// SPDX-License-Identifier: Apache-2.0
// Writes random statements; parallel loops are in source_kernels.h.
#pragma once

#include <string>

#include "compiler/testing/phrase.h"
#include "compiler/testing/source_expressions.h"
#include "compiler/testing/source_world.h"

namespace dhpvm::compiler::testing {

class SourceStatements {
 public:
  SourceStatements(SourceWorld& world, SourcePlace& place);

  // `{ .. }` with a few statements, and a `return` at its end if the function has a result and `ends` is kReturns.
  enum class Ending : std::uint8_t { kFallsThrough, kReturns };
  std::string block(Ending ending = Ending::kFallsThrough);
  // Limits the total number of statements.
  void set_budget(unsigned statements) { budget_ = statements; }

 private:
  using Types = const std::vector<const SourceType*>&;

  void statement();
  void simple();
  void compound();
  void declare_tuple();
  void declare();
  void declare_mixed();
  void declare_fixed_array();
  void check();
  void assign();
  void choose();
  void repeat_while();
  void repeat_while_let();
  void count();
  void visit();
  void match_number();
  void match_tuple();
  void match_object();
  void narrow();
  void let_condition(const SourceType& nullable, const SourceType& type);
  void attempt();
  void leave_loop();
  void leave_function();
  void unwrap_or_leave();
  void open_resource();
  void print();
  void nested();
  void call_method();
  void change_collection();
  void change_list(const SourceVariable& list);
  void change_map(const SourceVariable& map);
  void parallel();
  // source_features.cpp
  void feature();
  void visit_pairs();
  void visit_tuples();
  void visit_own();
  void visit_text();
  void exchange();
  void match_text();
  void match_interface();
  void let_case();
  void drain();
  void attempt_value();
  void declare_recursive();
  void use_containers();
  void use_generics();
  void use_own_elements();
  void use_fixed_arrays();
  void use_objects();
  void count_words();
  void show_rest();
  // source_methods.cpp
  void use_methods();
  void use_list();
  void use_map();
  void use_set();
  void use_assigning_closure();
  void use_assigning_guard();
  std::string in_closure(const SourceType& type);  // a value, as a closure at this place sees it
  const SourceType& key_type();                    // a type that maps take for keys
  std::string fixed_variable(const SourceType& type, const char* prefix);  // its name; it is in scope now

  bool is_free() const { return !place_.in_kernel && !place_.is_pure; }
  const SourceType& type_here();
  // `{ .. }` with one more variable in scope.
  std::string block_with(SourceVariable variable);
  static std::string label_of(const std::string& variable);
  std::string loop_block(SourceVariable variable);
  void write(const Phrase& phrase) { text_ += phrase.text + "\n"; }

  static constexpr unsigned kMostLoops = 3;

  SourceWorld& world_;
  SourcePlace& place_;
  Decisions& decisions_;
  SourceExpressions expressions_;
  std::string text_;
  unsigned budget_ = 12;
  unsigned nesting_ = 0;
};

}  // namespace dhpvm::compiler::testing
