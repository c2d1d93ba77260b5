// SPDX-License-Identifier: Apache-2.0
// Tuples and records as arguments: programs take their items and fields one by one.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <vector>

namespace dhpvm::python {

// The mapping from a function's arguments to its program's parameters. Items of tuples and fields of records are
// parameters of their own; arrays from outside of the function are the last ones.
class ArgumentLayout {
 public:
  // One description for each argument: None for one that is passed as it is, a list for the items of a tuple, and
  // (dtype, names of fields) for an array of records, the type for a complex number, which is two parameters, and for
  // others {"make": f, "count": n}: f gives the tuple of n parameters for an argument, or None where it is not as
  // described. An empty list of descriptions: all are passed as they are.
  ArgumentLayout(const nanobind::list& arguments, const nanobind::list& captured);

  // Whether arguments are parameters as they are.
  bool is_plain() const { return arguments_.empty() && captured_.empty(); }
  // The parameters of these arguments, as new references; false if an argument is not as described, without an
  // exception, or with the exception that taking it apart has raised.
  bool expand(PyObject* const* arguments, std::size_t count, std::vector<nanobind::object>& parameters) const;
  // Whether both parameters are fields of one array of records, which share no elements.
  bool is_one_record(std::size_t one, std::size_t other) const;

 private:
  struct Argument {
    bool is_tuple = false;
    std::vector<Argument> items;           // of a tuple
    nanobind::object dtype;                // of records, else null
    nanobind::object complex_type;         // of a complex number, else null
    nanobind::object make;                 // the parameters of others, else null
    std::vector<nanobind::object> fields;  // their names
  };
  Argument argument_of(nanobind::handle description);
  static bool expand(const Argument& argument, PyObject* object, std::vector<nanobind::object>& parameters);

  std::vector<Argument> arguments_;
  std::vector<nanobind::object> captured_;
  std::vector<std::size_t>
      record_of_;  // by parameter: the number of its array of records, 0 if it is in none
  std::size_t record_count_ = 0;
};

}  // namespace dhpvm::python
