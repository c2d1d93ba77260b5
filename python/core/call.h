// SPDX-License-Identifier: Apache-2.0
// Calls of functions of programs.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "python/core/arguments.h"
#include "python/core/layout.h"
#include "python/core/machine.h"

namespace dhpvm::python {

// The layout by which the results of a function are read.
struct ResultLayout {
  std::vector<bool> is_array;
  bool has_error = false;  // the first result is an Error, or null
  // For each result the position of the argument that it is, -1 if it is none. Empty: none is.
  std::vector<int> given;
  // Where results are composed: a list for a tuple, True for a complex number, which is two results, False for another
  // one, the name of a function of dhpvm.results and the number of arrays that it takes, ("optional", inner) for what
  // may be None, and ("named", keys, inners) for a dictionary with these texts as keys. None: the results are a value,
  // or a tuple of them.
  nanobind::object shape;
};

// A function of an isolate. It is called with the tuple of its arguments.
class ProgramFunction {
 public:
  ProgramFunction(std::shared_ptr<Machine> machine, const std::string& name, const nanobind::list& parameters,
                  const nanobind::dict& results, ArgumentLayout arguments = {{}, {}});
  ~ProgramFunction() {
    if (machine_->is_usable()) dhpvm_function_free(function_);
  }
  ProgramFunction(const ProgramFunction&) = delete;
  ProgramFunction& operator=(const ProgramFunction&) = delete;

  struct Outcome {
    PyObject* result = nullptr;  // null with an exception set, or with none: the arguments are of other types
    bool is_mismatch = false;
  };
  // A new reference.
  Outcome call(PyObject* const* arguments, std::size_t count, Fit fit);

 private:
  // `arguments` are the parameters of the program, `given` what the caller has passed.
  Outcome call_expanded(PyObject* const* arguments, std::size_t count, Fit fit, PyObject* const* given);
  bool lend_shared(dhpvm_value* values, dhpvm_array* arrays, std::vector<dhpvm_object*>& lent);
  dhpvm_code run(const dhpvm_value* values, dhpvm_value* results, dhpvm_error** error, bool& was_interrupted);
  // The arguments as the caller has passed them, and whether a dhpvm.Array is among them: results are such then.
  struct Given {
    PyObject* const* arguments;
    bool has_held;
  };
  PyObject* take(const dhpvm_value* results, const Given& given);
  nanobind::object composed(nanobind::handle shape, const dhpvm_value* results, std::size_t& next,
                            const Given& given);
  nanobind::object built(nanobind::handle shape, const dhpvm_value* results, std::size_t& next,
                         const Given& given);
  nanobind::object result(const dhpvm_value* results, std::size_t i, const Given& given);

  std::shared_ptr<Machine> machine_;
  dhpvm_function* function_ = nullptr;
  std::vector<Parameter> parameters_;
  ResultLayout layout_;
  ArgumentLayout arguments_;
  std::size_t array_count_ = 0;
};

// Adds Function, which converts arguments, and Dispatcher, which chooses the version that fits exactly.
void bind_calls(nanobind::module_& module);

}  // namespace dhpvm::python
