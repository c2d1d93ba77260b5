// SPDX-License-Identifier: Apache-2.0
#include "python/core/layout.h"

#include <utility>

namespace nb = nanobind;

namespace dhpvm::python {

ArgumentLayout::ArgumentLayout(const nb::list& arguments, const nb::list& captured) {
  for (const nb::handle description : arguments) arguments_.push_back(argument_of(description));
  for (const nb::handle array : captured) captured_.push_back(nb::borrow(array));
}

ArgumentLayout::Argument ArgumentLayout::argument_of(nb::handle description) {
  Argument argument;
  if (nb::isinstance<nb::list>(description)) {
    argument.is_tuple = true;
    for (const nb::handle item : description) argument.items.push_back(argument_of(item));
  } else if (description.is_none()) {
    record_of_.push_back(0);
  } else if (nb::isinstance<nb::dict>(description)) {
    argument.make = description["make"];
    record_of_.insert(record_of_.end(), nb::cast<std::size_t>(description["count"]), 0);
  } else if (PyType_Check(description.ptr())) {
    argument.complex_type = nb::borrow(description);
    record_of_.insert(record_of_.end(), 2, 0);
  } else {
    argument.dtype = description[0];
    ++record_count_;
    for (const nb::handle field : nb::object(description[1])) {
      argument.fields.push_back(nb::borrow(field));
      record_of_.push_back(record_count_);
    }
  }
  return argument;
}

namespace {

// The parts of a complex number as Python's floats.
bool take_apart(PyObject* object, std::vector<nb::object>& parameters) {
  for (const char* const part : {"real", "imag"}) {
    const nb::object number = nb::steal(PyObject_GetAttrString(object, part));
    nb::object value = number.is_valid() ? nb::steal(PyNumber_Float(number.ptr())) : nb::object();
    if (!value.is_valid()) return false;
    parameters.push_back(std::move(value));
  }
  return true;
}

// The parameters that `make` gives; none if it gives None.
bool make_parameters(const nb::object& make, PyObject* object, std::vector<nb::object>& parameters) {
  const nb::object made = nb::steal(PyObject_CallFunctionObjArgs(make.ptr(), object, nullptr));
  if (!made.is_valid() || made.is_none()) return false;
  for (const nb::handle parameter : made) parameters.push_back(nb::borrow(parameter));
  return true;
}

}  // namespace

bool ArgumentLayout::expand(const Argument& argument, PyObject* object, std::vector<nb::object>& parameters) {
  if (argument.is_tuple) {
    if (!PyTuple_CheckExact(object) ||
        static_cast<std::size_t>(PyTuple_Size(object)) != argument.items.size())
      return false;
    for (std::size_t i = 0; i < argument.items.size(); ++i) {
      if (!expand(argument.items[i], PyTuple_GetItem(object, static_cast<Py_ssize_t>(i)), parameters))
        return false;
    }
    return true;
  }
  if (argument.make.is_valid()) return make_parameters(argument.make, object, parameters);
  if (argument.complex_type.is_valid()) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != argument.complex_type.ptr()) return false;
    return take_apart(object, parameters);
  }
  if (!argument.dtype.is_valid()) {
    parameters.push_back(nb::borrow(object));
    return true;
  }
  const nb::object dtype = nb::steal(PyObject_GetAttrString(object, "dtype"));
  if (!dtype.is_valid()) {
    PyErr_Clear();
    return false;
  }
  if (!dtype.is(argument.dtype) && PyObject_RichCompareBool(dtype.ptr(), argument.dtype.ptr(), Py_EQ) != 1)
    return false;
  for (const nb::object& field : argument.fields) {
    nb::object items = nb::steal(PyObject_GetItem(object, field.ptr()));
    if (!items.is_valid()) return false;
    parameters.push_back(std::move(items));
  }
  return true;
}

bool ArgumentLayout::expand(PyObject* const* arguments, std::size_t count,
                            std::vector<nb::object>& parameters) const {
  if (!arguments_.empty() && count != arguments_.size()) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (arguments_.empty()) {
      parameters.push_back(nb::borrow(arguments[i]));
    } else if (!expand(arguments_[i], arguments[i], parameters)) {
      return false;
    }
  }
  parameters.insert(parameters.end(), captured_.begin(), captured_.end());
  return true;
}

bool ArgumentLayout::is_one_record(std::size_t one, std::size_t other) const {
  return one < record_of_.size() && other < record_of_.size() && record_of_[one] != 0 &&
         record_of_[one] == record_of_[other];
}

}  // namespace dhpvm::python
