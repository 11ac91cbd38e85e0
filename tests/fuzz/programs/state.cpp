// SPDX-License-Identifier: Apache-2.0
#include "state.h"

#include <fmt/format.h>

namespace tc::fuzz {

Class class_of(DType type) {
  if (type == DType::Bool) return Class::Bool;
  return is_float(type) ? Class::Float : Class::Integer;
}

TensorInfo* State::find(const std::string& tensor) {
  for (TensorInfo& info : tensors) {
    if (info.name == tensor) return &info;
  }
  return nullptr;
}

bool State::has_outputs() const {
  for (const TensorInfo& info : tensors) {
    if (info.is_output) return true;
  }
  return false;
}

std::string State::text() const {
  std::string result;
  for (const std::string& helper : helpers)
    result += helper + "\n";
  std::vector<std::string> returns;
  for (const TensorInfo& info : tensors) {
    if (info.is_output)
      returns.push_back(info.annotation.empty() ? info.name : info.annotation + " " + info.name);
  }
  result += fmt::format("def {}({}) -> ({}) {{\n", name, fmt::join(declarations, ", "),
                        fmt::join(returns, ", "));
  for (const std::string& statement : body)
    result += "  " + statement + "\n";
  return result + "}\n";
}

Case State::to_case() const {
  Case result;
  result.text = text();
  result.def = name;
  for (const auto& [size, value] : sizes)
    result.sizes[size] = value;
  for (const ConstInfo& constant : consts)
    result.consts[constant.name] = constant.value;
  return result;
}

}  // namespace tc::fuzz
