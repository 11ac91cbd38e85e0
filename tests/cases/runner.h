// SPDX-License-Identifier: Apache-2.0
//
// Compiles cases under several option sets with whatever the caller compiles and runs with, and
// compares with the right results and with the interpreter.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cases/case.h"
#include "tc/compiler/host_tensor.h"
#include "tc/compiler/pipeline.h"
#include "tc/tc.h"

namespace tc::cases {

/// What is to be compiled. The target is the callback's business.
struct Request {
  std::string text;
  std::string def;
  Metadata metadata;
  MappingOptions options;
};

/// Runs compiled code once on views of this process's memory; returns why nothing was run.
using Run = std::function<std::optional<Failure>(std::span<const DLTensor* const> inputs,
                                                 std::span<const DLTensor* const> outputs)>;

struct Compiled {
  Run run;
  std::vector<Diagnostic> warnings;
};
using Compile = std::function<Result<Compiled, Failure>(const Request&)>;

/// What is wrong, one line each; empty: everything is right.
using Problems = std::vector<std::string>;

/// Under each option set: compiles, runs twice into the same memory, which holds NaN before, and
/// compares with the case's results and, where that is quick, with the interpreter. Inputs and the
/// memory around outputs must stay as they were.
Problems run_case(const Case& test, const std::vector<NamedOptions>& options,
                  const Compile& compile);

/// The callback must refuse in the way that the case says.
Problems run_refusal(const Refusal& refusal, const Compile& compile);

/// A def of one text with everything bound, accepted by the front end and the proofs.
struct Program {
  std::string text;
  std::string def;
  Metadata metadata;
  compiler::FrontEnd front;
};
Result<Program, Failure> load(const std::string& text, const std::string& def,
                              const Metadata& metadata);

/// Contents of the tensors of one call.
struct Data {
  std::vector<compiler::HostTensor> inputs;
  std::map<int, compiler::HostTensor> initial;
};

/// Contents of the outputs after one run, after two runs into the same memory (not where a run
/// changes its own inputs), and what was wrong with the runs themselves.
struct Outputs {
  std::vector<std::vector<compiler::HostTensor>> runs;
  Problems problems;
};
/// `views` by parameter position; empty: contiguous.
Outputs run_placed(const Program& program, const std::vector<View>& views, const Data& data,
                   const Run& run);

/// Message of a failure with its diagnostics, for problems.
std::string describe(const Failure& failure);

}  // namespace tc::cases
