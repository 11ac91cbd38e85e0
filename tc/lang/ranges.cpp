// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/ranges.h"

#include <algorithm>

#include "tc/lang/ranges_rounds.h"
#include "tc/support/check.h"

namespace tc::lang {

namespace {

/// Walks the statements in textual order; each sees the boxes that the earlier ones wrote.
class Inference {
public:
  Inference(TypedDef& def, DiagnosticSink& sink)
      : def_(def), sink_(sink), boxes_(def.tensors.size()) {}

  void run() {
    for (std::size_t t = 0; t < def_.tensors.size(); ++t) {
      if (def_.tensors[t].is_param) boxes_[t].box = declared_box(def_.tensors[t]);
    }
    def_.body = body(def_.body);
    for (std::size_t t = 0; t < def_.tensors.size(); ++t)
      finish_tensor(t);
    def_.body = finish_values(def_.body);
    for (ExprPtr& condition : def_.preconditions)
      condition = final_dims(condition);
    add_const_preconditions();
  }

private:
  // ---- statements ----

  std::vector<Node> body(const std::vector<Node>& nodes) {
    std::vector<Node> out;
    for (const Node& node : nodes) {
      if (const auto* statement = std::get_if<Statement>(&node)) {
        Statement copy = *statement;
        infer(copy);
        out.push_back(std::move(copy));
        continue;
      }
      ForLoop loop = *std::get<std::shared_ptr<const ForLoop>>(node);
      loop.lo = running_dims(loop.lo);
      loop.hi = running_dims(loop.hi);
      const VariableRange range{Form::of(loop.lo), Form::of(loop.hi)};
      const VariableRanges outside = loops_;
      if (is_quasi_affine(range.lo) && is_quasi_affine(range.hi)) {
        loops_.set({true, loop.var}, range);
      } else {
        sink_.error(
            "E0314", SourceRange::join(loop.lo->range, loop.hi->range),
            "the bounds of 'for " + loop.name +
                "' must be sums of multiples of integers, sizes, integer consts and outer for "
                "variables, with / and % by what is the same everywhere, min and max");
        loops_.set({true, loop.var}, {Form(0), Form(1)});
      }
      loop.body = body(loop.body);
      loops_ = outside;
      out.push_back(std::make_shared<const ForLoop>(std::move(loop)));
    }
    return out;
  }

  void infer(Statement& statement) {
    replace_running_dims(statement);
    const Accesses accesses = collect_accesses(statement);
    const RangeRounds rounds(def_, statement, accesses, boxes_, loops_);
    if (!rounds.check_given(sink_)) return give_up(statement);
    const RangeRounds::Result result = rounds.run();
    if (!result.unsolved.empty()) {
      // A box that an earlier error left open explains the failure already.
      const bool follows =
          std::any_of(accesses.list.begin(), accesses.list.end(), [&](const Access& access) {
            return boxes_[static_cast<std::size_t>(access.tensor)].poisoned;
          });
      if (!follows) rounds.report(result, sink_);
      return give_up(statement);
    }
    assumed_.insert(result.assumed.begin(), result.assumed.end());
    for (std::size_t k = 0; k < statement.indices.size(); ++k) {
      Index& index = statement.indices[k];
      if (index.given) continue;
      const VariableRange& range = result.ranges.at({false, static_cast<int>(k)});
      index.lo = range.lo.to_expr();
      index.hi = range.hi.to_expr();
    }
    check_guards(statement, accesses, result);
    record_write(statement, result.ranges);
  }

  /// Leaves a representable statement behind; nobody looks at it since there is an error.
  void give_up(Statement& statement) {
    for (Index& index : statement.indices) {
      if (!index.lo) index.lo = make_int(0);
      if (!index.hi) index.hi = make_int(0);
    }
    boxes_[static_cast<std::size_t>(statement.tensor)].poisoned = true;
  }

  /// A guard whose reads gave an index its range must still depend on something: else it guards
  /// nothing.
  void check_guards(const Statement& statement, const Accesses& accesses,
                    const RangeRounds::Result& result) {
    std::set<int> seen;
    for (const int admitted : result.admitted) {
      const Access& access = accesses.list[static_cast<std::size_t>(admitted)];
      for (const int g : access.guards) {
        if (!seen.insert(g).second) continue;
        const Guard& guard = accesses.guards[static_cast<std::size_t>(g)];
        const ExprPtr condition =
            guard.condition ? guard.condition : in_bounds_condition(guard.padded);
        const std::optional<bool> truth =
            condition ? constant_truth(condition, result.ranges) : std::nullopt;
        if (!truth) continue;
        std::string clause;
        for (const ExprPtr& subscript : access.subscripts) {
          const auto* ref = std::get_if<IndexRef>(&subscript->node);
          if (!ref) continue;
          const Index& index = statement.indices[static_cast<std::size_t>(ref->index)];
          if (index.given || clause.find(index.name + " in") != std::string::npos) continue;
          clause += (clause.empty() ? "" : ", ") + index.name + " in " +
                    to_string(def_, &statement, index.lo) + ":" +
                    to_string(def_, &statement, index.hi);
        }
        const std::string what =
            guard.condition ? "the guard '" + to_string(def_, &statement, guard.condition) +
                                  "' is always " + (*truth ? "true" : "false")
                            : std::string("this pad is ") + (*truth ? "never" : "always") +
                                  " outside its tensor";
        sink_.error("E0312", guard.condition ? guard.condition->range : guard.padded->range,
                    what + ", because the range comes from the guarded read '" +
                        to_string(def_, statement, access) +
                        "' itself; write the range that is meant, for example 'where " + clause +
                        "'");
      }
    }
  }

  /// All subscripts of a padded read inside its tensor; null if a gathered one keeps it from being
  /// constant.
  ExprPtr in_bounds_condition(const ExprPtr& padded) const {
    const Read& read = std::get<Read>(padded->node);
    const std::optional<Box>& box = boxes_[static_cast<std::size_t>(read.tensor)].box;
    if (!box) return nullptr;
    ExprPtr all = make_int(1, DType::Bool);
    for (std::size_t d = 0; d < read.subscripts.size(); ++d) {
      if (contains_read(read.subscripts[d])) return nullptr;
      const ExprPtr above = make_binary(BinaryOp::Ge, read.subscripts[d], box->lo[d].to_expr());
      const ExprPtr below = make_binary(BinaryOp::Lt, read.subscripts[d], box->hi[d].to_expr());
      all = make_binary(BinaryOp::And, all, make_binary(BinaryOp::And, above, below));
    }
    return all;
  }

  // ---- boxes ----

  static Box declared_box(const Tensor& tensor) {
    Box box;
    for (const ExprPtr& extent : tensor.extent) {
      box.lo.push_back(Form(0));
      box.hi.push_back(Form::of(extent));
    }
    return box;
  }

  void record_write(const Statement& statement, const VariableRanges& ranges) {
    const auto t = static_cast<std::size_t>(statement.tensor);
    const Tensor& tensor = def_.tensors[t];
    TensorBox& known = boxes_[t];
    if (tensor.is_param || known.poisoned) return;
    const bool scatter =
        std::any_of(statement.subscripts.begin(), statement.subscripts.end(), contains_read);
    if (scatter) return record_scatter(statement, ranges);
    const VariableRanges cut = narrowed(ranges, left_conditions(statement));
    Box box;
    std::set<int> assumed;
    for (const ExprPtr& subscript : statement.subscripts) {
      const Form form = Form::of(subscript);
      box.lo.push_back(extreme(form, End::Smallest, cut, std::nullopt, assumed));
      box.hi.push_back(extreme(form, End::Largest, cut, std::nullopt, assumed) + Form(1));
      if (box.lo.back().valid() && box.hi.back().valid()) continue;
      sink_.error("E0315", subscript->range,
                  "the left subscript '" + to_string(def_, &statement, subscript) +
                      "' must be a sum of multiples of indices (with /, %, min and max by sizes or "
                      "integers) or a tensor read (a scatter)");
      known.poisoned = true;
      return;
    }
    assumed_.insert(assumed.begin(), assumed.end());
    if (!known.box) {
      known.box = std::move(box);
      return;
    }
    for (std::size_t d = 0; d < box.lo.size(); ++d) {
      known.box->lo[d] = min(known.box->lo[d], box.lo[d]);
      known.box->hi[d] = max(known.box->hi[d], box.hi[d]);
    }
  }

  /// A scatter writes nothing that is known. Where nothing else gave a box, the annotation does for
  /// the gathered dimensions, and the ranges for the others.
  void record_scatter(const Statement& statement, const VariableRanges& ranges) {
    const Tensor& tensor = def_.tensors[static_cast<std::size_t>(statement.tensor)];
    TensorBox& known = boxes_[static_cast<std::size_t>(statement.tensor)];
    if (known.box) return;
    Box box;
    for (std::size_t d = 0; d < statement.subscripts.size(); ++d) {
      std::set<int> assumed;
      const Form form = Form::of(statement.subscripts[d]);
      const bool declared = tensor.extent[d] != nullptr;
      box.lo.push_back(declared ? Form(0)
                                : extreme(form, End::Smallest, ranges, std::nullopt, assumed));
      box.hi.push_back(declared
                           ? Form::of(tensor.extent[d])
                           : extreme(form, End::Largest, ranges, std::nullopt, assumed) + Form(1));
      if (box.lo.back().valid() && box.hi.back().valid()) continue;
      // resolve() has reported a gathered dimension without a size.
      known.poisoned = true;
      return;
    }
    known.box = std::move(box);
  }

  /// Conditions that cut the written elements: those on left-hand indices alone.
  static std::vector<ExprPtr> left_conditions(const Statement& statement) {
    std::vector<ExprPtr> out;
    for (const ExprPtr& condition : statement.conditions) {
      bool left = true;
      walk(condition, [&](const Expr& node) {
        const auto* ref = std::get_if<IndexRef>(&node.node);
        if (ref) left = left && statement.indices[static_cast<std::size_t>(ref->index)].on_left;
      });
      if (left) out.push_back(condition);
    }
    return out;
  }

  void finish_tensor(std::size_t t) {
    Tensor& tensor = def_.tensors[t];
    if (tensor.is_param) {
      tensor.begin.assign(tensor.extent.size(), make_int(0));
      return;
    }
    const TensorBox& known = boxes_[t];
    tensor.begin.resize(static_cast<std::size_t>(tensor.rank));
    tensor.extent.resize(static_cast<std::size_t>(tensor.rank));
    tensor.extent_given.assign(static_cast<std::size_t>(tensor.rank), false);
    for (std::size_t d = 0; d < tensor.extent.size(); ++d) {
      if (!known.box || known.poisoned) {
        // An error was reported: by this room, or by resolve() for a tensor that nothing writes.
        tensor.begin[d] = make_int(0);
        if (!tensor.extent[d]) tensor.extent[d] = make_int(0);
        continue;
      }
      const Form extent = known.box->hi[d] - known.box->lo[d];
      tensor.begin[d] = known.box->lo[d].to_expr();
      if (!extent.valid()) {
        sink_.error("E0316", tensor.range,
                    "the extent of dimension " + std::to_string(d) + " of '" + tensor.name +
                        "' overflows");
        tensor.extent[d] = make_int(0);
      } else if (tensor.extent[d]) {
        tensor.extent_given[d] = true;
        check_annotation(tensor, d, extent);
      } else {
        tensor.extent[d] = extent.to_expr();
      }
    }
  }

  void check_annotation(const Tensor& tensor, std::size_t d, const Form& extent) {
    const Form declared = Form::of(tensor.extent[d]);
    const Form gap = extent - declared;
    if (gap == Form()) return;
    const std::string where = "dimension " + std::to_string(d) + " of '" + tensor.name + "'";
    if (is_nonnegative(gap - Form(1)) || is_nonnegative(negate(gap) - Form(1))) {
      sink_.error("E0317", tensor.extent[d]->range.empty() ? tensor.range : tensor.extent[d]->range,
                  where + " is annotated as " + to_string(def_, nullptr, tensor.extent[d]) +
                      ", but its statements write " + to_string(def_, nullptr, extent.to_expr()));
      return;
    }
    if (is_nonnegative(gap) && is_nonnegative(negate(gap))) return;
    def_.preconditions.push_back(
        make_binary(BinaryOp::Eq, tensor.extent[d], extent.to_expr(), tensor.range));
  }

  // ---- sizes of inferred tensors (DimOf) ----

  ExprPtr dim_of(const DimOf& dim, SourceRange range, DType type) const {
    const auto t = static_cast<std::size_t>(dim.tensor);
    const auto d = static_cast<std::size_t>(dim.dim);
    const TensorBox& known = boxes_[t];
    ExprPtr value = make_int(0);
    if (known.box && !known.poisoned) {
      const Form form = dim.part == DimOf::Part::Begin ? known.box->lo.at(d)
                                                       : known.box->hi.at(d) - known.box->lo.at(d);
      if (form.valid()) value = form.to_expr();
    }
    if (value->type != type) value = make_cast(type, value, range);
    return make_expr(value->type, range, value->node);
  }

  ExprPtr running_dims(const ExprPtr& expr) const {
    return rewrite(expr, [&](const ExprPtr& node) -> ExprPtr {
      const auto* dim = std::get_if<DimOf>(&node->node);
      if (dim) return dim_of(*dim, node->range, node->type);
      // Folds again what has become constant.
      const auto* binary = std::get_if<Binary>(&node->node);
      return binary ? make_binary(binary->op, binary->left, binary->right, node->range) : nullptr;
    });
  }

  /// Inside the subscripts of every read of a value; the rest of the value speaks of the final
  /// boxes.
  ExprPtr running_subscripts(const ExprPtr& expr) const {
    return rewrite(expr, [&](const ExprPtr& node) -> ExprPtr {
      const auto* read = std::get_if<Read>(&node->node);
      if (!read) return nullptr;
      Read copy = *read;
      for (ExprPtr& subscript : copy.subscripts)
        subscript = running_dims(subscript);
      return make_expr(node->type, node->range, std::move(copy));
    });
  }

  void replace_running_dims(Statement& statement) const {
    auto all = [&](std::vector<ExprPtr>& list) {
      for (ExprPtr& expr : list)
        expr = running_dims(expr);
    };
    all(statement.conditions);
    all(statement.exists);
    all(statement.subscripts);
    for (Index& index : statement.indices) {
      if (index.lo) index.lo = running_dims(index.lo);
      if (index.hi) index.hi = running_dims(index.hi);
    }
    statement.value = running_subscripts(statement.value);
  }

  /// After all statements: the running boxes are the final ones.
  ExprPtr final_dims(const ExprPtr& expr) const {
    return rewrite(expr, [&](const ExprPtr& node) -> ExprPtr {
      const auto* dim = std::get_if<DimOf>(&node->node);
      return dim ? dim_of(*dim, node->range, node->type) : nullptr;
    });
  }

  std::vector<Node> finish_values(const std::vector<Node>& nodes) {
    std::vector<Node> out;
    for (const Node& node : nodes) {
      if (const auto* statement = std::get_if<Statement>(&node)) {
        Statement copy = *statement;
        copy.value = final_dims(copy.value);
        copy.position = final_dims(copy.position);
        out.push_back(std::move(copy));
        continue;
      }
      ForLoop loop = *std::get<std::shared_ptr<const ForLoop>>(node);
      loop.body = finish_values(loop.body);
      out.push_back(std::make_shared<const ForLoop>(std::move(loop)));
    }
    return out;
  }

  void add_const_preconditions() {
    for (const int id : assumed_) {
      const Const& constant = def_.consts.at(static_cast<std::size_t>(id));
      const DType type = compute_type(constant.type);
      def_.preconditions.push_back(make_binary(BinaryOp::Ge,
                                               make_expr(type, constant.range, ConstRef{id}),
                                               make_int(1, type, constant.range), constant.range));
    }
  }

  TypedDef& def_;
  DiagnosticSink& sink_;
  std::vector<TensorBox> boxes_;
  VariableRanges loops_;
  std::set<int> assumed_;  ///< consts that some range takes to be positive
};

}  // namespace

void infer_ranges(TypedDef& def, DiagnosticSink& sink) {
  Inference(def, sink).run();
}

}  // namespace tc::lang
