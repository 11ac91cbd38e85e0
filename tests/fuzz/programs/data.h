// SPDX-License-Identifier: Apache-2.0
//
// The contents of the tensors of a case, and what the interpreter makes of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "case.h"
#include "cases/runner.h"
#include "tc/compiler/pipeline.h"
#include "tc/compiler/verify.h"

namespace tc::fuzz {

using cases::Data;

/// How a tensor of the case lies in memory.
View view_of(const Case& experiment, const std::string& name);

/// Inputs, and outputs that hold something before the run, from the seed of the case; with values
/// at the ends of their types and wild subscripts where the case asks for them.
Data make_data(const Case& experiment, const compiler::FrontEnd& front);

bool same_bytes(const std::vector<compiler::HostTensor>& a,
                const std::vector<compiler::HostTensor>& b);

/// `problem`: nothing if all is right. `beside_a_step` tells whether only the shifted runs of the
/// interpreter explain the results.
struct Compared {
  std::optional<std::string> problem;
  bool beside_a_step = false;
};

/// What the interpreter says about one set of data; each of its runs is made once. The front end
/// and the data outlive it.
class Oracle {
public:
  Oracle(const Case& experiment, const compiler::FrontEnd& front, const Data& data);

  bool exact() const { return exact_; }  ///< results are compared bit for bit
  Compared compare(const std::vector<compiler::HostTensor>& results);

private:
  const lang::TypedDef& def_;
  const Data& data_;
  compiler::Reference reference_;
  std::optional<compiler::Reference> shifted_;
  bool exact_;
};

}  // namespace tc::fuzz
