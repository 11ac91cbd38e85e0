// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tc/support/numeric.h"
#include "tc/tuner/bench.h"

namespace tc::tuner {

namespace {

constexpr std::uint64_t kInputSeed = 20180213;

const lang::Tensor& output_tensor(const compiler::FrontEnd& front, std::size_t o) {
  return front.specialised.tensors[static_cast<std::size_t>(front.specialised.outputs[o])];
}

}  // namespace

std::vector<compiler::HostTensor> input_values(const compiler::FrontEnd& front,
                                               compiler::InputKind kind) {
  return compiler::random_inputs(front.specialised, kInputSeed, kind);
}

std::map<int, compiler::HostTensor> initial_values(const compiler::FrontEnd& front) {
  constexpr std::size_t kPeriod = 5;
  std::map<int, compiler::HostTensor> initial;
  for (std::size_t o = 0; o < front.outputs.size(); ++o) {
    const lang::Tensor& tensor = output_tensor(front, o);
    if (tensor.is_param || !tensor.needs_initial) continue;
    lang::Value value = lang::Value::zeros(front.outputs[o].type, front.outputs[o].sizes);
    for (std::size_t i = 0; i < value.real.size(); ++i)
      value.real[i] = static_cast<double>(i % kPeriod) - 2;
    for (std::size_t i = 0; i < value.integer.size(); ++i)
      value.integer[i] = static_cast<std::int64_t>(value.type == DType::Bool ? i % 2 : i % kPeriod);
    initial.emplace(static_cast<int>(o), compiler::from_value(value));
  }
  return initial;
}

std::optional<ArgumentImages> argument_images(const compiler::FrontEnd& front,
                                              compiler::InputKind kind) {
  ArgumentImages images;
  const std::vector<compiler::HostTensor> values = input_values(front, kind);
  for (std::size_t i = 0; i < front.inputs.size(); ++i) {
    std::optional<Image> image = poisoned_image(front.inputs[i]);
    if (!image) return std::nullopt;
    write(*image, values[i]);
    images.inputs.push_back(std::move(*image));
  }
  const std::map<int, compiler::HostTensor> initial = initial_values(front);
  for (std::size_t o = 0; o < front.outputs.size(); ++o) {
    const lang::Tensor& tensor = output_tensor(front, o);
    images.in_place_of.push_back(tensor.is_param ? tensor.param_position : -1);
    images.outputs.emplace_back();
    if (tensor.is_param) continue;
    std::optional<Image> image = poisoned_image(front.outputs[o]);
    if (!image) return std::nullopt;
    const auto found = initial.find(static_cast<int>(o));
    if (found != initial.end()) write(*image, found->second);
    images.outputs.back() = std::move(*image);
  }
  return images;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tc::tuner
