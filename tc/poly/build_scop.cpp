// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "tc/poly/bounds.h"
#include "tc/poly/left_side.h"
#include "tc/poly/scop.h"
#include "tc/support/check.h"

namespace tc::poly {
namespace {

using lang::ExprPtr;

std::int64_t constant(const ExprPtr& expr) {
  const auto value = expr ? lang::evaluate(expr, {}) : std::nullopt;
  check(value.has_value(), "extent of a specialised tensor that is not a constant");
  return *value;
}

bool is_tuple_reduction(const lang::Statement& statement) {
  return statement.op == lang::ReduceOp::ArgMin || statement.op == lang::ReduceOp::ArgMax;
}

bool is_scatter(const lang::Statement& statement) {
  return std::any_of(statement.subscripts.begin(), statement.subscripts.end(), lang::contains_read);
}

class Builder {
public:
  explicit Builder(const lang::TypedDef& def) : def_(def) {
    check(def.sizes.empty() && def.consts.empty(), "build_scop() needs a specialised def");
    scop_.name = def.name;
    for (const lang::Tensor& tensor : def.tensors)
      scop_.tensors.push_back(convert(tensor));
    for (const Tensor& tensor : scop_.tensors)
      names_.insert(tensor.name);
  }

  Scop build() {
    scop_.body = nodes(def_.body);
    return std::move(scop_);
  }

private:
  static Tensor convert(const lang::Tensor& tensor) {
    Tensor result;
    result.name = tensor.name;
    result.type = tensor.type;
    for (const ExprPtr& begin : tensor.begin)
      result.begin.push_back(constant(begin));
    for (const ExprPtr& extent : tensor.extent)
      result.extent.push_back(constant(extent));
    result.is_param = tensor.is_param;
    result.is_output = tensor.is_output;
    result.needs_initial = tensor.needs_initial;
    result.param_position = tensor.param_position;
    result.output_position = tensor.output_position;
    return result;
  }

  std::vector<Node> nodes(const std::vector<lang::Node>& body) {
    std::vector<Node> result;
    for (const lang::Node& node : body) {
      if (const auto* statement = std::get_if<lang::Statement>(&node)) {
        add_statement(*statement, result);
        continue;
      }
      result.push_back(for_loop(*std::get<std::shared_ptr<const lang::ForLoop>>(node)));
    }
    return result;
  }

  Node for_loop(const lang::ForLoop& loop) {
    For result;
    result.var = loop.var;
    result.name = loop.name;
    result.lo = loop.lo;
    result.hi = loop.hi;
    // The hulls of outer variables bound those of inner ones, so a loop is known before its body is
    // built.
    const auto lo = value_range(loop.lo, {}, ranges_), hi = value_range(loop.hi, {}, ranges_);
    check(lo && hi, "bounds of a for that interval arithmetic cannot settle");
    ranges_[loop.var] = {lo->lo, std::max(lo->lo, hi->hi - 1)};
    loops_.push_back(loop.var);
    result.body = nodes(loop.body);
    loops_.pop_back();
    return std::make_shared<const For>(std::move(result));
  }

  void add_statement(const lang::Statement& source, std::vector<Node>& out) {
    if (!source.op) {
      Statement statement = start(source, "");
      statement.targets = {{source.tensor, source.subscripts, source.value}};
      append(std::move(statement), out);
      return;
    }
    if (is_tuple_reduction(source)) {
      add_tuple_reduction(source, out);
      return;
    }
    add_reduction(source, out);
  }

  /// A statement over the whole domain of `source`.
  Statement start(const lang::Statement& source, const std::string& suffix) const {
    Statement statement;
    statement.name = "S" + std::to_string(source.id) + suffix;
    statement.source = source.id;
    statement.range = source.range;
    statement.text = source.text;
    statement.loops = loops_;
    statement.indices = source.indices;
    statement.conditions = source.conditions;
    statement.scatter = is_scatter(source);
    return statement;
  }

  /// A statement over the elements that the left side of `source` reaches.
  Statement start(const lang::Statement& source, const std::string& suffix,
                  const LeftSide& side) const {
    Statement statement = start(source, suffix);
    statement.indices = side.indices;
    statement.conditions = side.conditions;
    statement.scatter = false;
    return statement;
  }

  LeftSide side_of(const lang::Statement& source) const {
    return left_side(source.indices, source.conditions, source.subscripts, tensor(source.tensor),
                     ranges_);
  }

  void add_reduction(const lang::Statement& source, std::vector<Node>& out) {
    const DType stored = tensor(source.tensor).type;
    const bool separate = source.accumulator != stored;
    const int accumulator =
        separate ? add_temporary(source.tensor, "acc", source.accumulator) : source.tensor;
    const LeftSide side = side_of(source);
    if (source.init) {
      Statement init = start(source, "_init", side);
      init.kind = StatementKind::Init;
      init.op = source.op;
      init.targets = {{accumulator, side.subscripts, nullptr}};
      append(std::move(init), out);
    } else if (separate) {
      Statement read = start(source, "_read", side);
      read.targets = {{accumulator, side.subscripts, read_of(source.tensor, side)}};
      append(std::move(read), out);
    }
    Statement reduce = start(source, "");
    reduce.kind = StatementKind::Reduce;
    reduce.op = source.op;
    reduce.targets = {{accumulator, source.subscripts, source.value}};
    append(std::move(reduce), out);
    if (separate) add_store(source, "_store", side, source.tensor, read_of(accumulator, side), out);
  }

  void add_tuple_reduction(const lang::Statement& source, std::vector<Node>& out) {
    check(source.init && source.position, "argmin and argmax always start anew");
    const LeftSide side = side_of(source);
    const int value = add_temporary(source.tensor, "val", source.accumulator);
    // Position -1 means "nothing yet", so positions that can be negative are shifted and shifted
    // back at the store.
    const auto range = value_range(source.position, index_ranges(source.indices, ranges_), ranges_);
    const std::int64_t shift = range && range->lo < 0 ? -range->lo : 0;
    const DType type = compute_type(tensor(source.tensor).type);
    const int position = shift > 0 ? add_temporary(source.tensor, "pos", type) : source.tensor;
    const auto shifted = [&](const ExprPtr& expr, std::int64_t by) {
      return by == 0 ? expr
                     : lang::make_binary(lang::BinaryOp::Add, expr, lang::make_int(by, expr->type));
    };

    Statement init = start(source, "_init", side);
    init.kind = StatementKind::Init;
    init.op = source.op;
    init.targets = {{value, side.subscripts, nullptr}, {position, side.subscripts, nullptr}};
    append(std::move(init), out);
    Statement reduce = start(source, "");
    reduce.kind = StatementKind::Reduce;
    reduce.op = source.op;
    reduce.targets = {{value, source.subscripts, source.value},
                      {position, source.subscripts, shifted(source.position, shift)}};
    append(std::move(reduce), out);
    if (shift > 0)
      add_store(source, "_store", side, source.tensor, shifted(read_of(position, side), -shift),
                out);
  }

  void add_store(const lang::Statement& source, const std::string& suffix, const LeftSide& side,
                 int to, const ExprPtr& value, std::vector<Node>& out) {
    Statement store = start(source, suffix, side);
    store.targets = {{to, side.subscripts, value}};
    append(std::move(store), out);
  }

  ExprPtr read_of(int from, const LeftSide& side) const {
    return lang::make_expr(compute_type(tensor(from).type), {},
                           lang::Read{from, side.subscripts, nullptr});
  }

  const Tensor& tensor(int id) const { return scop_.tensors.at(static_cast<std::size_t>(id)); }

  /// A temporary with the box of `like` and a name of its own.
  int add_temporary(int like, const std::string& suffix, DType type) {
    Tensor temporary;
    temporary.type = type;
    temporary.begin = tensor(like).begin;
    temporary.extent = tensor(like).extent;
    const std::string base = tensor(like).name + "." + suffix;
    temporary.name = base;
    for (int i = 2; !names_.insert(temporary.name).second; ++i)
      temporary.name = base + std::to_string(i);
    scop_.tensors.push_back(std::move(temporary));
    return static_cast<int>(scop_.tensors.size()) - 1;
  }

  void append(Statement statement, std::vector<Node>& out) {
    out.emplace_back(static_cast<int>(scop_.statements.size()));
    scop_.statements.push_back(std::move(statement));
  }

  const lang::TypedDef& def_;
  Scop scop_;
  std::set<std::string> names_;
  std::vector<int> loops_;
  LoopRanges ranges_;
};

}  // namespace

Scop build_scop(const lang::TypedDef& specialised) {
  return Builder(specialised).build();
}

}  // namespace tc::poly
