// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tc/support/check.h"

namespace tc::tuner {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "tuned-2";
/// As kFormat, without "code".
constexpr const char* kFormatWithoutCode = "tuned-1";
constexpr std::array<const char*, kNumOutcomes> kOutcomes = {"measured", "slow",    "rejected",
                                                             "wrong",    "crashed", "hung"};

std::string hash_of(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

constexpr std::array<const char*, 2> kKinds = {"cpu", "cuda"};

/// A value out of its domain; JSON reports other mistakes itself.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// ---- one value in JSON, and back
template <class T>
Json json_of(const T& value) {
  return value;
}
Json json_of(TargetKind kind) {
  return kKinds[kind == TargetKind::Cpu ? 0 : 1];
}
Json json_of(Outcome outcome) {
  return to_string(outcome);
}
Json json_of(const MappingOptions& options) {
  return Json::parse(tc::to_json(options));
}
/// Readers of JSON may keep numbers as float64: all bits of a code survive as a text.
Json json_of(std::uint64_t code) {
  return fmt::format("{:016x}", code);
}
/// JSON has no number for NaN and the infinities: these are texts.
Json json_of(const std::vector<double>& consts) {
  Json json = Json::array();
  for (const double value : consts)
    json.push_back(std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)));
  return json;
}

template <class T>
void read(const Json& json, T& value) {
  json.get_to(value);
}
/// JSON's own conversion would round and wrap.
template <class Int>
void read_integer(const Json& json, Int& value) {
  std::int64_t wide = 0;
  const bool is_integer =
      json.is_number_integer() &&
      (!json.is_number_unsigned() || json.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
  if (is_integer) wide = json.get<std::int64_t>();
  if (!is_integer || wide < 0 || wide > std::numeric_limits<Int>::max())
    throw Malformed(fmt::format("{} is no count", json.dump()));
  value = static_cast<Int>(wide);
}
void read(const Json& json, int& value) {
  read_integer(json, value);
}
void read(const Json& json, std::vector<std::int64_t>& sizes) {
  sizes.clear();
  for (const Json& size : json.get<std::vector<Json>>())
    read_integer(size, sizes.emplace_back());
}
void read(const Json& json, TargetKind& kind) {
  const auto name = json.get<std::string>();
  if (name != kKinds[0] && name != kKinds[1])
    throw Malformed(fmt::format("unknown kind of target '{}'", name));
  kind = name == kKinds[0] ? TargetKind::Cpu : TargetKind::Cuda;
}
void read(const Json& json, Outcome& outcome) {
  const auto found = outcome_from_name(json.get<std::string>());
  if (!found) throw Malformed(fmt::format("unknown outcome {}", json.dump()));
  outcome = *found;
}
void read(const Json& json, std::uint64_t& code) {
  constexpr std::size_t kDigits = 16;
  const auto text = json.get<std::string>();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code, 16);
  if (text.size() != kDigits || error != std::errc() || end != text.data() + text.size())
    throw Malformed(fmt::format("{} is no hash of 16 hexadecimal digits", json.dump()));
}
void read(const Json& json, std::vector<double>& consts) {
  static const std::map<std::string, double> kNoNumbers = {
      {"nan", std::numeric_limits<double>::quiet_NaN()},
      {"-nan", -std::numeric_limits<double>::quiet_NaN()},
      {"inf", std::numeric_limits<double>::infinity()},
      {"-inf", -std::numeric_limits<double>::infinity()}};
  consts.clear();
  for (const Json& value : json.get<std::vector<Json>>()) {
    if (!value.is_string()) {
      consts.push_back(value.get<double>());
      continue;
    }
    const auto found = kNoNumbers.find(value.get<std::string>());
    if (found == kNoNumbers.end()) throw Malformed(fmt::format("{} is no number", value.dump()));
    consts.push_back(found->second);
  }
}
void read(const Json& json, MappingOptions& options) {
  const Result<MappingOptions, std::string> found = options_from_json(json.dump());
  if (!found) throw Malformed(found.error());
  options = *found;
}

/// Calls f(name, member) for every field of a record, in the order in which they are written.
template <class R, class F>
void for_each_field(R& record, F&& f) {
  auto& identity = record.identity;
  f("program", identity.program);
  f("def", identity.def);
  f("size_names", identity.size_names);
  f("sizes", identity.sizes);
  f("consts", identity.consts);
  f("layout", identity.layout);
  f("kind", identity.kind);
  f("arch", identity.arch);
  f("target", identity.target);
  f("versions", identity.versions);
  f("options", record.options);
  f("code", record.code);
  f("outcome", record.outcome);
  f("detail", record.detail);
  f("median_us", record.median_us);
  f("samples", record.samples);
  f("verification", record.verification);
  f("provenance", record.provenance);
  f("created", record.created);
}

/// A name that comes twice says two things.
Json parse_unambiguous(std::string_view line) {
  std::vector<std::set<std::string>> names;
  return Json::parse(line, [&](int, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key && !names.back().insert(parsed.get<std::string>()).second)
      throw Malformed(fmt::format("{} is there twice", parsed.dump()));
    return true;
  });
}

/// As strftime() with '%Y-%m-%dT%H:%M:%fZ' writes it.
bool is_time(const std::string& text) {
  constexpr std::string_view kPattern = "0000-00-00T00:00:00.000Z";
  return text.size() == kPattern.size() &&
         std::equal(text.begin(), text.end(), kPattern.begin(), [](char c, char pattern) {
           return pattern == '0' ? c >= '0' && c <= '9' : c == pattern;
         });
}

/// What goes to terminals is ASCII without control characters, some of which other encodings have
/// too.
bool is_printable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// What is wrong in a record whose fields have their types; empty: nothing.
std::string problem_of(const Record& record) {
  const Identity& identity = record.identity;
  if (!std::isfinite(record.median_us) || record.median_us < 0 ||
      (record.is_usable() && record.median_us == 0))
    return "a measured time must be above 0";
  if (identity.sizes.size() != identity.size_names.size())
    return fmt::format("{} sizes with {} names", identity.sizes.size(), identity.size_names.size());
  if (!record.created.empty() && !is_time(record.created))
    return fmt::format("'{}' is no time in UTC", record.created.substr(0, 40));
  if (!is_printable(identity.def) || !is_printable(identity.arch) ||
      !is_printable(record.verification) || !is_printable(record.provenance) ||
      !std::all_of(identity.size_names.begin(), identity.size_names.end(), is_printable))
    return "names, the check and the provenance are of printable ASCII characters";
  return {};
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
  identity.versions = current_versions();
  return identity;
}

std::string current_versions() {
  return version() + " " + build_identity();
}

bool is_same_call(const Identity& a, const Identity& b) {
  return a.program == b.program && a.kind == b.kind && a.sizes == b.sizes &&
         std::equal(a.consts.begin(), a.consts.end(), b.consts.begin(), b.consts.end(),
                    is_same_const) &&
         a.layout == b.layout && a.target == b.target && a.versions == b.versions;
}

bool is_same_const(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

std::string to_json(const Record& record) {
  Json json;
  json["record"] = kFormat;
  for_each_field(record, [&](const char* name, const auto& value) { json[name] = json_of(value); });
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Record, std::string> record_from_json(std::string_view line) {
  try {
    const Json json = parse_unambiguous(line);
    if (!json.is_object()) return std::string("a record is one JSON object");
    const Json& format = json.at("record");
    const bool has_code = format != kFormatWithoutCode;
    if (has_code && format != kFormat)
      return fmt::format("a record of format {}, known are \"{}\" and \"{}\"", format.dump(),
                         kFormatWithoutCode, kFormat);
    Record record;
    for_each_field(record, [&](const char* name, auto& value) {
      if (has_code || name != std::string_view("code")) read(json.at(name), value);
    });
    if (std::string problem = problem_of(record); !problem.empty()) return problem;
    return record;
  } catch (const Json::exception& error) {
    return std::string(error.what());
  } catch (const Malformed& error) {
    return std::string(error.what());
  }
}

}  // namespace tc::tuner
