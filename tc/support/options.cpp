// SPDX-License-Identifier: Apache-2.0
#include "tc/support/options.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace tc {

namespace {

constexpr int kOptionsVersion = 1;

using Json = nlohmann::ordered_json;

template <class T>
constexpr bool kIsEnum = std::is_enum_v<T>;

// ---- one member to JSON ----
Json member_to_json(bool value) {
  return value;
}
Json member_to_json(std::int64_t value) {
  return value;
}
Json member_to_json(const std::vector<std::int64_t>& value) {
  return Json(value);
}
template <class E>
  requires kIsEnum<E>
Json member_to_json(E value) {
  return std::string(option_value_names(value).at(static_cast<std::size_t>(value)));
}

// ---- one member from JSON; false: wrong type or unknown name ----
bool member_from_json(const Json& json, bool& value) {
  if (!json.is_boolean()) return false;
  value = json.get<bool>();
  return true;
}
bool member_from_json(const Json& json, std::int64_t& value) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return false;
  value = json.get<std::int64_t>();
  return true;
}
bool member_from_json(const Json& json, std::vector<std::int64_t>& value) {
  if (!json.is_array()) return false;
  value.clear();
  for (const Json& element : json) {
    std::int64_t number = 0;
    if (!member_from_json(element, number)) return false;
    value.push_back(number);
  }
  return true;
}
template <class E>
  requires kIsEnum<E>
bool member_from_json(const Json& json, E& value) {
  if (!json.is_string()) return false;
  const std::vector<std::string_view>& names = option_value_names(E{});
  const auto found = std::find(names.begin(), names.end(), json.get<std::string>());
  if (found == names.end()) return false;
  value = static_cast<E>(found - names.begin());
  return true;
}

std::string illegal_value(const char* name, const Json& value, const char* domain) {
  std::string shown = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  return fmt::format("option '{}' is {}; legal values: {}", name, shown, domain);
}

/// The names that the schema has, and "version".
std::vector<std::string> known_names() {
  std::vector<std::string> names = {"version"};
  for_each_field([&](const auto& field) { names.emplace_back(field.name); });
  return names;
}

/// Parses one object; the text of the error otherwise. A name given twice is an error, since one
/// value would be lost.
Result<Json, std::string> parse_object(std::string_view text) {
  std::set<std::string> seen;
  std::string repeated;
  const auto callback = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1 && repeated.empty() &&
        !seen.insert(parsed.get<std::string>()).second)
      repeated = parsed.get<std::string>();
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, callback);
  } catch (const Json::exception& error) {
    return std::string("options are not JSON: ") + error.what();
  }
  if (!repeated.empty()) return fmt::format("option '{}' is given twice", repeated);
  if (!json.is_object()) return std::string("options are one JSON object, as {\"version\": 1}");
  return json;
}

}  // namespace

const std::vector<std::string_view>& option_value_names(Fusion) {
  static const std::vector<std::string_view> names = {"max", "preserve3", "min"};
  return names;
}

const std::vector<std::string_view>& option_value_names(Bounds) {
  static const std::vector<std::string_view> names = {"check", "error", "trust"};
  return names;
}

Result<MappingOptions, std::string> named_options(std::string_view name, TargetKind kind) {
  MappingOptions options;
  if (name == "default") return options;
  if (name == "naive") {
    options.fusion = Fusion::Min;
    if (kind == TargetKind::Cpu) options.tile.assign(8, 1);
    options.vector_bits = 1;
    options.register_rows = 1;
    options.register_vectors = 1;
    options.stage = false;
    options.split_reduction = 1;
    return options;
  }
  return fmt::format("no options are named '{}'; there are 'default' and 'naive'", name);
}

std::string to_json(const MappingOptions& options) {
  Json json;
  json["version"] = kOptionsVersion;
  for_each_field(
      [&](const auto& field) { json[field.name] = member_to_json(options.*field.member); });
  return json.dump();
}

Result<MappingOptions, std::string> options_from_json(std::string_view text) {
  const Result<Json, std::string> parsed = parse_object(text);
  if (!parsed) return parsed.error();
  const Json& json = *parsed;
  const std::vector<std::string> known = known_names();
  for (const auto& entry : json.items())
    if (std::find(known.begin(), known.end(), entry.key()) == known.end())
      return fmt::format("no option is named '{}'; there are: {}", entry.key(),
                         fmt::join(known.begin() + 1, known.end(), ", "));
  if (!json.contains("version"))
    return fmt::format("options have no \"version\"; add \"version\": {}", kOptionsVersion);
  if (json["version"] != kOptionsVersion)
    return illegal_value("version", json["version"], std::to_string(kOptionsVersion).c_str());

  MappingOptions options;
  std::string error;
  for_each_field([&](const auto& field) {
    if (!error.empty() || !json.contains(field.name)) return;
    if (!member_from_json(json[field.name], options.*field.member))
      error = illegal_value(field.name, json[field.name], field.domain);
  });
  if (error.empty()) error = validate(options);
  if (!error.empty()) return error;
  return options;
}

std::string validate(const MappingOptions& options) {
  std::string error;
  for_each_field([&](const auto& field) {
    const auto& value = options.*field.member;
    if (error.empty() && field.legal != nullptr && !field.legal(value))
      error = illegal_value(field.name, member_to_json(value), field.domain);
  });
  return error;
}

std::string options_markdown() {
  const MappingOptions defaults;
  std::string text = "| option | values | default | meaning |\n|---|---|---|---|\n";
  const auto cell = [](std::string content) {
    // A bar would end the cell.
    for (std::size_t at = 0; (at = content.find('|', at)) != std::string::npos; at += 2)
      content.insert(at, "\\");
    return content;
  };
  for_each_field([&](const auto& field) {
    text += fmt::format("| `{}` | {} | `{}` | {} |\n", field.name, cell(field.domain),
                        cell(member_to_json(defaults.*field.member).dump()), cell(field.doc));
  });
  return text;
}

}  // namespace tc
