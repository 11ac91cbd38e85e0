// SPDX-License-Identifier: Apache-2.0
//
// NumPy's arrays by their layout in memory and the table of C functions that NumPy publishes: an
// array is read and made without a call of Python code. Both are part of NumPy's binary interface,
// the same in versions 1 and 2, and need none of its headers.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace tc::python {

/// The public fields at the beginning of an array.
struct NumpyArray {
  PyObject head;
  char* data;
  int rank;
  Py_ssize_t* sizes;
  Py_ssize_t* strides;  ///< in bytes
  PyObject* base;
  PyObject* dtype;
  int flags;

  static const NumpyArray& of(nanobind::handle array) {
    return *reinterpret_cast<const NumpyArray*>(array.ptr());
  }
  bool is_read_only() const { return (flags & 0x0400) == 0; }
};

/// NumPy's own allocation of arrays.
class NumpyApi {
public:
  /// nullptr: there is no NumPy, or one of another binary interface.
  static const NumpyApi* find();

  /// A row-major array whose elements are not set. Invalid, with a Python error set, where there is
  /// no memory.
  nanobind::object empty(int rank, const std::int64_t* sizes, nanobind::handle dtype) const;

private:
  using NewFromDescr = PyObject* (*)(PyTypeObject* type, PyObject* dtype, int rank,
                                     const Py_ssize_t* sizes, const Py_ssize_t* strides, void* data,
                                     int flags, PyObject* object);

  PyTypeObject* array_type_ = nullptr;
  NewFromDescr new_from_descr_ = nullptr;
};

}  // namespace tc::python
