// SPDX-License-Identifier: Apache-2.0
//
// What several recipes need. Internal to the recipes.
#pragma once

#include <string>
#include <vector>

#include "writer.h"

namespace tc::fuzz {

/// A left side: the tensor, its subscripts and the box that they reach.
struct Left {
  std::string tensor;
  std::vector<std::string> subscripts;
  std::vector<std::int64_t> begin, extent;
};

int any_depth(Random& r);
Class any_class(Random& r);

/// A new tensor over new index variables; `rank` below 0: any.
Left new_left(State& s, Random& r, Writer& w, int rank = -1, std::int64_t limit = 4000);
/// Puts the tensor into the state, as output (perhaps annotated) or temporary.
void declare(State& s, Random& r, Writer& w, const Left& left, DType type, bool may_annotate = true,
             int output_percent = 65);
/// Subscripts of a tensor that exists, over new index variables, reaching all or a part of it.
Left old_left(Random& r, Writer& w, const TensorInfo& tensor);
/// Position of a tensor that may be written again: an output, a temporary or (made an output now)
/// a parameter; -1 if there is none.
int writable(State& s, Random& r, bool in_place);
/// Positions in Writer::vars of the left (or the reduction) variables.
std::vector<std::size_t> positions(const Writer& w, bool on_left);
/// The last reduction (or left) variable bounded by another one; for some values of that the range
/// may be empty, even end before it begins.
void make_triangle(Random& r, Writer& w, bool on_left = false);
/// New reduction variables.
void add_reduction(Random& r, Writer& w, int count, std::int64_t limit = 12000);
/// A new parameter with one dim for each of these variables, in any order, and a read of it.
std::string read_over(State& s, Random& r, Writer& w, std::vector<std::size_t> variables,
                      DType type);

}  // namespace tc::fuzz
