// SPDX-License-Identifier: Apache-2.0
#include "tc/sets/queries.h"

#include <isl/map.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

namespace tc::sets {

std::optional<std::int64_t> integer(const isl::val& value) {
  const auto compare = [&](std::int64_t limit) {
    return isl::manage(isl_val_int_from_si(value.ctx().get(), limit));
  };
  const bool fits = value.is_int() && value.ge(compare(INT64_MIN)) && value.le(compare(INT64_MAX));
  return fits ? std::optional<std::int64_t>(value.num_si()) : std::nullopt;
}

std::int64_t clamped(const isl::val& value) {
  const std::int64_t nearest = value.is_pos() ? INT64_MAX : INT64_MIN;
  return integer(value).value_or(nearest);
}

namespace {

Point coordinates(const isl::point& point, unsigned dims) {
  Point out;
  for (unsigned d = 0; d < dims; ++d) {
    const isl::val value =
        isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(d)));
    out.push_back(clamped(value));
  }
  return out;
}

}  // namespace

std::optional<Point> first_point(const isl::set& set) {
  if (set.is_empty()) return std::nullopt;
  return coordinates(set.lexmin().sample_point(), set.tuple_dim());
}

std::optional<Pair> first_pair(const isl::map& map) {
  const unsigned from = map.domain_tuple_dim();
  const std::optional<Point> both = first_point(map.wrap().flatten());
  if (!both) return std::nullopt;
  return Pair{Point(both->begin(), both->begin() + from), Point(both->begin() + from, both->end())};
}

isl::map project_domain(const isl::map& map, unsigned first, const std::string& tuple) {
  const unsigned dims = map.domain_tuple_dim();
  isl_map* result = isl_map_project_out(map.copy(), isl_dim_in, first, dims - first);
  result = isl_map_set_tuple_id(result, isl_dim_in, named_id(map.ctx(), tuple).release());
  return isl::manage(result);
}

isl::set project_out(const isl::set& set, unsigned first, const std::string& tuple) {
  const unsigned dims = set.tuple_dim();
  isl_set* result = isl_set_project_out(set.copy(), isl_dim_set, first, dims - first);
  result = isl_set_set_tuple_id(result, named_id(set.ctx(), tuple).release());
  return isl::manage(result);
}

isl::map extend_domain(const isl::map& map, unsigned dims, const std::string& tuple) {
  const unsigned at = map.domain_tuple_dim();
  isl_map* result = isl_map_insert_dims(map.copy(), isl_dim_in, at, dims);
  result = isl_map_set_tuple_id(result, isl_dim_in, named_id(map.ctx(), tuple).release());
  return isl::manage(result);
}

namespace {

isl_map* all_pairs(const isl::space& from, const isl::space& to) {
  return isl_map_universe(isl_space_map_from_domain_and_range(from.copy(), to.copy()));
}

}  // namespace

isl::map equal_prefix(const isl::space& from, const isl::space& to, unsigned n) {
  isl_map* result = all_pairs(from, to);
  for (unsigned k = 0; k < n; ++k) {
    result =
        isl_map_equate(result, isl_dim_in, static_cast<int>(k), isl_dim_out, static_cast<int>(k));
  }
  return isl::manage(result);
}

isl::map lexicographic_order(const isl::space& from, const isl::space& to, unsigned n,
                             bool or_equal) {
  isl::map result = or_equal ? equal_prefix(from, to, n)
                             : isl::map::empty(isl::manage(all_pairs(from, to)).space());
  for (unsigned k = 0; k < n; ++k) {
    isl_map* step = equal_prefix(from, to, k).release();
    step =
        isl_map_order_lt(step, isl_dim_in, static_cast<int>(k), isl_dim_out, static_cast<int>(k));
    result = result.unite(isl::manage(step));
  }
  return result;
}

}  // namespace tc::sets
