// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/record.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tc/support/check.h"

namespace tc::tuner {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "tuned-1";
constexpr std::array<const char*, kNumOutcomes> kOutcomes = {"measured", "slow",    "rejected",
                                                             "wrong",    "crashed", "hung"};

std::string hash_of(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

const char* kind_name(TargetKind kind) {
  return kind == TargetKind::Cpu ? "cpu" : "cuda";
}

}  // namespace

const char* to_string(Outcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)];
}

std::optional<Outcome> outcome_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    if (kOutcomes[i] == name) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

Identity identity_of(const compiler::FrontEnd& front, const Target& target) {
  Identity identity;
  identity.program = hash_of(lang::canonical(front.symbolic));
  identity.def = front.symbolic.name;
  for (const lang::Size& size : front.symbolic.sizes) {
    const auto found = front.bindings.sizes.find(size.name);
    if (found == front.bindings.sizes.end()) continue;
    identity.size_names.push_back(size.name);
    identity.sizes.push_back(found->second);
  }
  for (const lang::Const& constant : front.symbolic.consts) {
    const auto found = front.bindings.consts.find(constant.name);
    check(found != front.bindings.consts.end(), "a const without a value reached the tuner");
    identity.consts.push_back(is_float(constant.type) ? found->second.real
                                                      : static_cast<double>(found->second.integer));
  }
  for (const auto* metas : {&front.inputs, &front.outputs}) {
    for (std::size_t i = 0; i < metas->size(); ++i) {
      if ((*metas)[i].is_contiguous()) continue;
      identity.layout += fmt::format("{}{}:{} ", metas == &front.inputs ? "in" : "out", i,
                                     fmt::join((*metas)[i].strides, ","));
    }
  }
  identity.kind = target.kind;
  identity.arch = target.arch;
  identity.target = hash_of(target.to_string());
  identity.versions = version();
  return identity;
}

std::string to_json(const Record& record) {
  const Identity& identity = record.identity;
  Json json;
  json["record"] = kFormat;
  json["program"] = identity.program;
  json["def"] = identity.def;
  json["size_names"] = identity.size_names;
  json["sizes"] = identity.sizes;
  json["consts"] = identity.consts;
  json["layout"] = identity.layout;
  json["kind"] = kind_name(identity.kind);
  json["arch"] = identity.arch;
  json["target"] = identity.target;
  json["versions"] = identity.versions;
  json["options"] = Json::parse(tc::to_json(record.options));
  json["outcome"] = to_string(record.outcome);
  json["detail"] = record.detail;
  json["median_us"] = record.median_us;
  json["samples"] = record.samples;
  json["verification"] = record.verification;
  json["provenance"] = record.provenance;
  json["created"] = record.created;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Record, std::string> record_from_json(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    if (json.at("record") != kFormat)
      return fmt::format("a record of format {}, known is \"{}\"", json.at("record").dump(),
                         kFormat);
    Record record;
    Identity& identity = record.identity;
    json.at("program").get_to(identity.program);
    json.at("def").get_to(identity.def);
    json.at("size_names").get_to(identity.size_names);
    json.at("sizes").get_to(identity.sizes);
    json.at("consts").get_to(identity.consts);
    json.at("layout").get_to(identity.layout);
    const auto kind = json.at("kind").get<std::string>();
    if (kind != "cpu" && kind != "cuda") return fmt::format("unknown kind of target '{}'", kind);
    identity.kind = kind == "cpu" ? TargetKind::Cpu : TargetKind::Cuda;
    json.at("arch").get_to(identity.arch);
    json.at("target").get_to(identity.target);
    json.at("versions").get_to(identity.versions);
    Result<MappingOptions, std::string> options = options_from_json(json.at("options").dump());
    if (!options) return options.error();
    record.options = *options;
    const auto outcome = outcome_from_name(json.at("outcome").get<std::string>());
    if (!outcome) return fmt::format("unknown outcome {}", json.at("outcome").dump());
    record.outcome = *outcome;
    json.at("detail").get_to(record.detail);
    json.at("median_us").get_to(record.median_us);
    if (record.is_usable() && record.median_us <= 0)
      return std::string("a measured time must be above 0");
    json.at("samples").get_to(record.samples);
    json.at("verification").get_to(record.verification);
    json.at("provenance").get_to(record.provenance);
    json.at("created").get_to(record.created);
    return record;
  } catch (const Json::exception& error) {
    return std::string(error.what());
  }
}

}  // namespace tc::tuner
