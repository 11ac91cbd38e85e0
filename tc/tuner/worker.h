// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

namespace tc::tuner {

/// The body of a worker process: a setup line, then a job a line from `in`; a reply a line to
/// `out`. Ends with the input. Jobs that end the process are the caller's to notice.
int run_worker(std::istream& in, std::ostream& out);

}  // namespace tc::tuner
