// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tc/tc.h"

namespace tc {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::string& tensor, const TensorMeta& meta) {
  return {{"name", tensor},
          {"dtype", std::string(name(meta.type))},
          {"shape", meta.sizes},
          {"strides", meta.strides},
          {"alignment", meta.alignment}};
}

Json json_of(const KernelResources& kernel) {
  return {{"name", kernel.name},
          {"registers", kernel.registers},
          {"local_bytes", kernel.local_bytes},
          {"spill_stores", kernel.spill_stores},
          {"spill_loads", kernel.spill_loads},
          {"shared_bytes", kernel.shared_bytes}};
}

}  // namespace

std::string to_json(const Executor& executor) {
  Json json;
  json["def"] = executor.name();
  json["target"] = executor.target().kind == TargetKind::Cuda ? "cuda" : "cpu";
  json["facts"] = executor.target().to_string();
  json["options"] = Json::parse(to_json(executor.options()));
  const std::vector<std::string>& names = executor.input_names();
  json["inputs"] = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i)
    json["inputs"].push_back(json_of(names[i], executor.input_metadata()[i]));
  json["outputs"] = Json::array();
  for (std::size_t o = 0; o < executor.output_roles().size(); ++o) {
    const OutputRole& role = executor.output_roles()[o];
    Json output = json_of(role.name, executor.output_metadata()[o]);
    output["in_place_of"] =
        role.in_place_of < 0 ? Json() : Json(names[static_cast<std::size_t>(role.in_place_of)]);
    output["needs_initial"] = role.needs_initial;
    json["outputs"].push_back(std::move(output));
  }
  json["kernels"] = executor.kernels();
  json["scratch_bytes"] = executor.scratch_bytes();
  json["compile_ms"] = executor.report().compile_ms;
  json["cache"] = to_string(executor.report().source);
  json["resources"] = Json::array();
  for (const KernelResources& kernel : executor.report().kernels)
    json["resources"].push_back(json_of(kernel));
  return json.dump();
}

}  // namespace tc
