// SPDX-License-Identifier: Apache-2.0
#include "torch_memory.h"

#include <dlfcn.h>

#include <algorithm>
#include <optional>
#include <string>

namespace nb = nanobind;

namespace tc::python {

namespace {

/// A library that is loaded already; nullptr: it is not.
void* loaded(const char* name) {
  return dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
}

/// What a function without parameters of the library returns; -1: there is none of that name.
std::int32_t number(void* library, const std::string& name) {
  auto* function = reinterpret_cast<std::int32_t (*)()>(dlsym(library, name.c_str()));
  return function == nullptr ? -1 : function();
}

}  // namespace

template <class F>
bool TorchMemory::look_up(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(dlsym(library, name));
  return function != nullptr;
}

const TorchMemory* TorchMemory::find() {
  static const std::optional<TorchMemory> found = []() -> std::optional<TorchMemory> {
    void* core = loaded("libtorch_cpu.so");
    void* python = loaded("libtorch_python.so");
    if (core == nullptr || python == nullptr) return std::nullopt;
    TorchMemory memory;
    // THPVariable_Wrap(const at::TensorBase&): the name says which parameters it has.
    if (!look_up(core, "aoti_torch_empty_strided", memory.empty_strided_) ||
        !look_up(core, "aoti_torch_get_data_ptr", memory.get_data_) ||
        !look_up(core, "aoti_torch_delete_tensor_object", memory.release_) ||
        !look_up(python, "_Z16THPVariable_WrapRKN2at10TensorBaseE", memory.wrap_))
      return std::nullopt;
    memory.cpu_ = number(core, "aoti_torch_device_type_cpu");
    memory.cuda_ = number(core, "aoti_torch_device_type_cuda");
    for (int i = 0; i < kNumDTypes; ++i)
      memory.codes_[i] =
          number(core, "aoti_torch_dtype_" + std::string(name(static_cast<DType>(i))));
    return memory;
  }();
  return found ? &*found : nullptr;
}

bool TorchMemory::is_watched() {
  // c10::impl::TorchDispatchModeTLS::any_modes_set(bool): the name says which parameters it has.
  static auto* const any_modes_set = reinterpret_cast<bool (*)(bool)>(
      loaded("libc10.so") == nullptr
          ? nullptr
          : dlsym(loaded("libc10.so"), "_ZN3c104impl20TorchDispatchModeTLS13any_modes_setEb"));
  return any_modes_set != nullptr && any_modes_set(false);
}

std::int32_t TorchMemory::code_of(DType type) const {
  return codes_[static_cast<std::size_t>(type)];
}

nb::object TorchMemory::empty(const std::vector<std::int64_t>& sizes,
                              const std::vector<std::int64_t>& strides, std::int32_t code,
                              DLDevice device, void*& data) const {
  Handle tensor = nullptr;
  if (empty_strided_(static_cast<std::int64_t>(sizes.size()), sizes.data(), strides.data(), code,
                     device.device_type == kDLCPU ? cpu_ : cuda_, device.device_id, &tensor) != 0)
    return {};
  nb::object made = get_data_(tensor, &data) == 0 ? nb::steal(wrap_(tensor)) : nb::object();
  release_(tensor);
  if (!made.is_valid()) PyErr_Clear();
  return made;
}

}  // namespace tc::python
