// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include <fmt/format.h>

#include "tc/kernel/text.h"
#include "tc/support/check.h"
#include "tc/tile/text.h"

namespace tc::tile {
namespace {

using kernel::TextReader;
using kernel::Type;

std::optional<OpKind> kind_from(const std::string& word) {
  for (const OpKind kind : {OpKind::Load, OpKind::Store, OpKind::Convert, OpKind::Map,
                            OpKind::Gather, OpKind::Scatter, OpKind::Reduce, OpKind::Contract})
    if (word == to_text(kind)) return kind;
  return std::nullopt;
}

class Parser {
public:
  explicit Parser(std::string_view text) : in_(text) {}

  Program program() {
    Program program;
    in_.expect("tile");
    program.name = in_.name();
    in_.expect("scratch");
    program.scratch_bytes = in_.integer();
    while (in_.accept("argument"))
      program.arguments.push_back(argument());
    while (in_.is("kernel"))
      program.kernels.push_back(kernel());
    program.steps = steps();
    if (!in_.at_end()) in_.fail(fmt::format("unexpected '{}'", in_.peek().text));
    return program;
  }

  const kernel::Token& place() const { return in_.peek(); }

private:
  kernel::Argument argument() {
    kernel::Argument argument;
    const std::string kind = in_.name();
    argument.name = in_.name();
    if (kind == "input" || kind == "output") {
      argument.kind =
          kind == "input" ? kernel::Argument::Kind::Input : kernel::Argument::Kind::Output;
      argument.position = static_cast<int>(in_.integer());
    } else if (kind == "scratch") {
      argument.kind = kernel::Argument::Kind::Scratch;
      in_.expect("offset");
      argument.offset_bytes = in_.integer();
      in_.expect("size");
      argument.size_bytes = in_.integer();
    } else {
      in_.fail(fmt::format("'{}' is no kind of argument", kind));
    }
    return argument;
  }

  Kernel kernel() {
    const std::size_t scope = in_.mark();
    Kernel kernel;
    in_.expect("kernel");
    kernel.name = in_.name();
    in_.expect("{");
    while (in_.accept("buffer"))
      kernel.buffers.push_back(
          in_.define_buffer(kernel::Space::Global, static_cast<int>(kernel.buffers.size())));
    while (in_.accept("int"))
      kernel.int_params.push_back(in_.define_var(in_.name(), Type{}));
    while (in_.accept("grid")) {
      GridLoop loop;
      const std::string name = in_.name();
      in_.expect("in");
      loop.begin = in_.integer();
      in_.expect(":");
      loop.end = in_.integer();
      in_.expect("step");
      loop.step = in_.integer();
      loop.var = in_.define_var(name, Type{});
      kernel.grid.push_back(loop);
    }
    if (in_.accept("thread")) {
      const std::string name = in_.name();
      const std::int64_t extent = in_.integer();
      kernel.thread = kernel::GridDim{in_.define_var(name, Type{}), extent};
    }
    kernel.body = nodes();
    in_.expect("}");
    in_.release(scope);
    return kernel;
  }

  std::vector<Node> nodes() {
    const std::size_t scope = in_.mark();
    std::vector<Node> list;
    while (!in_.is("}")) {
      if (in_.at_end()) in_.fail("expected '}' before the end of the text");
      list.push_back(node());
    }
    in_.release(scope);
    return list;
  }

  Node node() {
    if (in_.accept("alloc")) return Local{in_.define_buffer(kernel::Space::Local, -1)};
    if (in_.accept("barrier")) return Barrier{in_.name()};
    if (in_.accept("mma")) return in_.mma();
    if (in_.accept("await")) return in_.await();
    if (in_.accept("loop")) return loop();
    const auto kind = kind_from(in_.peek().text);
    if (!kind) in_.fail(fmt::format("'{}' is no operation", in_.peek().text));
    in_.next();
    return operation(*kind);
  }

  std::shared_ptr<const Loop> loop() {
    auto loop = std::make_shared<Loop>();
    const std::string name = in_.name();
    in_.expect("in");
    loop->begin = in_.expr();
    in_.expect(":");
    loop->end = in_.expr();
    if (in_.accept("step")) loop->step = in_.integer();
    const std::size_t scope = in_.mark();
    loop->var = in_.define_var(name, Type{});
    in_.expect("{");
    loop->body = nodes();
    in_.expect("}");
    in_.release(scope);
    return loop;
  }

  Op operation(OpKind kind) {
    const std::size_t scope = in_.mark();
    Op op;
    op.kind = kind;
    op.label = in_.name();
    in_.expect("{");
    if (auto text = in_.comment()) op.text = std::move(*text);
    while (in_.is("digit") && in_.is_at(2, "stride"))
      op.digits.push_back(digit());
    while (in_.is_at(1, "in"))
      op.dims.push_back(dim());
    while (in_.is("where") && !in_.is_at(1, "[")) {
      in_.next();
      op.conditions.push_back(in_.expr());
    }
    update(op);
    if (in_.accept("layout")) op.layout = layout();
    in_.expect("}");
    in_.release(scope);
    return op;
  }

  Digit digit() {
    Digit digit;
    in_.expect("digit");
    const std::string name = in_.name();
    in_.expect("stride");
    digit.stride = in_.integer();
    in_.expect("extent");
    digit.extent = in_.integer();
    digit.var = in_.define_var(name, Type{});
    return digit;
  }

  Dim dim() {
    Dim dim;
    const std::string name = in_.name();
    in_.expect("in");
    dim.begin = in_.expr();
    in_.expect(":");
    dim.end = in_.expr();
    if (in_.accept("step")) dim.step = in_.integer();
    in_.expect("extent");
    dim.max_extent = in_.integer();
    // A dim's name may be any word, also this one.
    if (in_.is("reduction") && !in_.is_at(1, "in") && !in_.is_at(1, "[")) {
      in_.next();
      dim.reduction = true;
    }
    dim.var = in_.define_var(name, Type{});
    return dim;
  }

  void update(Op& op) {
    // A buffer may have this name, too.
    if (in_.is("atomic") && !in_.is_at(1, "[")) {
      in_.next();
      op.atomic = true;
    }
    const bool tuple = in_.accept("(");
    do {
      Target target;
      target.buffer = in_.buffer();
      target.subscripts = in_.indices();
      if (target.subscripts.size() != target.buffer->extents.size())
        in_.fail(fmt::format("'{}' has {} dimensions, not {}", target.buffer->name,
                             target.buffer->extents.size(), target.subscripts.size()));
      op.targets.push_back(std::move(target));
    } while (tuple && in_.accept(","));
    if (tuple) in_.expect(")");
    for (const Combine combine :
         {Combine::Add, Combine::Mul, Combine::Min, Combine::Max, Combine::ArgMin, Combine::ArgMax})
      if (!op.combine && in_.accept(to_text(combine))) op.combine = combine;
    in_.expect("=");
    op.from_identity = op.combine && in_.accept("!");
    if (tuple) in_.expect("(");
    for (std::size_t i = 0; i < op.targets.size(); ++i) {
      if (i > 0) in_.expect(",");
      op.targets[i].value = in_.expr();
    }
    if (tuple) in_.expect(")");
  }

  Layout layout() {
    Layout layout;
    in_.expect("order");
    layout.order = int_list();
    in_.expect("vector");
    layout.vector_dim = static_cast<int>(in_.integer());
    in_.expect("lanes");
    layout.lanes = static_cast<int>(in_.integer());
    in_.expect("unroll");
    layout.unroll = int_list();
    if (in_.accept("group")) layout.group = static_cast<int>(in_.integer());
    layout.async = in_.accept("async");
    return layout;
  }

  std::vector<int> int_list() {
    std::vector<int> values;
    in_.expect("[");
    while (!in_.is("]")) {
      values.push_back(static_cast<int>(in_.integer()));
      if (!in_.accept(",")) break;
    }
    in_.expect("]");
    return values;
  }

  std::vector<kernel::Step> steps() {
    std::vector<kernel::Step> list;
    while (true) {
      if (in_.accept("launch")) {
        list.push_back({launch()});
      } else if (in_.accept("loop")) {
        list.push_back({launch_loop()});
      } else {
        return list;
      }
    }
  }

  kernel::Launch launch() {
    kernel::Launch launch;
    launch.kernel = static_cast<int>(in_.integer());
    in_.expect("(");
    while (!in_.is(")") && !in_.is(";")) {
      launch.arguments.push_back(static_cast<int>(in_.integer()));
      if (!in_.accept(",")) break;
    }
    if (in_.accept(";")) {
      do
        launch.ints.push_back(in_.expr());
      while (in_.accept(","));
    }
    in_.expect(")");
    return launch;
  }

  kernel::Loop launch_loop() {
    kernel::Loop loop;
    const std::string name = in_.name();
    in_.expect("in");
    loop.lo = in_.expr();
    in_.expect(":");
    loop.hi = in_.expr();
    const std::size_t scope = in_.mark();
    loop.counter = in_.define_var(name, Type{});
    in_.expect("{");
    loop.body = steps();
    in_.expect("}");
    in_.release(scope);
    return loop;
  }

  TextReader in_;
};

}  // namespace

Result<Program, kernel::ParseError> parse(std::string_view text) {
  try {
    Parser parser(text);
    try {
      return parser.program();
    } catch (const InternalError& error) {
      // A type error that a builder of expressions found.
      return kernel::ParseError{parser.place().line, parser.place().column, error.what()};
    }
  } catch (const kernel::ParseFailure& failure) {
    return failure.error;
  }
}

}  // namespace tc::tile
