// SPDX-License-Identifier: Apache-2.0
//
// How well the tuner's model of a target ranks what was measured. Reads the suite as `suite.py`
// prints it and exported records:
//   .venv/bin/python bench/suite.py > suite.jsonl; build/bin/model_ranks suite.jsonl records.jsonl
// For each case with records it prints the rank correlation of the estimate with the measured
// times, the best time among the candidates that the estimate puts first over the best of all, and
// what an estimate takes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "tc/compiler/pipeline.h"
#include "tc/tuner/facts.h"
#include "tc/tuner/gpu_model.h"
#include "tc/tuner/model.h"
#include "tc/tuner/record.h"

namespace {

using tc::tuner::Record;

tc::Metadata read_metadata(const nlohmann::json& json) {
  tc::Metadata metadata;
  for (const auto& tensor : json.at("tensors")) {
    tc::TensorMeta meta;
    meta.type = *tc::dtype_from_name(tensor.at("dtype").get<std::string>());
    meta.sizes = tensor.at("shape").get<std::vector<std::int64_t>>();
    metadata.inputs.push_back(std::move(meta));
  }
  return metadata;
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]])
      ++end;
    for (std::size_t i = begin; i < end; ++i)
      result[order[i]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return result;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double mean_a = 0, mean_b = 0, ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean_a += a[i] / n;
    mean_b += b[i] / n;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

/// Best time of the `count` candidates that an estimate puts first, over the best of all.
double best_of_first(const std::vector<double>& estimates, const std::vector<double>& times,
                     std::size_t count) {
  std::vector<std::size_t> order(times.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return estimates[a] < estimates[b]; });
  double best = times[order[0]];
  for (std::size_t i = 0; i < std::min(count, order.size()); ++i)
    best = std::min(best, times[order[i]]);
  return best / *std::min_element(times.begin(), times.end());
}

void report(const std::string& name, const std::vector<double>& estimates,
            const std::vector<double>& times, double ms) {
  fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", name, times.size(),
             correlation(ranks(estimates), ranks(times)), best_of_first(estimates, times, 1),
             best_of_first(estimates, times, 5), best_of_first(estimates, times, 20), ms);
  std::fflush(stdout);
}

void rank_case(const nlohmann::json& json, const std::vector<Record>& records, bool dump) {
  const tc::SourceBuffer source("<text>", json.at("text").get<std::string>());
  const std::string name = json.at("name").get<std::string>();
  std::set<std::string> archs;
  for (const Record& record : records)
    archs.insert(record.identity.arch);
  for (const std::string& arch : archs) {
    const auto known = arch.starts_with("sm_") ? tc::cuda_target(arch) : tc::cpu_target(arch);
    if (!known) continue;
    const tc::Target& target = *known;
    const auto front = tc::compiler::front_end(source, "", read_metadata(json),
                                               tc::compiler::fresh_alignment(target));
    if (!front) return;
    const tc::tuner::Identity wanted = tc::tuner::identity_of(*front, target);
    const auto facts = tc::tuner::gather_facts(*front, {}, target);
    if (!facts) return;
    std::vector<double> times, estimates;
    double spent = 0;
    for (const Record& record : records) {
      const tc::tuner::Identity& there = record.identity;
      const bool has_time = record.outcome == tc::tuner::Outcome::Measured ||
                            record.outcome == tc::tuner::Outcome::Slow;
      if (!has_time || there.program != wanted.program || there.sizes != wanted.sizes ||
          there.kind != target.kind || there.arch != arch)
        continue;
      const auto begin = std::chrono::steady_clock::now();
      const double estimate = target.kind == tc::TargetKind::Cuda
                                  ? tc::tuner::appraise_on_gpu(*front, record.options, target).us
                                  : tc::tuner::estimate(*facts, record.options);
      spent += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (!std::isfinite(estimate)) continue;
      times.push_back(record.median_us);
      estimates.push_back(estimate);
      if (dump)
        fmt::print("{} {:.3f} {:.3f} {}\n", name, record.median_us, estimate,
                   tc::to_json(record.options));
    }
    if (!times.empty())
      report(name, estimates, times, 1e3 * spent / static_cast<double>(times.size()));
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print(stderr, "usage: model_ranks SUITE.jsonl RECORDS.jsonl [--dump] [case ...]\n");
    return 2;
  }
  std::vector<Record> records;
  std::ifstream lines(arguments[2]);
  for (std::string line; std::getline(lines, line);)
    if (auto record = tc::tuner::record_from_json(line)) records.push_back(*record);
  fmt::print("| case | candidates | rank correlation | first | best of 5 | best of 20 | ms |\n"
             "|---|--:|--:|--:|--:|--:|--:|\n");
  bool dump = false;
  std::vector<std::string> wanted;
  for (int i = 3; i < count; ++i) {
    if (std::string(arguments[i]) == "--dump")
      dump = true;
    else
      wanted.emplace_back(arguments[i]);
  }
  std::ifstream suite(arguments[1]);
  for (std::string line; std::getline(suite, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    if (wanted.empty() ||
        std::find(wanted.begin(), wanted.end(), json.at("name").get<std::string>()) != wanted.end())
      rank_case(json, records, dump);
  }
  return 0;
}
