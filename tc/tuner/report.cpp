// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tc/tune.h"

namespace tc {

namespace {

using Json = nlohmann::ordered_json;

Json time_or_null(double us) {
  return us > 0 ? Json(us) : Json();
}

Json json_of(const TuneProgress& progress) {
  return {{"seconds", progress.seconds},
          {"remaining", progress.remaining},
          {"candidates", progress.trials},
          {"resumed", progress.resumed},
          {"repeated", progress.repeated},
          {"best_us", time_or_null(progress.best_us)},
          {"default_us", time_or_null(progress.default_us)},
          {"median_us", time_or_null(progress.median_us)},
          {"failures", progress.failures}};
}

Json json_of(const TuneTrial& trial) {
  return {{"options", Json::parse(to_json(trial.options))},
          {"outcome", trial.outcome},
          {"detail", trial.detail},
          {"median_us", trial.median_us},
          {"resumed", trial.resumed},
          {"repeated", trial.repeated},
          {"finalist", trial.finalist},
          {"samples", trial.samples}};
}

/// What programs print may be no valid UTF-8.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const TuneProgress& progress) {
  return text_of(json_of(progress));
}

std::string to_json(const TuneReport& report) {
  Json json;
  json["options"] = Json::parse(to_json(report.options));
  json.update(json_of(report.progress));
  json["best_us"] = report.best_us;
  json["default_us"] = time_or_null(report.default_us);
  json["verification"] = report.verification;
  json["note"] = report.note;
  json["interrupted"] = report.is_interrupted;
  json["exhausted"] = report.is_exhausted;
  json["recorded"] = report.is_recorded;
  json["trials"] = Json::array();
  for (const TuneTrial& trial : report.trials)
    json["trials"].push_back(json_of(trial));
  return text_of(json);
}

}  // namespace tc
