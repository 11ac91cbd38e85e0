// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tc/tuner/record.h"

namespace tc::tuner {

/// A measured record of a program of two sizes on a CPU.
inline Record example_record(std::vector<std::int64_t> sizes, std::int64_t tasks, double us) {
  Record record;
  record.identity.program = "0123";
  record.identity.def = "f";
  record.identity.size_names = {"M", "N"};
  record.identity.sizes = std::move(sizes);
  record.identity.arch = "znver5";
  record.identity.target = "t1";
  record.identity.versions = "v1";
  record.options.tasks = tasks;
  record.outcome = Outcome::Measured;
  record.code = 0xabcd;
  record.median_us = us;
  record.samples = 9;
  record.verification = "interpreter, exact";
  record.provenance = "test";
  return record;
}

}  // namespace tc::tuner
