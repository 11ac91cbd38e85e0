// SPDX-License-Identifier: Apache-2.0
//
// Tensors of any framework as DLPack views, without copies.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>

#include "dlpack_exchange.h"
#include "tc/support/dtype.h"

namespace tc::python {

/// Highest rank of a tensor that is read from a Python object.
inline constexpr int kMaxRank = 64;

/// A library of tensors, found from the module of a tensor's type. Lives as long as the process.
struct Framework {
  std::string name;  ///< first component of the module: "numpy", "torch", "jax", ...
  const ExchangeApi* api = nullptr;  ///< its C functions, if it publishes them
  bool immutable = false;            ///< its tensors are never written in place
  bool orders_calls = false;         ///< calls become operations of its own programs: JAX
  bool is_watched() const { return watched != nullptr && watched(); }

  bool (*watched)() = nullptr;  ///< whether code of the library waits to see every operation
  // Functions of Python; null: the library needs none.
  PyObject* is_negated = nullptr;  ///< whether a tensor's memory holds the negatives of its values
  PyObject* written = nullptr;     ///< takes a tuple of tensors that were written in place
};

/// How objects of one Python type are read.
struct TypeReader {
  enum class Kind {
    Exchange,   ///< through Framework::api
    Wrapped,    ///< stands for a tensor and may hold no memory: a tracer, a subclass
    Array,      ///< numpy.ndarray: its memory layout
    Dlpack,     ///< __dlpack__
    CudaArray,  ///< cupy.ndarray: its attributes
    Interface,  ///< __cuda_array_interface__ or __array_interface__ alone
    Number,     ///< a Python number or a NumPy scalar
    Other
  };
  Kind kind = Kind::Other;
  const Framework* framework = nullptr;  ///< of tensors
};
/// NumPy's, for calls without a tensor.
const Framework* default_framework();
/// The reader of the type of `object`; types are looked at once.
const TypeReader& reader_of(nanobind::handle object);

/// One tensor of a call. Holds what keeps the view valid; neither copied nor moved.
class View {
public:
  View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  /// Reads a tensor. False with a Python error set where an exchange framework refuses: the object
  /// is no plain tensor. So does a framework that orders calls itself, unless `exported`. Raises
  /// ArgumentError for what is no tensor; `what` names it.
  bool read(nanobind::handle object, const TypeReader& reader, const std::string& what,
            bool exported = true);
  /// A number as a tensor of rank 0 of `type`. Raises ArgumentError, which names the type
  /// `declared`, if it does not fit.
  void read_number(nanobind::handle number, DType type, const std::string& what, DType declared);

  DLTensor tensor{};
  bool read_only = false;
  bool is_number = false;

private:
  void read_array(nanobind::handle object, const std::string& what);
  bool read_dlpack(nanobind::handle object, const TypeReader& reader, const std::string& what);
  void read_cuda_array(nanobind::handle object, const std::string& what);
  void read_interface(nanobind::handle object, const std::string& what);
  /// Sizes, and strides in bytes. Requires the element type.
  void set_extents(Py_ssize_t rank, const Py_ssize_t* sizes, const Py_ssize_t* bytes,
                   const std::string& what);
  void set_extents(nanobind::handle shape, nanobind::handle strides, const std::string& what);

  std::int64_t shape_[kMaxRank];
  std::int64_t strides_[kMaxRank];
  alignas(8) std::uint8_t number_[8];
  nanobind::object owner_;
};

/// DLPack's code of an element type, and back. Raises ArgumentError for other types; `what` names
/// the tensor.
DLDataType to_dlpack(DType type);
DType from_dlpack(DLDataType type, const std::string& what);

/// Address of element (0, ..., 0).
inline void* address_of(const DLTensor& tensor) {
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

}  // namespace tc::python
