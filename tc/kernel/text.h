// SPDX-License-Identifier: Apache-2.0
//
// Building blocks of kernel texts: names, tokens, and a parser for expressions in a scope. Also for
// rooms whose own texts contain kernel expressions (the tile program).
//
//   expression   precedence, loosest first:  ||   &&   < <= > >= == !=   + -   * / %   ! -
//   (left-associative) literals     5 (int64)  5i32  5u32  5u64  true  false  1.5 (float64)  1.5f
//   (float32)  inf nan inff nanf memory       A[i, j]    A[i, j]?(mask)    A[i, j]?(mask,
//   otherwise)         registers  $acc[3] others       min(a, b) max(a, b) select(c, a, b)
//   ramp(base, stride, lanes) broadcast(value, lanes) lane(vector, n)
//                reduce_add(vector) ...   int8(x) a cast   exp(x) a builtin   isnan<bool>(x) one
//                whose type is not its argument's
//
// `/` and `%` are FloorDiv and FloorMod of integers, `/` is Div of floats. `// ...` is skipped; `#
// ...` is a Comment statement.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tc/kernel/ir.h"
#include "tc/kernel/passes.h"

namespace tc::kernel {

/// Text names by id: the name itself, with ".1", ".2", ... where different ids share one. Names are
/// given in the order of the calls, so a text that is read and printed again keeps them.
class Names {
public:
  const std::string& var(const Var& var);
  const std::string& buffer(const Buffer& buffer);
  const std::string& reg(int id, const std::string& name);

private:
  struct Table {
    std::map<int, std::string> by_id;
    std::set<std::string> used;
    const std::string& get(int id, const std::string& wish);
  };
  Table vars_, buffers_, registers_;
};

std::string print(const ExprPtr& expr, Names& names);
/// "float32", "float32x8".
std::string to_text(Type type);
/// Loads, stores: `A[i, j]`.
std::string print_access(const Buffer& buffer, const std::vector<ExprPtr>& indices, Names& names);
/// A product on tensor cores as one line.
std::string print(const Mma& mma, Names& names);
std::string print(const Await& await);
/// `A float32[4, 5] strides [1, 4] align 64 writable`, without what has its default value (`space`,
/// contiguous strides).
std::string print_buffer(const Buffer& buffer, Space default_space, Names& names);

/// Thrown inside parsers of this room's text family; parse() functions turn it into a ParseError
/// result.
struct ParseFailure {
  ParseError error;
};

struct Token {
  enum class Kind { Name, Int, Float, Punct, Comment, End } kind = Kind::End;
  std::string text;
  int line = 1;
  int column = 1;
};
/// Throws ParseFailure at a character that starts no token.
std::vector<Token> tokenize(std::string_view text);

/// Recursive descent over tokens with the names in scope. Later definitions hide earlier ones.
/// Throws ParseFailure.
class TextReader {
public:
  explicit TextReader(std::string_view text);

  // tokens
  const Token& peek(int ahead = 0) const;
  Token next();
  bool is(std::string_view punct_or_name) const { return is_at(0, punct_or_name); }
  bool is_at(int ahead, std::string_view punct_or_name) const;
  bool accept(std::string_view punct_or_name);
  void expect(std::string_view punct_or_name);
  bool at_end() const { return peek().kind == Token::Kind::End; }
  std::optional<std::string> comment();  ///< the words of a `# ...` that comes next
  std::string name();
  std::int64_t integer();  ///< optional minus sign
  [[noreturn]] void fail(const std::string& message) const;

  // definitions; ids are fresh
  Var define_var(const std::string& text_name, Type type);
  BufferPtr define_buffer(Space default_space, int argument);  ///< reads what print_buffer() writes
  int define_register(const std::string& text_name, Type type);
  Type type();

  // uses
  ExprPtr expr() { return binary_level(0); }
  BufferPtr buffer();
  std::vector<ExprPtr> indices();
  /// What print(Mma) writes behind its first word.
  Mma mma();
  /// What print(Await) writes behind its first word.
  Await await();
  /// Mask and replacement after an access; null if absent.
  std::pair<ExprPtr, ExprPtr> mask();
  struct Register {
    int id;
    std::string name;
    Type type;
  };
  const Register& reg();  ///< after '$'

  /// Scopes of variables, registers and buffers: what is defined after mark() goes at release().
  std::size_t mark() const { return defined_.size(); }
  void release(std::size_t mark);

  /// The part of a text name before its number: the name of the thing.
  static std::string plain(const std::string& text_name);

private:
  struct Definition {
    std::string name;
    enum class Kind { Var, Buffer, Register } kind;
    Var var;
    BufferPtr buffer;
    Register reg;
  };
  const Definition* find(Definition::Kind kind, const std::string& name) const;
  ExprPtr binary_level(int level);
  ExprPtr operand();
  ExprPtr primary();
  ExprPtr literal(bool negative);
  ExprPtr function(const std::string& name);
  std::vector<ExprPtr> arguments();
  std::vector<std::int64_t> integer_list();

  std::vector<Token> tokens_;
  std::size_t position_ = 0;
  std::vector<Definition> defined_;
  int next_var_ = 0;
  int next_buffer_ = 0;
  int next_register_ = 0;
};

}  // namespace tc::kernel
