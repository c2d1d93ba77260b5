// SPDX-License-Identifier: Apache-2.0
#include "python/core/arguments.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <utility>

#include "python/core/objects.h"

namespace nb = nanobind;

namespace dhpvm::python {
namespace {

constexpr char kTextMark = '\'';  // of signature.TEXT_MARK

PyObject* list_maker = nullptr;
PyObject* tensor_maker = nullptr;

template <typename T>
constexpr dhpvm_kind kSigned = sizeof(T) == 8 ? DHPVM_I64 : DHPVM_I32;
template <typename T>
constexpr dhpvm_kind kUnsigned = sizeof(T) == 8 ? DHPVM_U64 : DHPVM_U32;

// The kind that a format of the buffer protocol stands for; DHPVM_NULL if programs have none.
dhpvm_kind kind_of_format(const char* format) {
  if (format == nullptr) return DHPVM_U8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == '\0' || format[1] != '\0') return DHPVM_NULL;
  switch (*format) {
    case '?': return DHPVM_BOOL;
    case 'b': return DHPVM_I8;
    case 'B': return DHPVM_U8;
    case 'h': return DHPVM_I16;
    case 'H': return DHPVM_U16;
    case 'i': return DHPVM_I32;
    case 'I': return DHPVM_U32;
    case 'l': return kSigned<long>;
    case 'L': return kUnsigned<unsigned long>;
    case 'q': return DHPVM_I64;
    case 'Q': return DHPVM_U64;
    case 'f': return DHPVM_F32;
    case 'd': return DHPVM_F64;
    default: return DHPVM_NULL;
  }
}

template <typename T>
Conversion put_integer(PyObject* object, T& place) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (number == -1 && PyErr_Occurred() != nullptr) return Conversion::kFailed;
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (overflow > 0) {
      place = PyLong_AsUnsignedLongLong(object);
      return PyErr_Occurred() != nullptr ? Conversion::kFailed : Conversion::kDone;
    }
  }
  if (overflow != 0 || !std::in_range<T>(number)) {
    PyErr_Format(PyExc_OverflowError, "%R does not fit into %d bits of a%s integer", object,
                 static_cast<int>(8 * sizeof(T)), std::is_signed_v<T> ? " signed" : "n unsigned");
    return Conversion::kFailed;
  }
  place = static_cast<T>(number);
  return Conversion::kDone;
}

Conversion put_integer_of(PyObject* object, dhpvm_kind kind, dhpvm_value& value) {
  switch (kind) {
    case DHPVM_I8: return put_integer(object, value.of.i8);
    case DHPVM_U8: return put_integer(object, value.of.u8);
    case DHPVM_I16: return put_integer(object, value.of.i16);
    case DHPVM_U16: return put_integer(object, value.of.u16);
    case DHPVM_I32: return put_integer(object, value.of.i32);
    case DHPVM_U32: return put_integer(object, value.of.u32);
    case DHPVM_I64: return put_integer(object, value.of.i64);
    default: return put_integer(object, value.of.u64);
  }
}

bool is_float(dhpvm_kind kind) { return kind == DHPVM_F32 || kind == DHPVM_F64; }

Conversion put_float(PyObject* object, dhpvm_kind kind, dhpvm_value& value) {
  const double number = PyFloat_AsDouble(object);
  if (number == -1.0 && PyErr_Occurred() != nullptr) return Conversion::kFailed;
  if (kind == DHPVM_F32) {
    value.of.f32 = static_cast<float>(number);
  } else {
    value.of.f64 = number;
  }
  return Conversion::kDone;
}

// The same for elements of arrays, "Zd" for example: complex numbers have two lanes.
struct ElementFormat {
  dhpvm_kind kind;
  std::uint32_t lanes;
};
ElementFormat element_of_format(const char* format) {
  if (format != nullptr && format[0] == 'Z') return {kind_of_format(format + 1), 2};
  return {kind_of_format(format), 1};
}

// A scalar of NumPy, or an array without dimensions: both have a buffer of one element.
Conversion put_scalar_buffer(PyObject* object, dhpvm_kind kind, dhpvm_value& value) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    return Conversion::kMismatch;
  }
  const bool fits = view.ndim == 0 && kind_of_format(view.format) == kind;
  if (fits) std::memcpy(&value.of, view.buf, static_cast<std::size_t>(view.itemsize));
  PyBuffer_Release(&view);
  return fits ? Conversion::kDone : Conversion::kMismatch;
}

// The number that Python sees in a scalar, whatever its type.
Conversion put_converted(PyObject* object, dhpvm_kind kind, dhpvm_value& value) {
  if (kind == DHPVM_BOOL) {
    if (put_scalar_buffer(object, kind, value) == Conversion::kDone) return Conversion::kDone;
    return Conversion::kMismatch;
  }
  if (PyObject_CheckBuffer(object) != 0 && put_scalar_buffer(object, kind, value) == Conversion::kDone)
    return Conversion::kDone;
  PyObject* const number = is_float(kind) ? PyNumber_Float(object) : PyNumber_Index(object);
  if (number == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return Conversion::kFailed;
    PyErr_Clear();
    return Conversion::kMismatch;
  }
  const Conversion done =
      is_float(kind) ? put_float(number, kind, value) : put_integer_of(number, kind, value);
  Py_DECREF(number);
  return done;
}

Conversion put_number(PyObject* object, const Parameter& parameter, Fit fit, dhpvm_value& value) {
  const dhpvm_kind kind = parameter.kind;
  value.kind = kind;
  if (fit == Fit::kExact && !parameter.is_python) return put_scalar_buffer(object, kind, value);
  if (kind == DHPVM_BOOL) {
    if (PyBool_Check(object)) {
      value.of.boolean = object == Py_True ? 1 : 0;
      return Conversion::kDone;
    }
  } else if (is_float(kind)) {
    if (PyFloat_CheckExact(object)) return put_float(object, kind, value);
  } else if (PyLong_CheckExact(object)) {
    return put_integer_of(object, kind, value);
  }
  if (fit == Fit::kExact || PyUnicode_Check(object) || PyBytes_Check(object)) return Conversion::kMismatch;
  return put_converted(object, kind, value);
}

// NumPy gives no buffer of what has no format there, dates for example.
Conversion open_buffer(PyObject* object, Buffers& buffers, Py_buffer*& view) {
  if (PyObject_CheckBuffer(object) == 0) return Conversion::kMismatch;
  if (buffers.is_full()) {
    PyErr_Format(PyExc_TypeError, "a call can have at most %d arrays", static_cast<int>(Buffers::kMaximum));
    return Conversion::kFailed;
  }
  view = buffers.open(object, PyBUF_RECORDS_RO);
  if (view != nullptr) return Conversion::kDone;
  PyErr_Clear();
  return Conversion::kMismatch;
}

// One element that stands for all, as np.broadcast_to gives it: the library takes strides of 0 for dense elements.
bool is_one_element(const Py_buffer& view) {
  for (int i = 0; i < view.ndim; ++i) {
    if (view.strides[i] != 0) return false;
  }
  return view.len > view.itemsize;
}

// Replaces the view by one of a copy with all elements.
Conversion copy_elements(Buffers& buffers, Py_buffer*& view, PyObject*& copy) {
  copy = PyByteArray_FromStringAndSize(nullptr, view->len);
  if (copy == nullptr) return Conversion::kFailed;
  if (PyBuffer_ToContiguous(PyByteArray_AsString(copy), view, view->len, 'C') != 0)
    return Conversion::kFailed;
  return open_buffer(copy, buffers, view);
}

// The last type of arrays without a mask, which is NumPy's for nearly all calls.
PyTypeObject* plain_type = nullptr;

// A program would take elements for good that are masked out.
bool is_masked(PyObject* object) {
  if (Py_TYPE(object) == plain_type) return false;
  if (PyObject_HasAttrString(object, "_mask") != 0) return true;
  if (name_of_type(object) == "ndarray" && plain_type == nullptr) {
    plain_type = Py_TYPE(object);
    Py_INCREF(reinterpret_cast<PyObject*>(plain_type));  // so that no other type gets its address
  }
  return false;
}

// The members of NumPy's arrays, whose order its binary interface fixes. A view by the buffer protocol, which NumPy
// makes anew for each call, takes as long as the rest of an argument.
struct NumpyArray {
  PyObject head;
  void* data;
  int rank;
  Py_ssize_t* sizes;
  Py_ssize_t* strides;
  PyObject* base;
  PyObject* dtype;
  int flags;
};
constexpr int kWritable = 0x0400;
constexpr int kWarnsOfWrites = static_cast<int>(0x80000000U);

const NumpyArray& numpy_array(PyObject* object) { return *reinterpret_cast<const NumpyArray*>(object); }

// Remembers the dtype of an array that its buffer has shown to fit, if its members are where they are expected.
void note_dtype(PyObject* object, const Py_buffer& view, const Parameter& parameter) {
  if (Py_TYPE(object) != plain_type || view.len == 0) return;
  const NumpyArray& array = numpy_array(object);
  const bool is_known = array.data == view.buf && array.rank == view.ndim &&
                        std::equal(view.shape, view.shape + view.ndim, array.sizes) &&
                        ((array.flags & kWritable) != 0) == (view.readonly == 0);
  nb::object dtype = nb::steal(PyObject_GetAttrString(object, "dtype"));
  if (!dtype.is_valid()) PyErr_Clear();
  if (is_known && dtype.is_valid() && dtype.ptr() == array.dtype) parameter.dtype = std::move(dtype);
}

// An array of NumPy whose dtype is known to fit; false for others, which need a closer look. The argument outlives the
// call.
bool put_known(PyObject* object, const Parameter& parameter, dhpvm_array& array, dhpvm_value& value) {
  if (Py_TYPE(object) != plain_type || !parameter.dtype.is_valid()) return false;
  const NumpyArray& given = numpy_array(object);
  if (given.dtype != parameter.dtype.ptr() || static_cast<std::uint32_t>(given.rank) != parameter.rank)
    return false;
  const bool is_writable = (given.flags & kWritable) != 0;
  if ((given.flags & kWarnsOfWrites) != 0 || (!is_writable && parameter.use == ArrayUse::kWritten))
    return false;
  array.size = sizeof array;
  array.data = given.data;
  array.kind = parameter.element;
  array.access = !is_writable || parameter.use == ArrayUse::kRead ? DHPVM_READ : DHPVM_READ_WRITE;
  array.rank = parameter.rank;
  array.lanes = parameter.lanes;
  bool has_strides = false;
  for (std::uint32_t i = 0; i < parameter.rank; ++i) {
    array.sizes[i] = given.sizes[i];
    array.strides[i] = given.strides[i];
    has_strides |= given.strides[i] != 0;
  }
  value.kind = DHPVM_ARRAY;
  value.of.array = &array;
  return has_strides;  // else one element may stand for all
}

Conversion put_tensor(PyObject* object, const Parameter& parameter, Buffers& buffers, dhpvm_array& array,
                      dhpvm_value& value);

Conversion put_array(PyObject* object, const Parameter& parameter, Buffers& buffers, dhpvm_array& array,
                     dhpvm_value& value) {
  if (is_masked(object)) return Conversion::kMismatch;
  if (PyObject_CheckBuffer(object) == 0 && PyObject_HasAttrString(object, "__dlpack__") != 0)
    return put_tensor(object, parameter, buffers, array, value);
  Py_buffer* view = nullptr;
  if (const Conversion opened = open_buffer(object, buffers, view); opened != Conversion::kDone)
    return opened;
  const ElementFormat element = element_of_format(view->format);
  // A date of NumPy gives its bytes, without strides.
  if (view->strides == nullptr || static_cast<std::uint32_t>(view->ndim) != parameter.rank ||
      element.kind != parameter.element || element.lanes != parameter.lanes) {
    buffers.close_last();
    return Conversion::kMismatch;
  }
  if (view->readonly != 0 && parameter.use == ArrayUse::kWritten) {
    PyErr_SetString(PyExc_ValueError, "the function writes to an array that is read-only: pass a copy");
    return Conversion::kFailed;
  }
  array.size = sizeof array;
  array.data = view->buf;
  array.kind = parameter.element;
  array.access = view->readonly != 0 || parameter.use == ArrayUse::kRead ? DHPVM_READ : DHPVM_READ_WRITE;
  array.rank = parameter.rank;
  array.lanes = parameter.lanes;
  for (std::uint32_t i = 0; i < parameter.rank; ++i) {
    array.sizes[i] = view->shape[i];
    array.strides[i] = view->strides[i];
  }
  if (is_one_element(*view)) {
    if (view->readonly == 0 && parameter.use != ArrayUse::kRead) {
      PyErr_SetString(PyExc_ValueError, "all elements of an array are one and the same: pass a copy");
      return Conversion::kFailed;
    }
    PyObject* copy = nullptr;
    const Conversion done = copy_elements(buffers, view, copy);
    Py_XDECREF(copy);  // the buffer keeps it
    if (done != Conversion::kDone) return done;
    array.data = view->buf;
  } else {
    note_dtype(object, *view, parameter);
  }
  value.kind = DHPVM_ARRAY;
  value.of.array = &array;
  return Conversion::kDone;
}

// Tensors of other packages, over the same memory.
Conversion put_tensor(PyObject* object, const Parameter& parameter, Buffers& buffers, dhpvm_array& array,
                      dhpvm_value& value) {
  PyObject* const seen = PyObject_CallFunctionObjArgs(tensor_maker, object, nullptr);
  if (seen == nullptr) return Conversion::kFailed;
  const Conversion done = put_array(seen, parameter, buffers, array, value);
  Py_DECREF(seen);  // the buffer keeps it
  return done;
}

// A list is copied: the program's writes to it would be invisible, so they are refused.
Conversion put_list(PyObject* object, const Parameter& parameter, Buffers& buffers, dhpvm_array& array,
                    dhpvm_value& value) {
  PyObject* const copy = PyObject_CallFunction(list_maker, "OII", object, parameter.element, parameter.rank);
  if (copy == nullptr) return Conversion::kFailed;
  const Conversion done = put_array(copy, parameter, buffers, array, value);
  Py_DECREF(copy);  // the buffer keeps it
  return done;
}

Conversion put_text(PyObject* object, dhpvm_value& value) {
  if (!PyUnicode_Check(object)) return Conversion::kMismatch;
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(object, &size);
  if (data == nullptr) return Conversion::kFailed;
  value.kind = DHPVM_TEXT;
  value.of.text = {data, static_cast<std::size_t>(size)};
  return Conversion::kDone;
}

}  // namespace

Parameter parameter_of(const nb::handle& description) {
  Parameter parameter;
  parameter.kind = nb::cast<dhpvm_kind>(description[0]);
  parameter.element = nb::cast<dhpvm_kind>(description[1]);
  parameter.rank = nb::cast<std::uint32_t>(description[2]);
  parameter.use = static_cast<ArrayUse>(nb::cast<std::uint8_t>(description[3]));
  parameter.is_python = nb::cast<bool>(description[4]);
  parameter.type = nb::cast<std::string>(description[5]);
  parameter.lanes = nb::cast<std::uint32_t>(description[6]);
  return parameter;
}

Buffers::~Buffers() {
  while (count_ != 0) close_last();
}

Py_buffer* Buffers::open(PyObject* object, int flags) {
  if (PyObject_GetBuffer(object, &views_[count_], flags) != 0) return nullptr;
  return &views_[count_++];
}

void Buffers::close_last() { PyBuffer_Release(&views_[--count_]); }

Conversion convert(PyObject* object, const Parameter& parameter, Fit fit, Buffers& buffers,
                   dhpvm_array& array, dhpvm_value& value) {
  if (parameter.kind >= DHPVM_BOOL && parameter.kind <= DHPVM_F64)
    return put_number(object, parameter, fit, value);
  if (parameter.kind == DHPVM_NULL) {  // None or one text: a number that the version for it does not read
    value.kind = DHPVM_I64;
    value.of.i64 = 0;
    const bool is_expected = parameter.type[0] != kTextMark
                                 ? object == Py_None
                                 : PyUnicode_Check(object) != 0 &&
                                       PyUnicode_CompareWithASCIIString(object, &parameter.type[1]) == 0;
    return is_expected ? Conversion::kDone : Conversion::kMismatch;
  }
  if (object == Py_None) {
    value.kind = DHPVM_NULL;
    return fit == Fit::kExact ? Conversion::kMismatch : Conversion::kDone;
  }
  if (ObjectReference* const reference = as_reference(object)) {
    value.kind = DHPVM_OBJECT;
    value.of.object = reference->object();
    return Conversion::kDone;
  }
  switch (parameter.kind) {
    case DHPVM_TEXT: return put_text(object, value);
    case DHPVM_ARRAY:
      if (is_held(object)) {  // the call brings its elements to the program, and sets the object
        array = {};
        value.kind = DHPVM_OBJECT;
        value.of.object = nullptr;
        return held_fits(object, parameter) ? Conversion::kDone : Conversion::kMismatch;
      }
      if (fit == Fit::kConvert && (PyList_Check(object) || PyTuple_Check(object)))
        return put_list(object, parameter, buffers, array, value);
      if (put_known(object, parameter, array, value)) return Conversion::kDone;
      return put_array(object, parameter, buffers, array, value);
    default: return Conversion::kMismatch;
  }
}

void set_tensor_maker(nb::object maker) {
  Py_XDECREF(tensor_maker);
  tensor_maker = maker.release().ptr();
}

void set_list_maker(nb::object maker) {
  Py_XDECREF(list_maker);
  list_maker = maker.release().ptr();
}

void raise_mismatch(PyObject* object, const Parameter& parameter, std::size_t index) {
  Buffers buffers;
  Py_buffer* view = nullptr;
  if (is_masked(object)) {
    PyErr_Format(PyExc_TypeError, "argument %zu is a masked array: pass x.filled(0), or x.data and x.mask",
                 index + 1);
    return;
  }
  if (PyObject_CheckBuffer(object) != 0 && open_buffer(object, buffers, view) == Conversion::kDone) {
    PyErr_Format(
        PyExc_TypeError,
        "argument %zu should be %s, and is an array of %d dimensions whose elements have the format '%s'; "
        "a.astype(...) converts elements",
        index + 1, parameter.type.c_str(), view->ndim, view->format != nullptr ? view->format : "B");
    return;
  }
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "argument %zu should be %s, and is of type %s", index + 1,
               parameter.type.c_str(), name_of_type(object).c_str());
}

}  // namespace dhpvm::python
