// SPDX-License-Identifier: Apache-2.0
#include "tc/kernel/text.h"

#include <cctype>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "tc/support/check.h"

namespace tc::kernel {
namespace {

/// Operators of one level of precedence, loosest level first.
const std::vector<std::vector<std::pair<const char*, BinaryOp>>>& operator_levels() {
  static const std::vector<std::vector<std::pair<const char*, BinaryOp>>> kLevels = {
      {{"||", BinaryOp::Or}},
      {{"&&", BinaryOp::And}},
      {{"<", BinaryOp::Lt},
       {"<=", BinaryOp::Le},
       {">", BinaryOp::Gt},
       {">=", BinaryOp::Ge},
       {"==", BinaryOp::Eq},
       {"!=", BinaryOp::Ne}},
      {{"+", BinaryOp::Add}, {"-", BinaryOp::Sub}},
      {{"*", BinaryOp::Mul}, {"/", BinaryOp::FloorDiv}, {"%", BinaryOp::FloorMod}},
  };
  return kLevels;
}

/// "reduce_add" and the like.
std::optional<ReduceOp> reduction(const std::string& name, std::string_view prefix) {
  static constexpr std::pair<const char*, ReduceOp> kNames[] = {
      {"add", ReduceOp::Add}, {"mul", ReduceOp::Mul}, {"min", ReduceOp::Min},
      {"max", ReduceOp::Max}, {"and", ReduceOp::And}, {"or", ReduceOp::Or}};
  for (const auto& [text, op] : kNames)
    if (name == std::string(prefix) + text) return op;
  return std::nullopt;
}

}  // namespace

TextReader::TextReader(std::string_view text) : tokens_(tokenize(text)) {}

const Token& TextReader::peek(int ahead) const {
  const std::size_t index = position_ + static_cast<std::size_t>(ahead);
  return index < tokens_.size() ? tokens_[index] : tokens_.back();
}

Token TextReader::next() {
  Token token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool TextReader::is_at(int ahead, std::string_view text) const {
  const Token& token = peek(ahead);
  return (token.kind == Token::Kind::Punct || token.kind == Token::Kind::Name) &&
         token.text == text;
}

bool TextReader::accept(std::string_view text) {
  if (!is(text)) return false;
  next();
  return true;
}

void TextReader::expect(std::string_view text) {
  if (!accept(text)) fail(fmt::format("expected '{}' before '{}'", text, peek().text));
}

std::optional<std::string> TextReader::comment() {
  if (peek().kind != Token::Kind::Comment) return std::nullopt;
  std::string text = next().text.substr(1);
  if (!text.empty() && text.front() == ' ') text.erase(0, 1);
  return text;
}

std::string TextReader::name() {
  if (peek().kind != Token::Kind::Name)
    fail(fmt::format("expected a name before '{}'", peek().text));
  return next().text;
}

std::int64_t TextReader::integer() {
  const bool negative = accept("-");
  if (peek().kind != Token::Kind::Int)
    fail(fmt::format("expected an integer before '{}'", peek().text));
  errno = 0;
  char* end = nullptr;
  const std::string text = (negative ? "-" : "") + next().text;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (errno != 0 || *end != '\0') fail(fmt::format("'{}' is not a plain integer", text));
  return value;
}

void TextReader::fail(const std::string& message) const {
  throw ParseFailure{{peek().line, peek().column, message}};
}

std::string TextReader::plain(const std::string& text_name) {
  return text_name.substr(0, text_name.find('.'));
}

Type TextReader::type() {
  const std::string text = peek().text;
  Type result;
  const std::size_t cut = text.rfind('x');
  if (const auto elem = dtype_from_name(text)) {
    result = {*elem, 1};
  } else if (cut != std::string::npos) {
    const auto vector = dtype_from_name(std::string_view(text).substr(0, cut));
    result = {vector.value_or(DType::Int64), vector ? std::atoi(text.c_str() + cut + 1) : 0};
  } else {
    result.lanes = 0;
  }
  if (result.lanes < 1) fail(fmt::format("'{}' is not a type", text));
  next();
  return result;
}

const TextReader::Definition* TextReader::find(Definition::Kind kind,
                                               const std::string& name) const {
  for (std::size_t i = defined_.size(); i-- > 0;)
    if (defined_[i].kind == kind && defined_[i].name == name) return &defined_[i];
  return nullptr;
}

void TextReader::release(std::size_t mark) {
  defined_.erase(defined_.begin() + static_cast<std::ptrdiff_t>(mark), defined_.end());
}

Var TextReader::define_var(const std::string& text_name, Type type) {
  Var var{next_var_++, plain(text_name), type};
  defined_.push_back({text_name, Definition::Kind::Var, var, nullptr, {}});
  return var;
}

int TextReader::define_register(const std::string& text_name, Type type) {
  const int id = next_register_++;
  defined_.push_back(
      {text_name, Definition::Kind::Register, {}, nullptr, Register{id, plain(text_name), type}});
  return id;
}

std::vector<std::int64_t> TextReader::integer_list() {
  std::vector<std::int64_t> values;
  expect("[");
  while (!is("]")) {
    values.push_back(integer());
    if (!accept(",")) break;
  }
  expect("]");
  return values;
}

BufferPtr TextReader::define_buffer(Space default_space, int argument) {
  auto buffer = std::make_shared<Buffer>();
  const std::string text_name = name();
  buffer->id = next_buffer_++;
  buffer->name = plain(text_name);
  buffer->type = type().elem;
  buffer->extents = integer_list();
  buffer->strides = accept("strides") ? integer_list() : contiguous_strides(buffer->extents);
  buffer->alignment = accept("align") ? integer() : (bits(buffer->type) + 7) / 8;
  buffer->space = default_space;
  if (accept("global")) buffer->space = Space::Global;
  if (accept("scratch")) buffer->space = Space::Scratch;
  if (accept("local")) buffer->space = Space::Local;
  if (accept("registers")) buffer->space = Space::Register;
  if (accept("shared")) buffer->space = Space::Shared;
  buffer->writable = accept("writable");
  buffer->swizzled = accept("swizzled");
  buffer->argument = accept("argument") ? static_cast<int>(integer()) : argument;
  defined_.push_back({text_name, Definition::Kind::Buffer, {}, buffer, {}});
  return buffer;
}

BufferPtr TextReader::buffer() {
  const Definition* found = find(Definition::Kind::Buffer, peek().text);
  if (!found) fail(fmt::format("unknown buffer '{}'", peek().text));
  next();
  return found->buffer;
}

const TextReader::Register& TextReader::reg() {
  const Definition* found = find(Definition::Kind::Register, peek().text);
  if (!found) fail(fmt::format("unknown register '{}'", peek().text));
  next();
  return found->reg;
}

std::vector<ExprPtr> TextReader::indices() {
  std::vector<ExprPtr> list;
  expect("[");
  while (!is("]")) {
    list.push_back(expr());
    if (!accept(",")) break;
  }
  expect("]");
  return list;
}

Mma TextReader::mma() {
  const auto number = [&](std::string_view word) {
    expect(word);
    return integer();
  };
  const auto panel = [&](std::string_view word) {
    expect(word);
    MmaPanel result;
    result.buffer = buffer();
    result.corner = indices();
    result.k_inner = accept("k_inner");
    if (!result.k_inner) expect("kept_inner");
    result.along_k = integer();
    result.along_kept = integer();
    return result;
  };
  Mma result;
  result.accumulator = buffer();
  result.first = indices();
  result.blocks = number("blocks");
  result.block_distance = number("apart");
  result.width = number("width");
  result.depth = number("depth");
  result.rows = panel("rows");
  result.columns = panel("columns");
  return result;
}

Await TextReader::await() {
  const Awaited what = accept("products") ? Awaited::Products : Awaited::Copies;
  if (what == Awaited::Copies) expect("copies");
  return {what, integer()};
}

std::pair<ExprPtr, ExprPtr> TextReader::mask() {
  if (!accept("?")) return {nullptr, nullptr};
  expect("(");
  ExprPtr mask = expr();
  ExprPtr otherwise = accept(",") ? expr() : nullptr;
  expect(")");
  return {std::move(mask), std::move(otherwise)};
}

ExprPtr TextReader::binary_level(int level) {
  const auto& levels = operator_levels();
  if (level == static_cast<int>(levels.size())) return operand();
  ExprPtr left = binary_level(level + 1);
  while (true) {
    const std::pair<const char*, BinaryOp>* found = nullptr;
    for (const auto& entry : levels[static_cast<std::size_t>(level)])
      if (is(entry.first)) found = &entry;
    if (!found) return left;
    next();
    ExprPtr right = binary_level(level + 1);
    BinaryOp op = found->second;
    if (op == BinaryOp::FloorDiv && is_float(left->type.elem)) op = BinaryOp::Div;
    left = binary(op, std::move(left), std::move(right));
  }
}

ExprPtr TextReader::operand() {
  if (accept("!")) return unary(UnaryOp::Not, operand());
  if (!is("-")) return primary();
  const Token& after = peek(1);
  const bool number = after.kind == Token::Kind::Int || after.kind == Token::Kind::Float ||
                      is_at(1, "inf") || is_at(1, "inff");
  next();
  return number ? literal(true) : unary(UnaryOp::Negate, operand());
}

ExprPtr TextReader::literal(bool negative) {
  const Token token = next();
  const char* begin = token.text.c_str();
  char* end = nullptr;
  if (token.kind == Token::Kind::Float || token.text.rfind("inf", 0) == 0) {
    const bool single = token.text.back() == 'f' && token.text != "inf";
    if (token.text.rfind("inf", 0) == 0) {
      const double infinity = std::numeric_limits<double>::infinity();
      return float_imm(negative ? -infinity : infinity, single ? DType::Float32 : DType::Float64);
    }
    // A float32 literal is rounded once, from its text.
    const double value = single ? std::strtof(begin, &end) : std::strtod(begin, &end);
    const std::string_view rest(end);
    if (!(rest.empty() || rest == "f")) fail(fmt::format("'{}' is not a number", token.text));
    return float_imm(negative ? -value : value, single ? DType::Float32 : DType::Float64);
  }
  errno = 0;
  const auto magnitude = static_cast<std::uint64_t>(std::strtoull(begin, &end, 10));
  if (errno != 0) fail(fmt::format("'{}' is too large", token.text));
  const auto value = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  const std::string_view suffix(end);
  if (suffix.empty()) return int_imm(value);
  if (suffix == "i32") return int_imm(value, DType::Int32);
  if (suffix == "u32") return int_imm(value, DType::UInt32);
  if (suffix == "u64") return int_imm(value, DType::UInt64);
  fail(fmt::format("'{}' is not a number", token.text));
}

ExprPtr TextReader::primary() {
  const Token& token = peek();
  if (token.kind == Token::Kind::Int || token.kind == Token::Kind::Float) return literal(false);
  if (accept("(")) {
    ExprPtr inner = expr();
    expect(")");
    return inner;
  }
  if (accept("$")) {
    const Register found = reg();
    auto slot = indices();
    if (slot.size() != 1) fail("a register has one slot");
    return reg_ref(found.id, slot.front(), found.type);
  }
  if (token.kind != Token::Kind::Name) fail(fmt::format("unexpected '{}'", token.text));
  if (is("inf") || is("inff")) return literal(false);
  if (accept("nan")) return float_imm(std::numeric_limits<double>::quiet_NaN(), DType::Float64);
  if (accept("nanf")) return float_imm(std::numeric_limits<double>::quiet_NaN(), DType::Float32);
  if (accept("true")) return bool_imm(true);
  if (accept("false")) return bool_imm(false);
  if (is_at(1, "[")) {
    BufferPtr memory = buffer();
    auto subscripts = indices();
    if (subscripts.size() != memory->extents.size())
      fail(fmt::format("'{}' has {} dimensions, not {}", memory->name, memory->extents.size(),
                       subscripts.size()));
    auto guard = mask();
    return load(std::move(memory), std::move(subscripts), std::move(guard.first),
                std::move(guard.second));
  }
  const bool typed_call =
      is_at(1, "<") && peek(2).kind == Token::Kind::Name && is_at(3, ">") && is_at(4, "(");
  if (is_at(1, "(") || typed_call) return function(next().text);
  const Definition* found = find(Definition::Kind::Var, token.text);
  if (!found) fail(fmt::format("unknown variable '{}'", token.text));
  next();
  return var_ref(found->var);
}

std::vector<ExprPtr> TextReader::arguments() {
  std::vector<ExprPtr> args;
  expect("(");
  while (!is(")")) {
    args.push_back(expr());
    if (!accept(",")) break;
  }
  expect(")");
  return args;
}

ExprPtr TextReader::function(const std::string& name) {
  std::optional<DType> result;
  if (accept("<")) {
    result = type().elem;
    expect(">");
  }
  const std::vector<ExprPtr> args = arguments();
  const auto arity = [&](std::size_t count) {
    if (args.size() != count) fail(fmt::format("'{}' has {} arguments", name, count));
  };
  const auto constant = [&](std::size_t i) {
    const auto* imm = std::get_if<IntImm>(&args[i]->node);
    if (!imm) fail(fmt::format("argument {} of '{}' is a constant", i + 1, name));
    return imm->value;
  };
  if (!result) {
    if (name == "min" || name == "max") {
      arity(2);
      return binary(name == "min" ? BinaryOp::Min : BinaryOp::Max, args[0], args[1]);
    }
    if (name == "select") {
      arity(3);
      return select(args[0], args[1], args[2]);
    }
    if (name == "ramp") {
      arity(3);
      return ramp(args[0], constant(1), static_cast<int>(constant(2)));
    }
    if (name == "broadcast") {
      arity(2);
      return broadcast(args[0], static_cast<int>(constant(1)));
    }
    if (name == "lane") {
      arity(2);
      return lane(args[0], static_cast<int>(constant(1)));
    }
    if (name == "shuffle") {
      arity(3);
      return shuffle(args[0], static_cast<int>(constant(1)), static_cast<int>(constant(2)));
    }
    if (const auto op = reduction(name, "reduce_")) {
      arity(1);
      return reduce(*op, args[0]);
    }
    if (const auto to = dtype_from_name(name)) {
      arity(1);
      return cast(*to, args[0]);
    }
  }
  if (args.empty()) fail(fmt::format("'{}' has no arguments", name));
  return call(name, args, result ? *result : args.front()->type.elem);
}

}  // namespace tc::kernel
