// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/emit.h"

#include <algorithm>

#include "tc/support/check.h"
#include "tc/tile/checks.h"
#include "tc/tile/fold_init.h"
#include "tc/tile/structure.h"

namespace tc::tile {
namespace {

bool has_gather(const poly::Statement& statement);

using kernel::BinaryOp;
using kernel::ExprPtr;

Combine combine_of(lang::ReduceOp op) {
  switch (op) {
  case lang::ReduceOp::Add: return Combine::Add;
  case lang::ReduceOp::Mul: return Combine::Mul;
  case lang::ReduceOp::Min: return Combine::Min;
  case lang::ReduceOp::Max: return Combine::Max;
  case lang::ReduceOp::ArgMin: return Combine::ArgMin;
  case lang::ReduceOp::ArgMax: return Combine::ArgMax;
  }
  unreachable("reduction");
}

/// Identity of component `component` of a reduction: 0 and -1 ("nothing yet") for the tuples.
ExprPtr identity_of(lang::ReduceOp op, DType type, std::size_t component) {
  const auto number = [&](std::int64_t value) {
    return is_float(type) ? kernel::float_imm(static_cast<double>(value), type)
                          : kernel::int_imm(value, type);
  };
  switch (op) {
  case lang::ReduceOp::Add: return kernel::identity(kernel::ReduceOp::Add, type);
  case lang::ReduceOp::Mul: return kernel::identity(kernel::ReduceOp::Mul, type);
  case lang::ReduceOp::Min: return kernel::identity(kernel::ReduceOp::Min, type);
  case lang::ReduceOp::Max: return kernel::identity(kernel::ReduceOp::Max, type);
  case lang::ReduceOp::ArgMin:
  case lang::ReduceOp::ArgMax: return number(component == 0 ? 0 : -1);
  }
  unreachable("reduction");
}

/// A comparison that holds on the whole scope.
bool is_proved(const ExprPtr& condition, const Scope& scope) {
  if (const auto value = constant(condition)) return *value != 0;
  const auto* binary = std::get_if<kernel::Binary>(&condition->node);
  if (!binary || binary->left->type.elem != DType::Int64) return false;
  const auto at_most = [&](const ExprPtr& a, const ExprPtr& b, std::int64_t difference) {
    const auto bound = upper_bound(kernel::sub(a, b), scope);
    return bound && *bound <= difference;
  };
  switch (binary->op) {
  case BinaryOp::Lt: return at_most(binary->left, binary->right, -1);
  case BinaryOp::Le: return at_most(binary->left, binary->right, 0);
  case BinaryOp::Gt: return at_most(binary->right, binary->left, -1);
  case BinaryOp::Ge: return at_most(binary->right, binary->left, 0);
  default: return false;
  }
}

bool mentions_in(const std::vector<Node>& nodes, int var_id) {
  bool found = false;
  const auto look = [&](const ExprPtr& e) { found = found || mentions(e, var_id); };
  for (const auto& node : nodes) {
    if (const auto* op = std::get_if<Op>(&node)) for_each_expr(*op, look);
    if (const auto* loop = std::get_if<std::shared_ptr<const Loop>>(&node)) {
      look((*loop)->begin);
      look((*loop)->end);
      found = found || mentions_in((*loop)->body, var_id);
    }
  }
  return found;
}

class Emitter {
public:
  Emitter(const EmitInput& input, const GroupFrame& frame) : in_(input), frame_(frame) {
    places_.resize(input.scop.tensors.size());
    place_arguments();
  }

  std::optional<EmittedKernel> kernel(const std::string& name) {
    absorbed_ = absorbed_inits(frame_);
    place_locals();
    return finish(name, top_level());
  }

  std::optional<EmittedKernel> checks(const std::string& name) {
    std::vector<Node> nodes;
    for (const int position : statements_below(frame_.body)) {
      const auto& statement = frame_.statements[static_cast<std::size_t>(position)];
      if (!statement.empty) append(nodes, gather_checks(statement));
    }
    return finish(name, std::move(nodes));
  }

  void check_in_place() { check_in_place_ = true; }

private:
  static void append(std::vector<Node>& nodes, std::vector<Node> more) {
    for (auto& node : more)
      nodes.push_back(std::move(node));
  }

  std::optional<EmittedKernel> finish(const std::string& name, std::vector<Node> body) {
    if (body.empty()) return std::nullopt;
    EmittedKernel result;
    result.kernel.name = name;
    result.kernel.buffers = arguments_;
    result.arguments = argument_positions_;
    result.kernel.grid = frame_.grid;
    for (std::size_t p = 0; p < frame_.int_params.size(); ++p) {
      if (!mentions_in(body, frame_.int_params[p].id)) continue;
      result.kernel.int_params.push_back(frame_.int_params[p]);
      result.counters.push_back(static_cast<int>(p));
    }
    result.kernel.body = std::move(body);
    return result;
  }

  // ---- buffers ----

  /// Tensors of the group that are arguments, in the order of Program::arguments, then the status
  /// record.
  void place_arguments() {
    const auto& tensors = in_.scop.tensors;
    std::vector<bool> used(tensors.size(), false);
    std::vector<bool> written(tensors.size(), false);
    for (const auto& access : in_.group.context.accesses) {
      if (frame_.statements[static_cast<std::size_t>(access.position)].empty) continue;
      const auto t = static_cast<std::size_t>(access.tensor);
      used[t] = true;
      written[t] = written[t] || access.write;
    }
    std::map<int, std::size_t> by_argument;
    for (std::size_t t = 0; t < tensors.size(); ++t)
      if (used[t] && in_.storage.tensors[t].kind == TensorStorage::Kind::Argument)
        by_argument[in_.storage.tensors[t].argument] = t;
    for (const auto& [argument, t] : by_argument) {
      auto buffer = argument_buffer(t);
      buffer->writable = written[t];
      std::vector<ExprPtr> base;
      for (const auto begin : tensors[t].begin)
        base.push_back(kernel::int_imm(begin));
      places_[t] = {add_argument(std::move(buffer), argument), std::move(base)};
    }
    if (in_.storage.status_argument >= 0 && has_gathers(in_.scop)) {
      auto buffer = std::make_shared<kernel::Buffer>();
      buffer->name = "status";
      buffer->type = DType::Int64;
      buffer->space = kernel::Space::Scratch;
      buffer->extents = {4};
      buffer->strides = {1};
      buffer->alignment = 64;
      buffer->writable = true;
      status_ = buffer;
    }
  }

  kernel::BufferPtr add_argument(std::shared_ptr<kernel::Buffer> buffer, int argument) {
    buffer->id = next_buffer_++;
    buffer->argument = static_cast<int>(arguments_.size());
    arguments_.push_back(buffer);
    argument_positions_.push_back(argument);
    return buffer;
  }

  std::shared_ptr<kernel::Buffer> argument_buffer(std::size_t t) const {
    const auto& tensor = in_.scop.tensors[t];
    auto buffer = std::make_shared<kernel::Buffer>();
    buffer->name = in_.storage.tensors[t].name;
    buffer->type = tensor.type;
    buffer->extents = tensor.extent;
    buffer->strides = packed_strides(tensor.type, tensor.extent);
    buffer->alignment = std::max<std::int64_t>(bits(tensor.type) / 8, 1);
    const auto& argument =
        in_.storage.arguments[static_cast<std::size_t>(in_.storage.tensors[t].argument)];
    if (argument.kind == kernel::Argument::Kind::Scratch) {
      buffer->space = kernel::Space::Scratch;
      buffer->alignment = 64;
      return buffer;
    }
    buffer->space = kernel::Space::Global;
    const auto& metas = argument.kind == kernel::Argument::Kind::Input ? in_.placement.inputs
                                                                       : in_.placement.outputs;
    const auto position = static_cast<std::size_t>(argument.position);
    if (position < metas.size()) {
      const TensorMeta& meta = metas[position];
      if (!meta.strides.empty()) buffer->strides = meta.strides;
      buffer->alignment = std::max(meta.alignment, buffer->alignment);
    }
    return buffer;
  }

  void place_locals() {
    for (const int tensor : in_.group.context.private_tensors) {
      const auto t = static_cast<std::size_t>(tensor);
      const auto& storage = in_.storage.tensors[t];
      if (storage.kind != TensorStorage::Kind::Local) continue;
      auto buffer = std::make_shared<kernel::Buffer>();
      buffer->id = next_buffer_++;
      buffer->name = storage.name;
      buffer->type = in_.scop.tensors[t].type;
      buffer->space = kernel::Space::Local;
      buffer->extents = storage.box.extent;
      buffer->strides = packed_strides(buffer->type, storage.box.extent);
      buffer->alignment = 64;
      buffer->writable = true;
      places_[t] = {buffer, storage.box.base};
    }
  }

  // ---- nodes ----

  /// The body; each local is declared right before the first item that uses it, outside of every
  /// loop, since its contents may be carried from one iteration to the next.
  std::vector<Node> top_level() {
    std::vector<Node> nodes;
    std::vector<bool> declared(places_.size(), false);
    for (const auto& item : frame_.body) {
      std::vector<Node> emitted = items({item});
      if (emitted.empty()) continue;
      const auto below = statements_below({item});
      for (std::size_t t = 0; t < places_.size(); ++t) {
        if (declared[t] || in_.storage.tensors[t].kind != TensorStorage::Kind::Local) continue;
        const bool uses = std::any_of(in_.group.context.accesses.begin(),
                                      in_.group.context.accesses.end(), [&](const Access& access) {
                                        return access.tensor == static_cast<int>(t) &&
                                               std::find(below.begin(), below.end(),
                                                         access.position) != below.end();
                                      });
        if (!uses || !places_[t].buffer) continue;
        nodes.emplace_back(Local{places_[t].buffer});
        declared[t] = true;
      }
      append(nodes, std::move(emitted));
    }
    return nodes;
  }

  std::vector<Node> items(const std::vector<FrameItem>& list) {
    std::vector<Node> nodes;
    for (const auto& item : list) {
      if (const auto* position = std::get_if<int>(&item)) {
        append(nodes, statement(*position));
        continue;
      }
      const auto& frame = *std::get<std::shared_ptr<const LoopFrame>>(item);
      auto body = items(frame.body);
      if (body.empty()) continue;
      auto loop = std::make_shared<Loop>();
      loop->var = frame.var;
      loop->begin = frame.begin;
      loop->end = frame.end;
      loop->body = std::move(body);
      nodes.emplace_back(std::move(loop));
    }
    return nodes;
  }

  std::vector<Node> statement(int position) {
    const auto& frame = frame_.statements[static_cast<std::size_t>(position)];
    if (frame.empty || absorbed_[static_cast<std::size_t>(position)] >= 0) return {};
    std::vector<Node> nodes;
    if (check_in_place_) nodes = gather_checks(frame);
    Op op;
    if (!begin_op(frame, op)) {
      // A reduction that never runs leaves its Init to be executed by itself.
      append(nodes, released_init(position));
      return nodes;
    }
    const auto& statement = *frame.statement;
    const Translator translator = this->translator(frame);
    if (statement.kind == poly::StatementKind::Init) {
      append(nodes, init_ops(op, statement, translator));
      return nodes;
    }
    for (const auto& target : statement.targets)
      op.targets.push_back({places_[static_cast<std::size_t>(target.tensor)].buffer,
                            translator.target(target),
                            translator.stored(target.tensor, translator.value(target.value))});
    if (statement.kind == poly::StatementKind::Reduce) {
      op.combine = combine_of(*statement.op);
      op.from_identity = std::find(absorbed_.begin(), absorbed_.end(), position) != absorbed_.end();
    } else {
      for (auto& dim : op.dims)
        dim.reduction = false;
    }
    if (op.combine || statement.scatter) mark_reduction_dims(op);
    if (op.from_identity && !can_start_from_identity(op)) {
      // Several points of the left side share an element: y(i+j).
      op.from_identity = false;
      append(nodes, released_init(position));
    }
    op.kind = classify(op);
    nodes.emplace_back(std::move(op));
    return nodes;
  }

  /// The Init that a reduction cannot absorb after all, as an operation of its own.
  std::vector<Node> released_init(int reduction) {
    std::vector<Node> nodes;
    for (std::size_t init = 0; init < absorbed_.size(); ++init) {
      if (absorbed_[init] != reduction) continue;
      absorbed_[init] = -1;
      append(nodes, this->statement(static_cast<int>(init)));
    }
    return nodes;
  }

  Translator translator(const StatementFrame& frame) const {
    return {in_.scop, frame.names, frame.scope, places_, in_.bounds};
  }

  /// Box and conditions; false if no point satisfies the conditions.
  bool begin_op(const StatementFrame& frame, Op& op) const {
    const Translator translator = this->translator(frame);
    op.label = frame.statement->name;
    op.text = frame.statement->text;
    op.dims = frame.dims;
    for (const auto& condition : frame.statement->conditions) {
      ExprPtr test = translator.value(condition);
      if (const auto value = constant(test); value && *value == 0) return false;
      if (!is_proved(test, frame.scope)) op.conditions.push_back(std::move(test));
    }
    for (const auto& target : frame.statement->targets)
      if (ExprPtr test = translator.target_in_range(target))
        op.conditions.push_back(std::move(test));
    return true;
  }

  std::vector<Node> init_ops(const Op& box, const poly::Statement& statement,
                             const Translator& translator) const {
    std::vector<Node> nodes;
    for (std::size_t c = 0; c < statement.targets.size(); ++c) {
      const auto& target = statement.targets[c];
      const auto& buffer = places_[static_cast<std::size_t>(target.tensor)].buffer;
      Op op = box;
      for (auto& dim : op.dims)
        dim.reduction = false;
      op.targets.push_back({buffer, translator.target(target),
                            identity_of(*statement.op, compute_type(buffer->type), c)});
      op.kind = classify(op);
      nodes.emplace_back(std::move(op));
    }
    return nodes;
  }

  std::vector<Node> gather_checks(const StatementFrame& frame) {
    // Guards of a statement without gathers may read what this kernel was not given.
    if (!has_gather(*frame.statement)) return {};
    Op op;
    if (!begin_op(frame, op)) return {};
    const Translator translator = this->translator(frame);
    // The in-range tests of scattered targets are what is checked, not a condition of the check.
    std::vector<ExprPtr> conditions;
    for (const auto& condition : frame.statement->conditions)
      conditions.push_back(translator.value(condition));
    std::vector<GatherTest> tests;
    for (const auto& target : frame.statement->targets) {
      translator.gather_tests(target, tests);
      translator.gather_tests(target.value, nullptr, tests);
    }
    if (tests.empty()) return {};
    if (status_) {
      add_argument(status_, in_.storage.status_argument);
      status_view_ = arguments_.back();
      status_ = nullptr;
    }
    return check_nodes(frame, conditions, tests, status_view_, next_buffer_);
  }

  const EmitInput& in_;
  const GroupFrame& frame_;
  std::vector<Place> places_;
  std::vector<kernel::BufferPtr> arguments_;
  std::vector<int> argument_positions_;
  std::vector<int> absorbed_;
  std::shared_ptr<kernel::Buffer> status_;  ///< not yet an argument
  kernel::BufferPtr status_view_;
  bool check_in_place_ = false;
  int next_buffer_ = 0;
};

/// Calls f for every read that decides about a gathered subscript: inside it, or in a guard
/// somewhere in the statement.
void for_deciding_reads(const poly::Statement& statement, const std::function<void(int)>& f) {
  const auto all_reads = [&](const lang::ExprPtr& expr) {
    lang::walk(expr, [&](const lang::Expr& e) {
      if (const auto* read = std::get_if<lang::Read>(&e.node)) f(read->tensor);
    });
  };
  const auto visit = [&](const lang::ExprPtr& root) {
    if (!root) return;
    lang::walk(root, [&](const lang::Expr& e) {
      if (const auto* read = std::get_if<lang::Read>(&e.node))
        for (const auto& subscript : read->subscripts)
          all_reads(subscript);
      if (const auto* select = std::get_if<lang::Select>(&e.node)) all_reads(select->condition);
      if (const auto* binary = std::get_if<lang::Binary>(&e.node))
        if (binary->op == lang::BinaryOp::And || binary->op == lang::BinaryOp::Or)
          all_reads(binary->left);
    });
  };
  for (const auto& target : statement.targets) {
    for (const auto& subscript : target.subscripts)
      all_reads(subscript);
    visit(target.value);
  }
}

bool has_gather(const poly::Statement& statement) {
  const auto accesses = accesses_of(statement, 0);
  return std::any_of(accesses.begin(), accesses.end(),
                     [](const Access& access) { return access.gathered(); });
}

}  // namespace

bool has_gathers(const poly::Scop& scop) {
  return std::any_of(scop.statements.begin(), scop.statements.end(), has_gather);
}

bool checks_in_place(const poly::Scop& scop, const poly::Group& group) {
  std::vector<bool> written(scop.tensors.size(), false);
  for (const int id : group.statements)
    for (const auto& target : scop.statements[static_cast<std::size_t>(id)].targets)
      written[static_cast<std::size_t>(target.tensor)] = true;
  std::vector<bool> plain(group.statements.size(), false);
  for (const auto& item : group.body)
    if (const auto* position = std::get_if<int>(&item))
      plain[static_cast<std::size_t>(*position)] = true;
  bool in_place = false;
  for (std::size_t p = 0; p < group.statements.size(); ++p) {
    const auto& statement = scop.statements[static_cast<std::size_t>(group.statements[p])];
    if (!has_gather(statement)) continue;
    in_place = in_place || !plain[p];
    for_deciding_reads(statement, [&](int tensor) {
      in_place = in_place || written[static_cast<std::size_t>(tensor)];
    });
  }
  return in_place;
}

std::optional<EmittedKernel> emit_kernel(const EmitInput& input, const std::string& name) {
  Emitter emitter(input, input.group.frame);
  if (input.bounds == Bounds::Error && checks_in_place(input.scop, *input.group.context.group))
    emitter.check_in_place();
  return emitter.kernel(name);
}

std::optional<EmittedKernel> emit_check_kernel(const EmitInput& input, const std::string& name) {
  const auto& context = input.group.context;
  if (input.bounds != Bounds::Error || checks_in_place(input.scop, *context.group))
    return std::nullopt;
  std::vector<std::int64_t> whole;
  for (const auto& member : context.group->band)
    whole.push_back(std::max<std::int64_t>(member.hi - member.lo, 1));
  const GroupFrame frame = make_frame(input.scop, *context.group, context.counters, whole);
  return Emitter(input, frame).checks(name);
}

EmittedKernel emit_clear_kernel(const Storage& storage, const std::string& name) {
  auto buffer = std::make_shared<kernel::Buffer>();
  buffer->id = 0;
  buffer->name = "status";
  buffer->type = DType::Int64;
  buffer->space = kernel::Space::Scratch;
  buffer->extents = {4};
  buffer->strides = {1};
  buffer->alignment = 64;
  buffer->writable = true;
  buffer->argument = 0;
  EmittedKernel result;
  result.kernel.name = name;
  result.kernel.buffers = {buffer};
  result.arguments = {storage.status_argument};
  result.kernel.body.emplace_back(clear_status(buffer, 0));
  return result;
}

}  // namespace tc::tile
