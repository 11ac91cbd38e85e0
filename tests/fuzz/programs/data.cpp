// SPDX-License-Identifier: Apache-2.0
#include "data.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cases/exactness.h"
#include "cases/placed_tensor.h"
#include "random.h"
#include "tc/compiler/random_inputs.h"
#include "tc/support/numeric.h"

namespace tc::fuzz {

using cases::PlacedTensor;
using compiler::HostTensor;

namespace {

/// Values far outside what subscripts allow, in some places of the integer tensors.
void make_wild(HostTensor& tensor, Random& random) {
  const DType type = tensor.meta().type;
  if (!is_integer(type)) return;
  lang::Value value = compiler::to_value(tensor);
  for (std::int64_t& slot : value.integer) {
    if (random.percent(20)) slot = wrap_to(type, random.pick<std::int64_t>({-1, -7, 5, 40, 1000}));
  }
  tensor = compiler::from_value(value);
}

/// Some value of the def is a float.
bool has_floats(const lang::TypedDef& def) {
  bool found = std::any_of(def.tensors.begin(), def.tensors.end(),
                           [](const lang::Tensor& tensor) { return is_float(tensor.type); });
  for (const lang::StatementInContext& context : lang::statements(def)) {
    lang::walk(context.statement->value,
               [&](const lang::Expr& expr) { found = found || is_float(expr.type); });
  }
  return found;
}

/// Values at the ends of the types, in some places. Wide integers only where none becomes a float:
/// differences of large numbers would be all rounding. Infinities of one sign, so that sums do not
/// depend on their order.
void make_extreme(HostTensor& tensor, bool wide, double infinity, Random& random) {
  const DType type = tensor.meta().type;
  if (type == DType::Bool || (is_integer(type) && bits(type) > 16 && !wide)) return;
  lang::Value value = compiler::to_value(tensor);
  for (double& slot : value.real) {
    if (!random.percent(5)) continue;
    slot = round_to(type, random.pick<double>({std::numeric_limits<double>::quiet_NaN(), infinity,
                                               1e-40, -1e-7, 0.0, 100.0}));
  }
  const std::int64_t least = is_float(type) ? 0 : min_value(type);
  const auto greatest = is_float(type) ? 0 : static_cast<std::int64_t>(max_value(type));
  for (std::int64_t& slot : value.integer) {
    if (random.percent(15))
      slot =
          random.pick<std::int64_t>({least, greatest, greatest / 2 + 1, greatest - 3, least / 2});
  }
  tensor = compiler::from_value(value);
}

}  // namespace

View view_of(const Case& experiment, const std::string& name) {
  const auto found = experiment.views.find(name);
  return found == experiment.views.end() ? View::Contiguous : found->second;
}

Data make_data(const Case& experiment, const compiler::FrontEnd& front) {
  Data data;
  const auto kind =
      experiment.integer_inputs ? compiler::InputKind::Integer : compiler::InputKind::Normal;
  data.inputs = compiler::random_inputs(front.specialised, experiment.inputs, kind);
  Random random(experiment.inputs);
  const bool wide = !has_floats(front.specialised);
  const double infinity = (random.percent(50) ? 1 : -1) * std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    if (experiment.extreme_inputs) make_extreme(data.inputs[i], wide, infinity, random);
    if (experiment.wild_indices) make_wild(data.inputs[i], random);
    // Elements that share memory have one value.
    PlacedTensor placed(front.inputs[i], 0);
    placed.write(data.inputs[i]);
    data.inputs[i] = placed.read();
  }
  const lang::TypedDef& def = front.specialised;
  for (std::size_t o = 0; o < def.outputs.size(); ++o) {
    const lang::Tensor& tensor = def.tensors[static_cast<std::size_t>(def.outputs[o])];
    if (!tensor.needs_initial || tensor.is_param) continue;
    lang::Value value = lang::Value::zeros(tensor.type, front.outputs[o].sizes);
    for (double& slot : value.real)
      slot = static_cast<double>(random.between(-2, 2));
    for (std::int64_t& slot : value.integer)
      slot = random.between(0, 1);
    data.initial.emplace(static_cast<int>(o), compiler::from_value(value));
  }
  return data;
}

bool same_bytes(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  for (std::size_t o = 0; o < a.size(); ++o) {
    if (a[o].bytes() != b[o].bytes() || std::memcmp(a[o].data(), b[o].data(), a[o].bytes()) != 0)
      return false;
  }
  return true;
}

Oracle::Oracle(const Case& experiment, const compiler::FrontEnd& front, const Data& data)
    : def_(front.specialised), data_(data),
      reference_(compiler::interpret_reference(def_, data.inputs, data.initial)),
      exact_(experiment.integer_inputs &&
             cases::computes_exactly(def_, data.inputs, data.initial, reference_)) {}

Compared Oracle::compare(const std::vector<HostTensor>& results) {
  const auto exactness = exact_ ? compiler::Exactness::Exact : compiler::Exactness::Rounded;
  compiler::Comparison comparison = compiler::compare(def_, reference_, results, exactness);
  if (comparison.ok) return {};
  if (!exact_) {
    if (!shifted_) {
      shifted_ = reference_;
      shifted_->shifted = compiler::interpret_shifted(def_, data_.inputs, data_.initial);
    }
    comparison = compiler::compare(def_, *shifted_, results, exactness);
    if (comparison.ok) return {std::nullopt, true};
  }
  return {comparison.message, false};
}

}  // namespace tc::fuzz
