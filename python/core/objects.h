// SPDX-License-Identifier: Apache-2.0
// Objects of programs as objects of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "python/core/machine.h"

namespace dhpvm::python {

struct Parameter;

// An object of a program: an instance of a class, an array of texts, and so on. Its fields are attributes.
class ObjectReference {
 public:
  ObjectReference(std::shared_ptr<Machine> machine, dhpvm_object* object)
      : machine_(std::move(machine)), object_(object) {}
  ~ObjectReference() { machine_->drop(object_); }
  ObjectReference(const ObjectReference&) = delete;
  ObjectReference& operator=(const ObjectReference&) = delete;

  dhpvm_object* object() const { return object_; }
  nanobind::str type_name() const;
  nanobind::object get(const std::string& field) const;
  void set(const std::string& field, nanobind::handle value);
  nanobind::list fields() const;
  bool is_same(const ObjectReference& other) const;

 private:
  std::shared_ptr<Machine> machine_;
  dhpvm_object* object_;
};

// Null if the object is none.
ObjectReference* as_reference(PyObject* object);
// A number, bool, None, text, array or object of a program, which is taken over; throws what the library says. The
// caller holds the machine's lock.
nanobind::object from_program(const std::shared_ptr<Machine>& machine, const dhpvm_value& value,
                              bool is_array);

// Whether it is a dhpvm.Array, whose elements may lie on a device.
bool is_held(PyObject* object);
bool held_fits(PyObject* held, const Parameter& parameter);
// The place of its elements in this program, where they are brought if they are elsewhere.
nanobind::object place_of_held(const std::shared_ptr<Machine>& machine, PyObject* held);
// Valid as long as the place.
dhpvm_object* object_of_place(const nanobind::object& place);
// An array of a program as a dhpvm.Array. The caller holds the machine's lock.
nanobind::object held_result(const std::shared_ptr<Machine>& machine, const dhpvm_value& value);
// `maker(place)` returns an object of the type, dhpvm.Array.
void set_held_maker(nanobind::object maker, nanobind::object type);

// `maker(array)` turns an object with a buffer into what users see: numpy.asarray, where there is NumPy.
void set_array_maker(nanobind::object maker);
void bind_objects(nanobind::module_& module);

}  // namespace dhpvm::python
