// SPDX-License-Identifier: Apache-2.0
#include "view.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "errors.h"
#include "numpy_arrays.h"
#include "tc/support/tensor_meta.h"
#include "torch_memory.h"

namespace nb = nanobind;

namespace tc::python {

namespace {

/// Objects of element types that are remembered.
constexpr std::size_t kMaxKnownTypes = 256;

nb::object frameworks() {
  return nb::module_::import_("tensor_comprehensions._frameworks");
}

const ExchangeApi* exchange_api(nb::handle type) {
  if (!nb::hasattr(type, kExchangeAttribute)) return nullptr;
  nb::object capsule = type.attr(kExchangeAttribute);
  if (PyCapsule_IsValid(capsule.ptr(), kExchangeCapsule) == 0) return nullptr;
  const auto* api =
      static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), kExchangeCapsule));
  while (api != nullptr && api->header.version.major != DLPACK_MAJOR_VERSION)
    api = reinterpret_cast<const ExchangeApi*>(api->header.older);
  return api != nullptr && api->view != nullptr ? api : nullptr;
}

/// One per name: tensors are of one framework when the pointers are equal.
Framework* framework_of(const std::string& name) {
  static auto& known = *new std::unordered_map<std::string, std::unique_ptr<Framework>>();
  std::unique_ptr<Framework>& entry = known[name];
  if (!entry) entry = std::make_unique<Framework>(Framework{name});
  return entry.get();
}

TypeReader look_at(nb::handle type) {
  TypeReader reader;
  // (kind, framework): see classify() in _frameworks.py, which alone knows names of frameworks.
  nb::tuple found = nb::cast<nb::tuple>(frameworks().attr("classify")(type));
  const auto kind = nb::cast<std::string>(found[0]);
  if (kind == "number") reader.kind = TypeReader::Kind::Number;
  if (kind == "number" || kind == "other") return reader;
  Framework* framework = framework_of(nb::cast<std::string>(found[1]));
  framework->immutable = nb::cast<bool>(found[2]);
  framework->orders_calls = nb::cast<bool>(found[3]);
  reader.framework = framework;
  if (framework->name == "torch") framework->watched = TorchMemory::is_watched;
  const nb::tuple functions = nb::cast<nb::tuple>(frameworks().attr("functions")(framework->name));
  if (!functions[0].is_none()) framework->is_negated = nb::object(functions[0]).release().ptr();
  if (!functions[1].is_none()) framework->written = nb::object(functions[1]).release().ptr();
  if (kind == "wrapped") {
    reader.kind = TypeReader::Kind::Wrapped;
  } else if (kind == "cuda array") {
    reader.kind = TypeReader::Kind::CudaArray;
  } else if (kind == "interface") {
    reader.kind = TypeReader::Kind::Interface;
  } else if (const ExchangeApi* api = exchange_api(type)) {
    framework->api = api;
    reader.kind = TypeReader::Kind::Exchange;
  } else {
    reader.kind = kind != "array"               ? TypeReader::Kind::Dlpack
                  : NumpyApi::find() != nullptr ? TypeReader::Kind::Array
                                                : TypeReader::Kind::Interface;
  }
  return reader;
}

/// DLPack's code of a NumPy dtype; `what` names the tensor.
DLDataType element_type(nb::handle dtype, const std::string& what) {
  // Dtypes are kept alive, so that an address means one type for good.
  static auto& known = *new std::unordered_map<PyObject*, DLDataType>();
  static PyObject* last_dtype = nullptr;
  static DLDataType last_type{};
  if (dtype.ptr() == last_dtype) return last_type;
  const auto found = known.find(dtype.ptr());
  if (found != known.end()) {
    last_dtype = found->first;
    last_type = found->second;
    return last_type;
  }
  const auto type_name = nb::cast<std::string>(frameworks().attr("element_type")(dtype, what));
  const std::optional<DType> type = dtype_from_name(type_name);
  if (!type)
    raise_argument(what + " has element type '" + type_name + "', which the language lacks");
  const DLDataType code = to_dlpack(*type);
  if (known.size() < kMaxKnownTypes) known.emplace(nb::borrow(dtype).release().ptr(), code);
  return code;
}

/// Whether a view may be one of the imaginary parts of conjugates, whose negation is put off: it
/// steps over the real parts.
bool may_be_negated(const DLTensor& tensor) {
  if (tensor.dtype.code != kDLFloat) return false;
  for (int d = 0; d < tensor.ndim; ++d) {
    if (tensor.shape[d] > 1 && tensor.strides[d] % 2 != 0) return false;
  }
  return true;
}

void reject_negated(const DLTensor& tensor, nb::handle object, const Framework& framework,
                    const std::string& what) {
  if (framework.is_negated == nullptr || tensor.strides == nullptr || !may_be_negated(tensor))
    return;
  PyObject* argument = object.ptr();
  const nb::object negated =
      nb::steal(PyObject_Vectorcall(framework.is_negated, &argument, 1, nullptr));
  if (!negated.is_valid()) raise_python();
  if (negated.ptr() == Py_True)
    raise_argument(what + " holds the negatives of its values: give its resolve_neg()");
}

}  // namespace

const TypeReader& reader_of(nb::handle object) {
  // Types are kept alive, so that an address means one type for good.
  static auto& known = *new std::unordered_map<PyTypeObject*, TypeReader>();
  static PyTypeObject* last_type = nullptr;
  static const TypeReader* last_reader = nullptr;
  PyTypeObject* type = Py_TYPE(object.ptr());
  if (type == last_type) return *last_reader;
  const auto found = known.find(type);
  if (found != known.end()) {
    last_type = type;
    last_reader = &found->second;
    return found->second;
  }
  const TypeReader reader = look_at(nb::handle(reinterpret_cast<PyObject*>(type)));
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  return known.emplace(type, reader).first->second;
}

const Framework* default_framework() {
  return framework_of("numpy");
}

bool View::read(nb::handle object, const TypeReader& reader, const std::string& what,
                bool exported) {
  switch (reader.kind) {
  case TypeReader::Kind::Exchange:
    if (reader.framework->api->view(object.ptr(), &tensor) != 0) return false;
    reject_negated(tensor, object, *reader.framework, what);
    break;
  case TypeReader::Kind::Wrapped:
    PyErr_SetString(PyExc_TypeError, "a subclass of a tensor may hold no memory");
    return false;
  case TypeReader::Kind::Array: read_array(object, what); break;
  case TypeReader::Kind::Dlpack:
    if (reader.framework->orders_calls && !exported) {
      PyErr_SetString(PyExc_TypeError, "a tensor that only its library's own programs may use");
      return false;
    }
    if (!read_dlpack(object, reader, what)) return false;
    break;
  case TypeReader::Kind::CudaArray: read_cuda_array(object, what); break;
  case TypeReader::Kind::Interface: read_interface(object, what); break;
  case TypeReader::Kind::Number:
  case TypeReader::Kind::Other:
    raise_argument(what + " is " + nb::cast<std::string>(nb::repr(object.type())) +
                   " where a tensor is expected");
  }
  if (tensor.device.device_type == kDLCUDAHost) tensor.device = {kDLCPU, 0};
  if (tensor.device.device_type == kDLCUDAManaged) tensor.device.device_type = kDLCUDA;
  return true;
}

void View::read_array(nb::handle object, const std::string& what) {
  const NumpyArray& array = NumpyArray::of(object);
  tensor.dtype = element_type(array.dtype, what);
  tensor.data = array.data;
  tensor.device = {kDLCPU, 0};
  tensor.byte_offset = 0;
  read_only = array.is_read_only();
  set_extents(array.rank, array.sizes, array.strides, what);
}

bool View::read_dlpack(nb::handle object, const TypeReader& reader, const std::string& what) {
  owner_ = frameworks().attr("dlpack_capsule")(object, reader.framework->name, what);
  if (owner_.is_none()) {
    PyErr_SetString(PyExc_TypeError, "a tensor without memory");
    return false;
  }
  if (PyCapsule_IsValid(owner_.ptr(), "dltensor_versioned") != 0) {
    auto* managed = static_cast<DLManagedTensorVersioned*>(
        PyCapsule_GetPointer(owner_.ptr(), "dltensor_versioned"));
    tensor = managed->dl_tensor;
    read_only = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  } else if (PyCapsule_IsValid(owner_.ptr(), "dltensor") != 0) {
    tensor =
        static_cast<DLManagedTensor*>(PyCapsule_GetPointer(owner_.ptr(), "dltensor"))->dl_tensor;
  } else {
    raise_argument(what + " gave no DLPack tensor");
  }
  if (tensor.strides == nullptr) {
    const std::vector<std::int64_t> strides =
        row_major_strides(std::vector<std::int64_t>(tensor.shape, tensor.shape + tensor.ndim));
    std::memcpy(strides_, strides.data(), strides.size() * sizeof(std::int64_t));
    tensor.strides = strides_;
  }
  return true;
}

void View::set_extents(Py_ssize_t rank, const Py_ssize_t* sizes, const Py_ssize_t* bytes,
                       const std::string& what) {
  if (rank > kMaxRank)
    raise_argument(what + " has rank " + std::to_string(rank) + ", at most " +
                   std::to_string(kMaxRank) + " is supported");
  const std::int64_t element = std::max(1, tensor.dtype.bits / 8);
  for (Py_ssize_t d = 0; d < rank; ++d) {
    // The stride of a dimension that never steps means nothing.
    if (bytes[d] % element != 0 && sizes[d] > 1)
      raise_argument(what + " has strides that are no multiple of its elements' size; copy it");
    shape_[d] = sizes[d];
    strides_[d] = bytes[d] / element;
  }
  tensor.ndim = static_cast<std::int32_t>(rank);
  tensor.shape = shape_;
  tensor.strides = strides_;
  tensor.byte_offset = 0;
}

void View::set_extents(nb::handle shape, nb::handle strides, const std::string& what) {
  std::array<Py_ssize_t, kMaxRank> sizes, bytes;
  const Py_ssize_t rank = PyTuple_Size(shape.ptr());
  if (rank < 0) raise_python();
  for (Py_ssize_t d = 0; d < std::min<Py_ssize_t>(rank, kMaxRank); ++d) {
    const auto at = static_cast<std::size_t>(d);
    sizes[at] = nb::cast<Py_ssize_t>(nb::handle(PyTuple_GetItem(shape.ptr(), d)));
    PyObject* stride = PyTuple_GetItem(strides.ptr(), d);
    if (stride == nullptr) raise_python();
    bytes[at] = nb::cast<Py_ssize_t>(nb::handle(stride));
  }
  set_extents(rank, sizes.data(), bytes.data(), what);
}

void View::read_cuda_array(nb::handle object, const std::string& what) {
  static PyObject* const names[] = {
      PyUnicode_InternFromString("data"),      PyUnicode_InternFromString("ptr"),
      PyUnicode_InternFromString("device_id"), PyUnicode_InternFromString("shape"),
      PyUnicode_InternFromString("strides"),   PyUnicode_InternFromString("dtype")};
  auto attribute = [](nb::handle of, PyObject* attribute_name) {
    nb::object found = nb::steal(PyObject_GetAttr(of.ptr(), attribute_name));
    if (!found.is_valid()) raise_python();
    return found;
  };
  const nb::object memory = attribute(object, names[0]);
  tensor.dtype = element_type(attribute(object, names[5]), what);
  set_extents(attribute(object, names[3]), attribute(object, names[4]), what);
  const auto address = nb::cast<std::uintptr_t>(attribute(memory, names[1]));
  tensor.data = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  tensor.device = {kDLCUDA, nb::cast<int>(attribute(memory, names[2]))};
}

void View::read_interface(nb::handle object, const std::string& what) {
  // (address, shape, strides in bytes, type, read-only, device; -1: memory of the host)
  const nb::tuple read = nb::cast<nb::tuple>(frameworks().attr("read_interface")(object, what));
  const std::optional<DType> type = dtype_from_name(nb::cast<std::string>(read[3]));
  if (!type) raise_argument(what + " has an element type that the language lacks");
  tensor.dtype = to_dlpack(*type);
  set_extents(read[1], read[2], what);
  const auto address = nb::cast<std::uintptr_t>(read[0]);
  tensor.data = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  read_only = nb::cast<bool>(read[4]);
  const int device = nb::cast<int>(read[5]);
  tensor.device = device < 0 ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, device};
  owner_ = read[6];
}

DLDataType to_dlpack(DType type) {
  const auto width = static_cast<std::uint8_t>(bits(type));
  auto make = [width](DLDataTypeCode code) {
    return DLDataType{static_cast<std::uint8_t>(code), width, 1};
  };
  if (type == DType::Bool) return make(kDLBool);
  if (type == DType::BFloat16) return make(kDLBfloat);
  if (type == DType::Float8E4M3FN) return make(kDLFloat8_e4m3fn);
  if (type == DType::Float8E5M2) return make(kDLFloat8_e5m2);
  if (is_float(type)) return make(kDLFloat);
  return make(is_signed_integer(type) ? kDLInt : kDLUInt);
}

DType from_dlpack(DLDataType type, const std::string& what) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DLDataType candidate = to_dlpack(static_cast<DType>(i));
    if (candidate.code == type.code && candidate.bits == type.bits && type.lanes == 1)
      return static_cast<DType>(i);
  }
  raise_argument(what + " has an element type that the language lacks (DLPack code " +
                 std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits)");
}

}  // namespace tc::python
