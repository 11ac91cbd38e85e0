// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tc/kernel/parse.h"
#include "tc/support/check.h"

namespace tc::kernel {
namespace {

/// Statements up to the closing brace, which is left.
class StmtParser {
public:
  explicit StmtParser(TextReader& in) : in_(in) {}

  StmtPtr body() {
    const std::size_t scope = in_.mark();
    std::vector<StmtPtr> stmts;
    while (!in_.is("}")) {
      if (in_.at_end()) in_.fail("expected '}' before the end of the text");
      stmts.push_back(statement());
    }
    in_.release(scope);
    return block(std::move(stmts));
  }

private:
  StmtPtr braced() {
    in_.expect("{");
    StmtPtr stmt = body();
    in_.expect("}");
    return stmt;
  }

  StmtPtr statement() {
    if (auto text = in_.comment()) return make_stmt(Comment{std::move(*text)});
    if (in_.is("unrolled") && in_.is_at(1, "for")) {
      in_.next();
      in_.next();
      return loop(ForKind::Unrolled);
    }
    if (in_.accept("for")) return loop(ForKind::Serial);
    if (in_.accept("if")) return conditional();
    if (in_.accept("let")) {
      const std::string name = in_.name();
      in_.expect("=");
      ExprPtr value = in_.expr();
      const Type type = value->type;
      return make_stmt(Let{in_.define_var(name, type), std::move(value)});
    }
    if (in_.accept("register")) return declaration();
    if (in_.accept("alloc")) return make_stmt(Alloc{in_.define_buffer(Space::Local, -1)});
    if (in_.accept("atomic")) return atomic();
    if (in_.accept("barrier")) return make_stmt(Barrier{in_.name()});
    if (in_.accept("mma")) return make_stmt(in_.mma());
    if (in_.accept("copy")) return copy();
    if (in_.accept("await")) return make_stmt(in_.await());
    if (in_.accept("$")) {
      const int id = in_.reg().id;
      auto slot = in_.indices();
      if (slot.size() != 1) in_.fail("a register has one slot");
      in_.expect("=");
      return make_stmt(Assign{id, slot.front(), in_.expr()});
    }
    if (in_.accept("agreed")) return store(true);
    return store(false);
  }

  StmtPtr loop(ForKind kind) {
    const std::string name = in_.name();
    const Type type = in_.accept(":") ? in_.type() : Type{};
    in_.expect("in");
    ExprPtr lo = in_.expr();
    in_.expect(":");
    ExprPtr hi = in_.expr();
    const std::int64_t step = in_.accept("step") ? in_.integer() : 1;
    const std::size_t scope = in_.mark();
    const Var var = in_.define_var(name, type);
    StmtPtr inner = braced();
    in_.release(scope);
    return make_stmt(For{var, std::move(lo), std::move(hi), step, kind, std::move(inner)});
  }

  StmtPtr conditional() {
    ExprPtr condition = in_.expr();
    StmtPtr then_body = braced();
    StmtPtr else_body = in_.accept("else") ? braced() : nullptr;
    return make_stmt(If{std::move(condition), std::move(then_body), std::move(else_body)});
  }

  StmtPtr declaration() {
    const std::string name = in_.name();
    const Type type = in_.type();
    in_.expect("[");
    const auto count = static_cast<int>(in_.integer());
    in_.expect("]");
    ExprPtr init = in_.accept("=") ? in_.expr() : nullptr;
    const int id = in_.define_register(name, type);
    return make_stmt(Declare{id, TextReader::plain(name), type, count, std::move(init)});
  }

  StmtPtr atomic() {
    static constexpr std::pair<const char*, ReduceOp> kNames[] = {
        {"add", ReduceOp::Add}, {"mul", ReduceOp::Mul}, {"min", ReduceOp::Min},
        {"max", ReduceOp::Max}, {"and", ReduceOp::And}, {"or", ReduceOp::Or}};
    for (const auto& [text, op] : kNames) {
      if (!in_.accept(text)) continue;
      BufferPtr buffer = in_.buffer();
      auto indices = in_.indices();
      ExprPtr mask = in_.mask().first;
      in_.expect("=");
      return make_stmt(
          Atomic{op, std::move(buffer), std::move(indices), in_.expr(), std::move(mask)});
    }
    in_.fail(fmt::format("'{}' is no atomic operation", in_.peek().text));
  }

  StmtPtr copy() {
    Copy copy;
    copy.count = in_.integer();
    copy.to = in_.buffer();
    copy.to_indices = in_.indices();
    in_.expect("=");
    copy.from = in_.buffer();
    copy.from_indices = in_.indices();
    copy.predicate = in_.mask().first;
    return make_stmt(std::move(copy));
  }

  StmtPtr store(bool agreed) {
    if (in_.peek().kind != Token::Kind::Name || !in_.is_at(1, "["))
      in_.fail(fmt::format("expected a statement before '{}'", in_.peek().text));
    BufferPtr buffer = in_.buffer();
    auto indices = in_.indices();
    ExprPtr mask = in_.mask().first;
    in_.expect("=");
    return make_stmt(
        Store{std::move(buffer), std::move(indices), in_.expr(), std::move(mask), agreed});
  }

  TextReader& in_;
};

}  // namespace

Kernel read_kernel(TextReader& in) {
  const std::size_t scope = in.mark();
  Kernel kernel;
  in.expect("kernel");
  kernel.name = in.name();
  in.expect("{");
  while (true) {
    // A store to a buffer of one of these names starts with a bracket instead of a name.
    const bool definition = in.peek(1).kind == Token::Kind::Name;
    if (definition && in.accept("buffer")) {
      kernel.buffers.push_back(
          in.define_buffer(Space::Global, static_cast<int>(kernel.buffers.size())));
    } else if (definition && in.accept("int")) {
      kernel.int_params.push_back(in.define_var(in.name(), Type{}));
    } else if (definition && in.accept("grid")) {
      const std::string name = in.name();
      const std::int64_t extent = in.integer();
      kernel.grid.push_back({in.define_var(name, Type{}), extent});
    } else if (definition && in.accept("thread")) {
      const std::string name = in.name();
      const std::int64_t extent = in.integer();
      kernel.threads.push_back({in.define_var(name, Type{}), extent});
    } else {
      break;
    }
  }
  kernel.body = StmtParser(in).body();
  in.expect("}");
  in.release(scope);
  return kernel;
}

Result<Kernel, ParseError> parse(std::string_view text) {
  return read_text<Kernel>(text, [](TextReader& in) {
    Kernel kernel = read_kernel(in);
    if (!in.at_end()) in.fail(fmt::format("unexpected '{}'", in.peek().text));
    return kernel;
  });
}

}  // namespace tc::kernel
