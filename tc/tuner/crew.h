// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tc/tuner/lane.h"

namespace tc::tuner {

/// The workers of a run: some that compile, and one for each device that measures.
struct Crew {
  std::vector<Lane> compiling;
  std::vector<Lane> measuring;
  /// A CPU measures while nothing compiles.
  bool is_exclusive = false;

  std::vector<Lane*> all();
  bool is_compiling() const;
  bool is_measuring() const;
  void stop();
};

/// `devices`: of a CPU, parts of the cores that this process may use, each thread bound to a core.
Crew make_crew(const WorkerProgram& program, const WorkerSetup& setup, int jobs,
               const std::vector<int>& devices);

/// Where `tensorc` is: this program, or "../bin/tensorc" from the folder of this library. Empty:
/// there is none.
std::filesystem::path default_worker();

}  // namespace tc::tuner
