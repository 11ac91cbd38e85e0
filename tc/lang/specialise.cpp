// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tc/lang/prove_initial.h"
#include "tc/lang/ranges.h"
#include "tc/lang/specialise_boxes.h"
#include "tc/lang/specialise_fold.h"
#include "tc/sets/quota.h"
#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lang {

namespace {

/// No tensor of more bytes can be addressed with byte offsets in int64 and room to spare.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

class Specialiser {
public:
  Specialiser(const TypedDef& def, const Bindings& bindings, DiagnosticSink& sink)
      : source_(def), out_(def), sink_(sink), sizes_text_(sizes_text(bindings, def)),
        folder_(out_, values_) {
    for (const Size& size : def.sizes)
      bind_size(size, bindings);
    for (const Const& constant : def.consts)
      bind_const(constant, bindings);
  }

  std::optional<TypedDef> run() {
    if (failed_ || !check_preconditions()) return std::nullopt;
    // Types of inferred tensors rise at most once each (int32 to int64), so this ends.
    do {
      types_changed_ = false;
      out_.body = nodes(source_.body);
    } while (types_changed_ && !failed_);
    if (failed_) return std::nullopt;
    for (const StatementInContext& context : statements(out_))
      check_statement(context);
    if (failed_) return std::nullopt;
    set_boxes();
    for (const Tensor& tensor : out_.tensors)
      check_size(tensor);
    for (const StatementInContext& context : statements(out_))
      check_position(*context.statement);
    if (failed_) return std::nullopt;
    out_.sizes.clear();
    out_.consts.clear();
    out_.preconditions.clear();
    mark_initial(out_, sink_);
    return std::move(out_);
  }

private:
  void fail(std::string code, SourceRange range, std::string message) {
    failed_ = true;
    sink_.error(std::move(code), range, std::move(message));
  }

  // ---- values ----

  void bind_size(const Size& size, const Bindings& bindings) {
    const auto at = bindings.sizes.find(size.name);
    if (at == bindings.sizes.end()) {
      fail("E0330", size.range, "size '" + size.name + "' has no value; give it one");
    } else if (at->second < 0) {
      fail("E0331", size.range,
           "size '" + size.name + "' is " + std::to_string(at->second) + "; a size is at least 0");
    }
    values_.sizes.push_back(at == bindings.sizes.end() ? 0 : at->second);
  }

  void bind_const(const Const& constant, const Bindings& bindings) {
    const auto at = bindings.consts.find(constant.name);
    if (at == bindings.consts.end()) {
      fail("E0330", constant.range,
           "const parameter '" + constant.name + "' has no value; give it one");
    }
    values_.consts.push_back(at == bindings.consts.end() ? Bindings::ConstValue{} : at->second);
  }

  bool check_preconditions() {
    std::vector<std::int64_t> consts;
    for (const Bindings::ConstValue& value : values_.consts)
      consts.push_back(value.integer);
    IntEnv env;
    env.sizes = &values_.sizes;
    env.consts = &consts;
    for (const ExprPtr& condition : source_.preconditions) {
      const std::optional<std::int64_t> holds = evaluate(condition, env);
      const std::string spelled = "'" + to_string(source_, nullptr, condition) + "'";
      if (!holds)
        fail("E0334", condition->range, "the values in " + spelled + " overflow" + sizes_text_);
      if (holds && *holds == 0) {
        fail("E0332", condition->range,
             spelled + " is needed, but does not hold" + given_values(condition));
      }
    }
    return !failed_;
  }

  /// " (N = 3, S = -1)": sizes, and the consts that a condition mentions.
  std::string given_values(const ExprPtr& condition) const {
    std::string text = sizes_text_;
    std::vector<bool> seen(source_.consts.size(), false);
    walk(condition, [&](const Expr& node) {
      const auto* ref = std::get_if<ConstRef>(&node.node);
      if (!ref || seen[static_cast<std::size_t>(ref->id)]) return;
      const auto id = static_cast<std::size_t>(ref->id);
      seen[id] = true;
      const std::string one =
          source_.consts[id].name + " = " + std::to_string(values_.consts[id].integer);
      text = text.empty() ? " (" + one + ")" : text.substr(0, text.size() - 1) + ", " + one + ")";
    });
    return text;
  }

  // ---- statements ----

  std::vector<Node> nodes(const std::vector<Node>& source) {
    std::vector<Node> out;
    for (const Node& node : source) {
      if (const auto* statement = std::get_if<Statement>(&node)) {
        out.push_back(specialised(*statement));
        continue;
      }
      ForLoop loop = *std::get<std::shared_ptr<const ForLoop>>(node);
      loop.lo = folder_.position(loop.lo);
      loop.hi = folder_.position(loop.hi);
      loop.type = set_range({true, loop.var}, loop.name, loop.lo, loop.hi,
                            SourceRange::join(loop.lo->range, loop.hi->range));
      folder_.for_types[loop.var] = loop.type;
      loop.body = nodes(loop.body);
      out.push_back(std::make_shared<const ForLoop>(std::move(loop)));
    }
    return out;
  }

  /// Notes the interval of a variable and gives the type that holds all its values and its end.
  DType set_range(Variable variable, const std::string& name, const ExprPtr& lo, const ExprPtr& hi,
                  SourceRange range) {
    const std::optional<Interval> first = interval(out_, lo, folder_.intervals);
    const std::optional<Interval> last = interval(out_, hi, folder_.intervals);
    if (!first || !last || first->lo == INT64_MIN || last->hi == INT64_MIN) {
      fail("E0334", range, "the range of '" + name + "' leaves 64 bits" + sizes_text_);
      folder_.intervals[variable] = {0, 0};
      return DType::Int64;
    }
    folder_.intervals[variable] = {first->lo, last->hi - 1};
    const bool narrow = fits_int32(first->lo) && fits_int32(first->hi) && fits_int32(last->lo) &&
                        fits_int32(last->hi);
    return narrow ? DType::Int32 : DType::Int64;
  }

  /// Ranges in the order in which they depend on each other.
  void set_index(Statement& statement, int k, std::vector<bool>& done) {
    if (done[static_cast<std::size_t>(k)]) return;
    done[static_cast<std::size_t>(k)] = true;
    Index& index = statement.indices[static_cast<std::size_t>(k)];
    for (const ExprPtr& end : {index.lo, index.hi}) {
      walk(end, [&](const Expr& node) {
        if (const auto* ref = std::get_if<IndexRef>(&node.node))
          set_index(statement, ref->index, done);
      });
    }
    const SourceRange written = SourceRange::join(index.lo->range, index.hi->range);
    index.lo = folder_.position(index.lo);
    index.hi = folder_.position(index.hi);
    const SourceRange range = written.empty() ? index.range : written;
    index.type = set_range({false, k}, index.name, index.lo, index.hi, range);
    folder_.index_types[static_cast<std::size_t>(k)] = index.type;
    check(is_affine(index.lo) && is_affine(index.hi), "infer_ranges lets only affine bounds pass");
  }

  Statement specialised(const Statement& source) {
    Statement statement = source;
    statement.exists.clear();
    folder_.index_types.assign(statement.indices.size(), DType::Int32);
    std::vector<bool> done(statement.indices.size(), false);
    for (int k = 0; k < static_cast<int>(statement.indices.size()); ++k)
      set_index(statement, k, done);
    std::vector<ExprPtr> conditions;
    for (const ExprPtr& condition : statement.conditions)
      add_condition(statement, condition, conditions);
    statement.conditions = std::move(conditions);
    for (ExprPtr& subscript : statement.subscripts)
      subscript = folder_.position(subscript);
    statement.value = folder_.value(statement.value);
    statement.position = folder_.position(statement.position);
    check_positions(statement);
    const bool by_position = statement.op == ReduceOp::ArgMin || statement.op == ReduceOp::ArgMax;
    if (by_position) statement.accumulator = statement.value->type;
    if (!by_position) raise_type(source, statement);
    return statement;
  }

  /// What decides which elements are touched. Proofs know integers without limits, code those of 64
  /// bits: every value on the way must be the same in both.
  void check_positions(const Statement& statement) {
    const auto check_values = [&](const ExprPtr& expr) { check_position(statement, expr); };
    std::for_each(statement.conditions.begin(), statement.conditions.end(), check_values);
    std::for_each(statement.subscripts.begin(), statement.subscripts.end(), check_values);
    walk(statement.value, [&](const Expr& node) {
      const auto* read = std::get_if<Read>(&node.node);
      if (read) std::for_each(read->subscripts.begin(), read->subscripts.end(), check_values);
    });
  }

  void check_position(const Statement& statement, const ExprPtr& expr) {
    const ExprPtr beyond = beyond_64_bits(expr, folder_.intervals);
    if (!beyond) return;
    fail("E0334", beyond->range.empty() ? expr->range : beyond->range,
         "the values of '" + to_string(out_, &statement, beyond) + "' leave 64 bits" + sizes_text_ +
             "; use smaller factors or sizes");
  }

  /// The smallest part of an affine expression whose values are no 64-bit integers; null: all are.
  ExprPtr beyond_64_bits(const ExprPtr& expr, const Intervals& variables) const {
    ExprPtr found;
    map_children(expr, [&](const ExprPtr& child) {
      if (!found) found = beyond_64_bits(child, variables);
      return child;
    });
    if (found || !is_affine(expr) || interval(out_, expr, variables)) return found;
    return expr;
  }

  void add_condition(const Statement& statement, const ExprPtr& source, std::vector<ExprPtr>& out) {
    const ExprPtr condition = folder_.position(source);
    if (const auto* known = std::get_if<IntConst>(&condition->node); known && known->value != 0)
      return;
    if (!is_affine(condition)) {
      fail("E0336", source->range,
           "the condition '" + to_string(out_, &statement, condition) +
               "' is not affine: only sums of multiples of indices, and / and % by constants, can "
               "cut a domain; use '?:'");
    }
    out.push_back(condition);
  }

  /// The type of an inferred tensor follows an index that needs int64.
  void raise_type(const Statement& source, Statement& statement) {
    Tensor& tensor = out_.tensors[static_cast<std::size_t>(statement.tensor)];
    const bool widened =
        source.value->type == DType::Int32 && statement.value->type == DType::Int64;
    if (widened && !tensor.type_given && is_integer(tensor.type)) {
      const DType joined = promote(tensor.type, DType::Int64).value_or(tensor.type);
      types_changed_ = types_changed_ || joined != tensor.type;
      tensor.type = joined;
    }
    const DType before = source_.tensors[static_cast<std::size_t>(statement.tensor)].type;
    if (tensor.type != before) statement.accumulator = compute_type(tensor.type);
  }

  /// A question to isl about one statement; giving up is an error that names the statement.
  template <class F>
  auto asked(const Statement& statement, F&& question) -> decltype(question()) {
    try {
      return question();
    } catch (const sets::QuotaExceeded&) {
      fail("E0490", statement.range,
           "the proof about the ranges of this statement took too long and was given up; simplify "
           "its ranges or conditions");
      return {};
    }
  }

  void check_statement(const StatementInContext& context) {
    const std::optional<int> negative = asked(*context.statement, [&] {
      return Extents(*context.statement, context.loops).negative_range();
    });
    if (!negative) return;
    const Index& index = context.statement->indices[static_cast<std::size_t>(*negative)];
    const Index& symbolic = source_index(context.statement->id, *negative);
    const Statement* source = source_statement(context.statement->id);
    const std::string range = to_string(out_, context.statement, index.lo) + ":" +
                              to_string(out_, context.statement, index.hi);
    const std::string spelled =
        to_string(source_, source, symbolic.lo) + ":" + to_string(source_, source, symbolic.hi);
    const SourceRange written = SourceRange::join(symbolic.lo->range, symbolic.hi->range);
    fail("E0333", symbolic.given && !written.empty() ? written : index.range,
         "the range " + range + " of '" + index.name + "' ends before it begins" + sizes_text_ +
             (symbolic.given ? "" : "; it was inferred as " + spelled) +
             "; it takes other sizes, or none");
  }

  const Statement* source_statement(int id) const {
    for (const StatementInContext& context : statements(source_)) {
      if (context.statement->id == id) return context.statement;
    }
    unreachable("a statement without its source");
  }
  const Index& source_index(int id, int index) const {
    return source_statement(id)->indices[static_cast<std::size_t>(index)];
  }

  // ---- tensors ----

  void set_boxes() {
    std::vector<std::optional<std::vector<Interval>>> written(out_.tensors.size());
    for (const StatementInContext& context : statements(out_)) {
      const auto t = static_cast<std::size_t>(context.statement->tensor);
      if (out_.tensors[t].is_param || is_scatter(*context.statement)) continue;
      const auto box = asked(*context.statement,
                             [&] { return Extents(*context.statement, context.loops).written(); });
      if (!box) continue;
      if (!written[t]) {
        written[t] = box;
        continue;
      }
      for (std::size_t d = 0; d < box->size(); ++d) {
        (*written[t])[d].lo = std::min((*written[t])[d].lo, (*box)[d].lo);
        (*written[t])[d].hi = std::max((*written[t])[d].hi, (*box)[d].hi);
      }
    }
    for (std::size_t t = 0; t < out_.tensors.size(); ++t)
      set_box(out_.tensors[t], written[t]);
  }

  void set_box(Tensor& tensor, const std::optional<std::vector<Interval>>& written) {
    for (std::size_t d = 0; d < tensor.extent.size(); ++d) {
      const std::optional<std::int64_t> begin =
          evaluate(folder_.position(tensor.begin[d]), IntEnv{});
      const std::optional<std::int64_t> extent =
          evaluate(folder_.position(tensor.extent[d]), IntEnv{});
      if (!begin || !extent) {
        fail("E0334", tensor.range,
             "the size of dimension " + std::to_string(d) + " of '" + tensor.name +
                 "' leaves 64 bits" + sizes_text_);
        continue;
      }
      std::int64_t from = *begin;
      std::int64_t count = std::max<std::int64_t>(*extent, 0);
      std::int64_t end = 0;
      // What is really written; the symbolic box can be larger where a range or loop is empty or
      // bends.
      const Interval box = written ? (*written)[d] : Interval{0, 0};
      if (written) from = box.lo;
      if (box.lo == INT64_MIN || !checked_add(box.hi, 1, end) ||
          (written && !checked_add(end, -box.lo, count)) || !checked_add(from, count, end)) {
        fail("E0334", tensor.range,
             "dimension " + std::to_string(d) + " of '" + tensor.name + "', from " +
                 std::to_string(from) + " on, ends beyond 64 bits" + sizes_text_);
        continue;
      }
      const bool given = d < tensor.extent_given.size() && tensor.extent_given[d];
      if (given && count != *extent) {
        fail("E0332", tensor.range,
             "dimension " + std::to_string(d) + " of '" + tensor.name + "' is annotated as " +
                 std::to_string(*extent) + ", but its statements write " + std::to_string(count) +
                 sizes_text_);
      }
      tensor.begin[d] = make_position(from);
      tensor.extent[d] = make_position(count);
    }
  }

  void check_size(const Tensor& tensor) {
    std::int64_t rows = 1;
    std::int64_t last = 1;
    bool fits = true;
    bool empty = false;
    for (std::size_t d = 0; d < tensor.extent.size(); ++d) {
      const std::int64_t extent = evaluate(tensor.extent[d], IntEnv{}).value_or(0);
      empty = empty || extent == 0;
      if (d + 1 == tensor.extent.size()) {
        last = extent;
      } else {
        fits = fits && checked_mul(rows, extent, rows);
      }
    }
    std::int64_t elements = 0;
    std::int64_t bytes = 0;
    if (empty) return;
    fits = fits && checked_mul(rows, last, elements) && last <= kMaxBytes / 16 &&
           checked_mul(rows, row_bytes(tensor.type, last), bytes) && bytes <= kMaxBytes;
    if (fits) return;
    std::string shape;
    for (const ExprPtr& extent : tensor.extent)
      shape += (shape.empty() ? "" : " x ") + to_string(out_, nullptr, extent);
    fail("E0337", tensor.range,
         "'" + tensor.name + "' is too large: " + shape + " elements of " +
             std::string(name(tensor.type)) + " need more than 2^62 bytes" + sizes_text_);
  }

  void check_position(const Statement& statement) {
    if (!statement.position) return;
    const Tensor& tensor = out_.tensors[static_cast<std::size_t>(statement.tensor)];
    folder_.intervals.clear();
    for (std::size_t k = 0; k < statement.indices.size(); ++k) {
      const auto lo = interval(out_, statement.indices[k].lo, folder_.intervals);
      const auto hi = interval(out_, statement.indices[k].hi, folder_.intervals);
      // A bound that depends on another index or a loop: the position of a triangle is bounded when
      // it is used, not here.
      if (!lo || !hi) return;
      folder_.intervals[{false, static_cast<int>(k)}] = {lo->lo, hi->hi - 1};
    }
    const std::optional<Interval> position = interval(out_, statement.position, folder_.intervals);
    if (!position || tensor.type != DType::Int32) return;
    if (fits_int32(position->lo) && fits_int32(position->hi)) return;
    fail("E0338", statement.range,
         "positions up to " + std::to_string(position->hi) + " do not fit into the int32 of '" +
             tensor.name + "'; annotate it as int64" + sizes_text_);
  }

  const TypedDef& source_;
  TypedDef out_;
  DiagnosticSink& sink_;
  std::string sizes_text_;  ///< " (N = 3, K = 4)" or empty
  Values values_;
  Folder folder_;
  bool failed_ = false;
  bool types_changed_ = false;
};

}  // namespace

std::optional<TypedDef> specialise(const TypedDef& def, const Bindings& bindings,
                                   DiagnosticSink& sink) {
  return Specialiser(def, bindings, sink).run();
}

}  // namespace tc::lang
