// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "tc/support/numeric.h"
#include "tc/tuner/bench.h"

namespace tc::tuner {

namespace {

constexpr std::uint64_t kInputSeed = 20180213;

/// Floats that are drawn for one tensor; a larger one repeats them. A prime, so that no two rows or
/// tiles are alike.
constexpr std::int64_t kDrawn = 1'048'583;

std::int64_t elements_of(const TensorMeta& meta) {
  std::int64_t count = 1;
  for (const std::int64_t size : meta.sizes)
    count *= size;
  return count;
}

bool is_repeated(const Image& image) {
  return is_float(image.meta.type) && bits(image.meta.type) >= 8 && image.meta.is_contiguous() &&
         elements_of(image.meta) > kDrawn;
}

void repeat(Image& image, const compiler::HostTensor& values) {
  for (std::size_t at = image.begin; at < image.end; at += values.bytes())
    std::memcpy(image.bytes.data() + at, values.data(), std::min(values.bytes(), image.end - at));
}

const lang::Tensor& output_tensor(const compiler::FrontEnd& front, std::size_t o) {
  return front.specialised.tensors[static_cast<std::size_t>(front.specialised.outputs[o])];
}

}  // namespace

const ArgumentImages* Arguments::images(compiler::InputKind kind) {
  auto [found, is_new] = images_.try_emplace(kind);
  if (is_new) found->second = make(kind);
  return found->second ? &*found->second : nullptr;
}

void Arguments::forget(compiler::InputKind kind) {
  images_.erase(kind);
}

std::optional<std::vector<compiler::HostTensor>> Arguments::input_values() {
  const ArgumentImages* made = images(compiler::InputKind::Integer);
  if (made == nullptr) return std::nullopt;
  std::vector<compiler::HostTensor> values;
  for (const Image& image : made->inputs)
    values.push_back(read(image));
  return values;
}

std::map<int, compiler::HostTensor> Arguments::initial_values() const {
  constexpr std::size_t kPeriod = 5;
  std::map<int, compiler::HostTensor> initial;
  for (std::size_t o = 0; o < front_.outputs.size(); ++o) {
    const lang::Tensor& tensor = output_tensor(front_, o);
    if (tensor.is_param || !tensor.needs_initial) continue;
    lang::Value value = lang::Value::zeros(front_.outputs[o].type, front_.outputs[o].sizes);
    for (std::size_t i = 0; i < value.real.size(); ++i)
      value.real[i] = static_cast<double>(i % kPeriod) - 2;
    for (std::size_t i = 0; i < value.integer.size(); ++i)
      value.integer[i] = static_cast<std::int64_t>(value.type == DType::Bool ? i % 2 : i % kPeriod);
    initial.emplace(static_cast<int>(o), compiler::from_value(value));
  }
  return initial;
}

std::optional<ArgumentImages> Arguments::make(compiler::InputKind kind) const {
  ArgumentImages images;
  for (std::size_t i = 0; i < front_.inputs.size(); ++i) {
    std::optional<Image> image = poisoned_image(front_.inputs[i]);
    if (!image) return std::nullopt;
    if (is_repeated(*image))
      repeat(*image, compiler::random_floats(image->meta.type, kDrawn, kInputSeed + i, kind));
    else
      write(*image,
            compiler::random_input(front_.specialised, static_cast<int>(i), kInputSeed, kind));
    images.inputs.push_back(std::move(*image));
  }
  const std::map<int, compiler::HostTensor> initial = initial_values();
  for (std::size_t o = 0; o < front_.outputs.size(); ++o) {
    const lang::Tensor& tensor = output_tensor(front_, o);
    images.in_place_of.push_back(tensor.is_param ? tensor.param_position : -1);
    images.outputs.emplace_back();
    if (tensor.is_param) continue;
    std::optional<Image> image = poisoned_image(front_.outputs[o]);
    if (!image) return std::nullopt;
    const auto found = initial.find(static_cast<int>(o));
    if (found != initial.end()) write(*image, found->second);
    images.outputs.back() = std::move(*image);
  }
  return images;
}

OutputView Bench::view_of(const Image& image, unsigned char* bytes, std::size_t o) {
  OutputView view{image.meta.type, image.meta.sizes, bytes + image.element_0,
                  image.end - image.element_0};
  if (image.meta.is_contiguous()) return view;
  compiler::HostTensor& gathered = gathered_[o] = read(image, bytes);
  view.data = gathered.data();
  view.bytes = gathered.bytes();
  return view;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace tc::tuner
