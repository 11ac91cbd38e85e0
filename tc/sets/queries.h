// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <isl/cpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tc/sets/context.h"
#include "tc/sets/quota.h"

namespace tc::sets {

/// Coordinates of one point.
using Point = std::vector<std::int64_t>;
/// One element of a relation: source and target.
struct Pair {
  Point from, to;
};

/// The lexicographically smallest element of a bounded set without parameters; nullopt if it is
/// empty. Deterministic.
std::optional<Point> first_point(const isl::set& set);
/// The lexicographically smallest pair (source first) of a bounded relation without parameters;
/// nullopt if it is empty.
std::optional<Pair> first_pair(const isl::map& map);

/// A number of isl, which has no limits, as an integer of 64 bits; nullopt: it is none.
std::optional<std::int64_t> integer(const isl::val& value);
/// The same for integers and infinities; the nearest of 64 bits where it does not fit.
std::int64_t clamped(const isl::val& value);

/// Drops all dimensions of the domain from `first` on: { S[t, i] -> A[a] } to { S[t] -> A[a] :
/// exists i }, with the given tuple name.
isl::map project_domain(const isl::map& map, unsigned first, const std::string& tuple);
isl::set project_out(const isl::set& set, unsigned first, const std::string& tuple);
/// The reverse: adds unconstrained dimensions at the end of the domain and names it.
isl::map extend_domain(const isl::map& map, unsigned dims, const std::string& tuple);

/// { A[x] -> B[y] : x[0..n) lexicographically smaller than y[0..n), or also equal when `or_equal`
/// }.
isl::map lexicographic_order(const isl::space& from, const isl::space& to, unsigned n,
                             bool or_equal);
/// { A[x] -> B[y] : x[k] = y[k] for k < n }.
isl::map equal_prefix(const isl::space& from, const isl::space& to, unsigned n);

/// Runs `question` and turns "out of operations" into QuotaExceeded.
template <class F>
auto within_quota(const IslContext& context, F&& question) {
  try {
    return question();
  } catch (const isl::exception_quota&) {
    throw QuotaExceeded();
  } catch (const isl::exception&) {
    // The C functions between two bindings hand a null object on, which the next binding rejects.
    if (context.quota_exceeded()) throw QuotaExceeded();
    throw;
  }
}

}  // namespace tc::sets
