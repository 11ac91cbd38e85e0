// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/reproducer.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tc::compiler {

namespace {

using Json = nlohmann::ordered_json;

Json to_json_value(const TensorMeta& meta) {
  return {{"type", std::string(name(meta.type))},
          {"sizes", meta.sizes},
          {"strides", meta.strides},
          {"alignment", meta.alignment}};
}

TensorMeta meta_from_json(const Json& json) {
  TensorMeta meta;
  const auto type = dtype_from_name(json.at("type").get<std::string>());
  if (!type)
    throw std::invalid_argument("unknown element type '" + json.at("type").get<std::string>() +
                                "'");
  meta.type = *type;
  meta.sizes = json.at("sizes").get<std::vector<std::int64_t>>();
  meta.strides = json.at("strides").get<std::vector<std::int64_t>>();
  meta.alignment = json.at("alignment").get<std::int64_t>();
  return meta;
}

Json to_json_value(const Target& target) {
  return {{"kind", target.kind == TargetKind::Cpu ? "cpu" : "cuda"},
          {"arch", target.arch},
          {"features", target.features},
          {"vector_bits", target.vector_bits},
          {"vector_registers", target.vector_registers},
          {"cores", target.cores},
          {"l1_bytes", target.l1_bytes},
          {"l2_bytes", target.l2_bytes},
          {"l3_bytes", target.l3_bytes},
          {"shared_bytes", target.shared_bytes},
          {"max_threads", target.max_threads}};
}

Target target_from_json(const Json& json) {
  Target target;
  target.kind = json.at("kind") == "cpu" ? TargetKind::Cpu : TargetKind::Cuda;
  target.arch = json.at("arch").get<std::string>();
  target.features = json.at("features").get<std::string>();
  target.vector_bits = json.at("vector_bits").get<int>();
  target.vector_registers = json.at("vector_registers").get<int>();
  target.cores = json.at("cores").get<int>();
  target.l1_bytes = json.at("l1_bytes").get<std::int64_t>();
  target.l2_bytes = json.at("l2_bytes").get<std::int64_t>();
  target.l3_bytes = json.at("l3_bytes").get<std::int64_t>();
  target.shared_bytes = json.at("shared_bytes").get<std::int64_t>();
  target.max_threads = json.at("max_threads").get<std::int64_t>();
  return target;
}

}  // namespace

std::string write_reproducer(const std::filesystem::path& directory, const CompileInput& input,
                             std::string_view error) {
  Json json;
  json["tensorc_reproducer"] = 1;
  json["version"] = version();
  json["build"] = build_identity();
  json["error"] = std::string(error);
  json["text"] = input.text;
  json["def"] = input.def;
  json["inputs"] = Json::array();
  for (const TensorMeta& meta : input.metadata.inputs)
    json["inputs"].push_back(to_json_value(meta));
  json["outputs"] = Json::array();
  for (const auto& meta : input.metadata.outputs)
    json["outputs"].push_back(meta ? to_json_value(*meta) : Json());
  json["output_alignment"] = input.metadata.output_alignment;
  json["consts"] = Json::object();
  for (const auto& [name, value] : input.metadata.consts) {
    json["consts"][name] = {{"integer", value.integer}, {"real", fmt::format("{:a}", value.real)}};
  }
  json["sizes"] = Json::object();
  for (const auto& [name, value] : input.metadata.sizes)
    json["sizes"][name] = value;
  json["options"] = Json::parse(to_json(input.options));
  json["target"] = to_json_value(input.target);
  // Texts may hold any bytes; what is not UTF-8 is replaced.
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  const std::filesystem::path path =
      (directory.empty() ? std::filesystem::path(".") : directory) /
      fmt::format("tensorc-repro-{:016x}.json", XXH3_64bits(text.data(), text.size()));
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? path.string() : std::string();
}

Result<CompileInput, std::string> read_reproducer(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return fmt::format("cannot read '{}'", file.string());
  std::ostringstream text;
  text << stream.rdbuf();
  try {
    const Json json = Json::parse(text.str());
    if (json.at("tensorc_reproducer") != 1)
      return fmt::format("'{}' is no reproducer of this version", file.string());
    CompileInput input;
    input.text = json.at("text").get<std::string>();
    input.def = json.at("def").get<std::string>();
    for (const Json& meta : json.at("inputs"))
      input.metadata.inputs.push_back(meta_from_json(meta));
    for (const Json& meta : json.at("outputs")) {
      input.metadata.outputs.push_back(meta.is_null() ? std::nullopt
                                                      : std::optional(meta_from_json(meta)));
    }
    input.metadata.output_alignment = json.at("output_alignment").get<std::int64_t>();
    for (const auto& [name, value] : json.at("consts").items()) {
      input.metadata.consts[name] = {
          value.at("integer").get<std::int64_t>(),
          std::strtod(value.at("real").get<std::string>().c_str(), nullptr)};
    }
    for (const auto& [name, value] : json.at("sizes").items())
      input.metadata.sizes[name] = value.get<std::int64_t>();
    Result<MappingOptions, std::string> options = options_from_json(json.at("options").dump());
    if (!options) return fmt::format("'{}': {}", file.string(), options.error());
    input.options = *options;
    input.target = target_from_json(json.at("target"));
    return input;
  } catch (const std::exception& error) {
    return fmt::format("'{}' is no reproducer: {}", file.string(), error.what());
  }
}

}  // namespace tc::compiler
