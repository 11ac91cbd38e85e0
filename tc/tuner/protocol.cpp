// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/protocol.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace tc::tuner {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 4> kFaults = {"none", "crash", "hang", "wrong"};
constexpr std::array<const char*, 5> kJobs = {"reference", "appraise", "compile", "measure",
                                              "time"};

template <class E, std::size_t N>
std::optional<E> from_name(const std::array<const char*, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<E>(found - names.begin());
}

/// A value out of its domain, reported as JSON's own errors are.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Json to_json(const TensorMeta& meta) {
  return {{"type", std::string(name(meta.type))},
          {"sizes", meta.sizes},
          {"strides", meta.strides},
          {"alignment", meta.alignment}};
}

TensorMeta meta_from(const Json& json) {
  const auto type = dtype_from_name(json.at("type").get<std::string>());
  if (!type) throw Malformed("unknown element type");
  return {*type, json.at("sizes").get<std::vector<std::int64_t>>(),
          json.at("strides").get<std::vector<std::int64_t>>(),
          json.at("alignment").get<std::int64_t>()};
}

Json to_json(const Metadata& metadata) {
  Json json;
  json["inputs"] = Json::array();
  for (const TensorMeta& meta : metadata.inputs)
    json["inputs"].push_back(to_json(meta));
  json["outputs"] = Json::array();
  for (const auto& meta : metadata.outputs)
    json["outputs"].push_back(meta ? to_json(*meta) : Json());
  json["consts"] = Json::object();
  for (const auto& [name, value] : metadata.consts)
    json["consts"][name] = {{"integer", value.integer}, {"real", fmt::format("{:a}", value.real)}};
  json["sizes"] = Json::object();
  for (const auto& [name, value] : metadata.sizes)
    json["sizes"][name] = value;
  json["output_alignment"] = metadata.output_alignment;
  return json;
}

Metadata metadata_from(const Json& json) {
  Metadata metadata;
  for (const Json& meta : json.at("inputs"))
    metadata.inputs.push_back(meta_from(meta));
  for (const Json& meta : json.at("outputs"))
    metadata.outputs.push_back(meta.is_null() ? std::nullopt : std::optional(meta_from(meta)));
  for (const auto& [name, value] : json.at("consts").items())
    metadata.consts[name] = {value.at("integer").get<std::int64_t>(),
                             std::strtod(value.at("real").get<std::string>().c_str(), nullptr)};
  for (const auto& [name, value] : json.at("sizes").items())
    metadata.sizes[name] = value.get<std::int64_t>();
  metadata.output_alignment = json.at("output_alignment").get<std::int64_t>();
  return metadata;
}

/// Calls f(name, member) for every fact of a target.
template <class T, class F>
void for_each_fact(T& target, F&& f) {
  f("arch", target.arch);
  f("features", target.features);
  f("vector_bits", target.vector_bits);
  f("vector_registers", target.vector_registers);
  f("cores", target.cores);
  f("l1_bytes", target.l1_bytes);
  f("l2_bytes", target.l2_bytes);
  f("l3_bytes", target.l3_bytes);
  f("shared_bytes", target.shared_bytes);
  f("max_threads", target.max_threads);
}

Json to_json(const Target& target) {
  Json json;
  json["kind"] = target.kind == TargetKind::Cpu ? "cpu" : "cuda";
  for_each_fact(target, [&](const char* name, const auto& value) { json[name] = value; });
  return json;
}

Target target_from(const Json& json) {
  Target target;
  target.kind = json.at("kind") == "cpu" ? TargetKind::Cpu : TargetKind::Cuda;
  for_each_fact(target, [&](const char* name, auto& value) { json.at(name).get_to(value); });
  return target;
}

template <class F>
auto parsed(std::string_view line, F&& f) -> Result<decltype(f(Json())), std::string> {
  try {
    return f(Json::parse(line));
  } catch (const Json::exception& error) {
    return std::string(error.what());
  } catch (const Malformed& error) {
    return std::string(error.what());
  }
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::optional<Fault> fault_from_name(std::string_view name) {
  return from_name<Fault>(kFaults, name);
}

std::string to_line(const WorkerSetup& setup) {
  Json json;
  json["versions"] = setup.versions;
  json["text"] = setup.text;
  json["def"] = setup.def;
  json["metadata"] = to_json(setup.metadata);
  json["target"] = to_json(setup.target);
  json["device"] = setup.device;
  json["cuda_path"] = setup.cuda.path;
  json["cuda_packages"] = setup.cuda.site_packages;
  json["cuda_driver"] = setup.cuda.driver;
  json["folder"] = setup.folder;
  json["memory_bytes"] = setup.memory_bytes;
  json["run_limit"] = setup.run_limit;
  json["faults"] = Json::array();
  for (const auto& [job, fault] : setup.faults)
    json["faults"].push_back({job, kFaults[static_cast<std::size_t>(fault)]});
  return line_of(json);
}

Result<WorkerSetup, std::string> setup_from_line(std::string_view line) {
  return parsed(line, [](const Json& json) {
    WorkerSetup setup;
    json.at("versions").get_to(setup.versions);
    json.at("text").get_to(setup.text);
    json.at("def").get_to(setup.def);
    setup.metadata = metadata_from(json.at("metadata"));
    setup.target = target_from(json.at("target"));
    json.at("device").get_to(setup.device);
    json.at("cuda_path").get_to(setup.cuda.path);
    json.at("cuda_packages").get_to(setup.cuda.site_packages);
    json.at("cuda_driver").get_to(setup.cuda.driver);
    json.at("folder").get_to(setup.folder);
    json.at("memory_bytes").get_to(setup.memory_bytes);
    json.at("run_limit").get_to(setup.run_limit);
    for (const Json& entry : json.at("faults")) {
      const auto fault = fault_from_name(entry.at(1).get<std::string>());
      if (!fault) throw Malformed("unknown fault");
      setup.faults[entry.at(0).get<int>()] = *fault;
    }
    return setup;
  });
}

std::string to_line(const Job& job) {
  return line_of({{"job", kJobs[static_cast<std::size_t>(job.kind)]},
                  {"id", job.id},
                  {"options", Json::parse(tc::to_json(job.options))},
                  {"stop_us", job.stop_us}});
}

Result<Job, std::string> job_from_line(std::string_view line) {
  return parsed(line, [](const Json& json) {
    Job job;
    const auto kind = from_name<Job::Kind>(kJobs, json.at("job").get<std::string>());
    if (!kind) throw Malformed("unknown job");
    job.kind = *kind;
    json.at("id").get_to(job.id);
    const Result<MappingOptions, std::string> options =
        options_from_json(json.at("options").dump());
    if (!options) throw Malformed(options.error());
    job.options = *options;
    json.at("stop_us").get_to(job.stop_us);
    return job;
  });
}

std::string to_line(const Reply& reply) {
  return line_of({{"id", reply.id},
                  {"outcome", to_string(reply.outcome)},
                  {"reason", reply.reason},
                  {"detail", reply.detail},
                  {"median_us", reply.median_us},
                  {"samples", reply.samples},
                  {"verification", reply.verification},
                  {"code", reply.code},
                  {"last", reply.is_last}});
}

Result<Reply, std::string> reply_from_line(std::string_view line) {
  return parsed(line, [](const Json& json) {
    Reply reply;
    json.at("id").get_to(reply.id);
    const auto outcome = outcome_from_name(json.at("outcome").get<std::string>());
    if (!outcome) throw Malformed("unknown outcome");
    reply.outcome = *outcome;
    json.at("reason").get_to(reply.reason);
    json.at("detail").get_to(reply.detail);
    json.at("median_us").get_to(reply.median_us);
    json.at("samples").get_to(reply.samples);
    json.at("verification").get_to(reply.verification);
    reply.code = json.value("code", std::uint64_t{0});
    reply.is_last = json.value("last", false);
    return reply;
  });
}

}  // namespace tc::tuner
