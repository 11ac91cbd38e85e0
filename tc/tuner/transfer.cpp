// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/transfer.h"

#include <cmath>

#include "tc/tuner/gpu_model.h"
#include "tc/tuner/model.h"

namespace tc::tuner {

namespace {

std::vector<std::int64_t> sizes_of(const compiler::FrontEnd& front) {
  std::vector<std::int64_t> sizes;
  for (const lang::Size& size : front.symbolic.sizes)
    sizes.push_back(front.bindings.sizes.at(size.name));
  return sizes;
}

}  // namespace

Transfer::Transfer(std::string_view text, std::string_view def, const Metadata& metadata,
                   const compiler::FrontEnd& front, const Target& target)
    : source_("<text>", std::string(text)), def_(def), metadata_(metadata), front_(front),
      target_(target) {}

/// Tensors of other sizes are contiguous; where extents do not follow from the sizes, the front end
/// will say so.
Metadata Transfer::metadata_at(const std::vector<std::int64_t>& sizes) const {
  Metadata metadata = metadata_;
  metadata.outputs.clear();
  lang::IntEnv environment;
  environment.sizes = &sizes;
  for (std::size_t t = 0; t < metadata.inputs.size(); ++t) {
    TensorMeta& tensor = metadata.inputs[t];
    tensor.strides.clear();
    for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
      const auto extent = lang::evaluate(front_.symbolic.tensors[t].extent[d], environment);
      tensor.sizes[d] = extent.value_or(tensor.sizes[d]);
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto given = metadata.sizes.find(front_.symbolic.sizes[i].name);
    if (given != metadata.sizes.end()) given->second = sizes[i];
  }
  return metadata;
}

Transfer::Place& Transfer::place(const std::vector<std::int64_t>& sizes) {
  const auto [found, is_new] = places_.try_emplace(sizes);
  Place& place = found->second;
  if (!is_new) return place;
  if (sizes == sizes_of(front_)) {
    place.front = front_;
  } else {
    Result<compiler::FrontEnd, Failure> front =
        compiler::front_end(source_, def_, metadata_at(sizes), compiler::fresh_alignment(target_));
    // Records may say any sizes: also some at which the program is none.
    if (!front || compiler::prove(source_, *front)) return place;
    place.front = std::move(front).value();
  }
  if (target_.kind == TargetKind::Cpu) {
    Result<Facts, Failure> facts = gather_facts(*place.front, {}, target_);
    if (facts) place.facts = std::move(facts).value();
  }
  place.standard = estimate_at(place, {});
  return place;
}

std::optional<double> Transfer::estimate_at(const Place& place,
                                            const MappingOptions& options) const {
  if (target_.kind == TargetKind::Cpu)
    return place.facts ? std::optional(estimate(*place.facts, options)) : std::nullopt;
  const double us = appraise_on_gpu(*place.front, options, target_).us;
  return std::isfinite(us) ? std::optional(us) : std::nullopt;
}

std::optional<double> Transfer::relative_estimate(const std::vector<std::int64_t>& sizes,
                                                  const MappingOptions& options) {
  const Place& there = place(sizes);
  if (!there.standard || *there.standard <= 0) return std::nullopt;
  const std::optional<double> us = estimate_at(there, options);
  return us ? std::optional(*us / *there.standard) : std::nullopt;
}

std::optional<double> Transfer::relative_time(const Choice& choice) {
  const Record& record = choice.record;
  if (!choice.default_us || *choice.default_us <= 0) return std::nullopt;
  const std::optional<double> there = relative_estimate(record.identity.sizes, record.options);
  const std::optional<double> here = relative_estimate(sizes_of(front_), record.options);
  if (!there || !here || *there <= 0) return std::nullopt;
  return record.median_us / *choice.default_us * *here / *there;
}

}  // namespace tc::tuner
