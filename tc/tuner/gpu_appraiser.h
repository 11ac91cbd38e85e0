// SPDX-License-Identifier: Apache-2.0
//
// The model of a GPU over many candidates: each has to be mapped for it, which worker processes do.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tc/tuner/appraisal.h"
#include "tc/tuner/lane.h"

namespace tc::tuner {

class GpuAppraiser {
public:
  /// With `processes` workers, started when there is something to map. One that takes longer than
  /// `seconds` for a candidate is ended, and the candidate counts as one that cannot be mapped.
  /// Where no worker can be started all candidates are alike.
  GpuAppraiser(const WorkerProgram& program, const WorkerSetup& setup, int processes,
               double seconds);

  std::vector<Appraisal> appraise(const std::vector<MappingOptions>& candidates);

  /// Called again and again while workers are waited for; false: the search is over, and what is
  /// not known yet does not matter.
  void set_meanwhile(std::function<bool()> meanwhile) { meanwhile_ = std::move(meanwhile); }

private:
  std::vector<Lane> lanes_;
  double seconds_;
  std::function<bool()> meanwhile_ = [] { return true; };
  std::map<std::string, Appraisal> known_;  ///< by the text of the options
};

}  // namespace tc::tuner
