// SPDX-License-Identifier: Apache-2.0
//
// Writes one statement into a draft of a state: index variables with the ranges that they are meant
// to get, accesses that stay within bounds for those ranges, and the clauses that make them so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "random.h"
#include "state.h"

namespace tc::fuzz {

/// An index of the statement or a `for` variable around it.
struct IndexVar {
  std::string name;
  std::int64_t lo = 0, hi = 1;  ///< planned range
  bool on_left = false;
  bool is_for = false;
  bool settled = false;  ///< an unguarded bare use gives exactly the planned range
  bool written = false;  ///< occurs in the text so far
  std::string range;     ///< given range "a:b" when it is not [lo, hi): a triangle
};

class Writer {
public:
  Writer(State& state, Random& random) : s(state), r(random) {}

  std::vector<IndexVar> vars;
  std::set<std::string> hidden;  ///< tensors that this statement must not read

  // ---- sizes (sizes.cpp) ----
  std::int64_t extent(bool may_be_empty = false);
  /// A bound with this value: number, size, dimension, or an expression over them.
  std::string bound(std::int64_t value);
  /// A dim of a parameter or annotation with this value; may declare a new size if `may_declare`.
  std::string dim(std::int64_t value, bool may_declare);
  DType any_type();
  DType type_of_class(Class wanted);
  IndexVar& add_var(std::int64_t lo, std::int64_t hi, bool on_left);
  std::int64_t points() const;
  /// Makes ranges smaller until the statement has at most `limit` points.
  void shrink_to(std::int64_t limit);

  // ---- subscripts (subscripts.cpp) ----
  /// An integer expression that stays in [begin, begin + extent) over the planned ranges.
  std::string subscript(std::int64_t begin, std::int64_t extent);
  /// One that may leave it.
  std::string wild_subscript();
  std::string gathered_subscript();
  /// `T(...)` of an existing tensor.
  std::string read(const TensorInfo& tensor);
  /// A new parameter whose dims fit the variables, and a read of it.
  std::string read_new(DType type);
  /// An existing or new tensor of the class.
  std::string read(Class wanted);
  TensorInfo& new_param(DType type, const std::vector<std::int64_t>& extents);

  // ---- expressions (expressions.cpp) ----
  std::string expr(Class wanted, int depth);
  std::string literal(Class wanted);
  /// The integer as an unsigned one: what is negative becomes large, and its sign must not come
  /// back.
  std::string wrapped(const std::string& value, const char* type = "uint32");
  /// A call of any builtin function that gives a number.
  std::string builtin(int depth);

  // ---- statements (writer.cpp) ----
  /// `where` clauses for every variable that needs one, and some that need none.
  std::string clauses();
  /// A condition on the variable that cuts little, much, nothing or everything.
  std::string comparison(const IndexVar& var);
  /// "+=!" and the like, then the value, then the clauses.
  std::string finish(const std::string& left, const std::string& op, const std::string& value);
  std::string left(const std::string& tensor, const std::vector<std::string>& subscripts);

  std::vector<std::string> extra;  ///< lets, conditions, exists

private:
  std::string float_node(int depth);
  std::string integer_node(int depth);
  std::string bool_node(int depth);
  std::string float_leaf();
  std::string integer_leaf();
  std::string operand(Class wanted, int depth);
  std::string guarded_read(Class wanted);
  std::string padded_read(Class wanted);
  std::string guarded_condition();
  std::string special_value();
  std::string let(Class wanted, int depth);
  const TensorInfo* readable(Class wanted, bool subscripts);
  IndexVar* any_var();
  std::string bare(IndexVar& var, std::int64_t begin, std::int64_t extent, bool counts);
  std::string condition();
  std::string exists(IndexVar& var);

  State& s;
  Random& r;
};

}  // namespace tc::fuzz
