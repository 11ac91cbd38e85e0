// SPDX-License-Identifier: Apache-2.0
//
// Gradient-boosted trees of LightGBM, through its C interface, found when it is asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tc/support/result.h"

namespace tc::tuner {

/// Numbers from numbers. The same samples give the same predictions.
class Regressor {
public:
  virtual ~Regressor() = default;

  /// Learns from `samples` (rows of one length) and their `values`; one prediction per query.
  /// Empty: nothing could be learned.
  virtual std::vector<double> predict(const std::vector<std::vector<double>>& samples,
                                      const std::vector<double>& values,
                                      const std::vector<std::vector<double>>& queries) const = 0;
};

/// `file`: the library; empty: in the Python packages of `site_packages`, else where the loader
/// looks. The error says what was tried.
Result<std::shared_ptr<const Regressor>, std::string>
open_lightgbm(const std::string& file, const std::vector<std::string>& site_packages);

}  // namespace tc::tuner
