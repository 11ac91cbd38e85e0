// SPDX-License-Identifier: Apache-2.0
#include "syntax_testing.h"

#include "tc/support/check.h"

namespace tc::lang {
namespace {

/// The tree in prefix form: "(+ a (* b c))".
std::string tree(const ast::Expr& expr);

std::string tree_of(const std::string& head, const std::vector<ast::ExprPtr>& args) {
  std::string text = "(" + head;
  for (const ast::ExprPtr& arg : args)
    text += " " + tree(*arg);
  return text + ")";
}

std::string tree(const ast::Expr& expr) {
  static const char* const kOps[] = {"+",  "-",  "*",  "/",  "%",  "<", ">",
                                     "<=", ">=", "==", "!=", "&&", "||"};
  return std::visit(
      Overloaded{
          [](const ast::Literal& n) { return n.spelling; },
          [](const ast::Name& n) { return n.name; },
          [](const ast::DimRead& n) { return n.tensor.name + "." + std::to_string(n.dim); },
          [](const ast::Apply& n) {
            return tree_of((n.cast_to ? "cast:" : "") + n.callee.name, n.args);
          },
          [](const ast::Unary& n) {
            return tree_of(n.op == ast::UnaryOp::Negate ? "neg" : "not", {n.operand});
          },
          [](const ast::Binary& n) {
            return tree_of(kOps[static_cast<int>(n.op)], {n.left, n.right});
          },
          [](const ast::Ternary& n) { return tree_of("?", {n.condition, n.if_true, n.if_false}); },
          [](const ast::MinMax& n) { return tree_of(n.is_max ? "max" : "min", n.args); },
          [](const ast::Pad& n) { return tree_of("pad", {n.read, n.value}); },
      },
      expr.node);
}

TEST(Parser, Precedence) {
  struct Case {
    const char* text;
    const char* tree;
  };
  const Case cases[] = {
      {"a+b*c", "(+ a (* b c))"},
      {"a*b+c", "(+ (* a b) c)"},
      {"a-b-c", "(- (- a b) c)"},
      {"a/b*c%d", "(% (* (/ a b) c) d)"},
      {"a-(b-c)", "(- a (- b c))"},
      {"a<b==c>=d", "(>= (== (< a b) c) d)"},
      {"a<b+c", "(< a (+ b c))"},
      {"a||b&&c||d", "(|| (|| a (&& b c)) d)"},
      {"a&&b<c", "(&& a (< b c))"},
      {"!a&&b", "(&& (not a) b)"},
      {"-a*b", "(* (neg a) b)"},
      {"a*-b", "(* a (neg b))"},
      {"- -a", "(neg (neg a))"},
      {"!-!a", "(not (neg (not a)))"},
      {"a?b:c?d:e", "(? a b (? c d e))"},
      {"a?b?c:d:e", "(? a (? b c d) e)"},
      {"(a?b:c)?d:e", "(? (? a b c) d e)"},
      {"a||b?c+1:d", "(? (|| a b) (+ c 1) d)"},
      {"-A.1+.5", "(+ (neg A.1) .5)"},
      {"f()", "(f)"},
      {"f(a,b+1)", "(f a (+ b 1))"},
      {"float(a)", "(cast:float a)"},
      {"min(a,b,c)*max(1,2)", "(* (min a b c) (max 1 2))"},
      {"pad(x(i-1), 0)", "(pad (x (- i 1)) 0)"},
      {"pad((x(i)), a?b:c)", "(pad (x i) (? a b c))"},
      {"inf-nan", "(- inf nan)"},
      {"true&&false", "(&& true false)"},
      {"((((a))))", "a"},
  };
  for (const Case& c : cases) {
    const ast::ExprPtr expr = expression(c.text);
    ASSERT_NE(expr, nullptr) << c.text;
    EXPECT_EQ(tree(*expr), c.tree) << c.text;
  }
}

TEST(Parser, StatementsNeedNoSeparator) {
  for (const char* text :
       {"a = b c = d", "a = b; c = d", ";; a = b ;; c = d ;;", "a = b\nc = d", "a = b;c = d;"})
    EXPECT_EQ(in_def(text).defs[0].body.size(), 2u) << text;
  EXPECT_EQ(in_def("a(i) = b where i in 0:3 c = d").defs[0].body.size(), 2u);
  EXPECT_EQ(in_def("a(i) = b where i in 0:n x, y = f(a)").defs[0].body.size(), 2u);
  EXPECT_EQ(in_def("a(i) = b where i < n x, y = f(a)").defs[0].body.size(), 2u);
  EXPECT_EQ(in_def("for i in 0:3 { a = b }; c = d").defs[0].body.size(), 2u);
}

TEST(Parser, DumpShowsTheWholeTree) {
  EXPECT_EQ(
      dump(program(
          "def f(const float c, half(N,2*N) A) -> (B, int32(N) C) {\n"
          "  B(i) +=! A(i,A.1) <=> g(A) where i in 0:N, x = 1, exists A(i,0), i < 3 || !true\n"
          "  C, D = f(c, -.5)\n"
          "  for t in 0:T { s argmin=! min(a, b) ? float(a) : pad(x(i), 0) }\n"
          "}")),
      R"(Program
  Def f
    Param const c
      Type float32
    Param A
      Type float16
        Name N
        Mul
          Literal 2
          Name N
    Return B
    Return C
      Type int32
        Name N
    Comprehension +=!
      Lhs B ()
        Name i
      Apply A
        Name i
        DimRead A 1
      Equivalent g
        Name A
      Range i
        Literal 0
        Name N
      Let x
        Literal 1
      Exists
        Apply A
          Name i
          Literal 0
      Condition
        Or
          Lt
            Name i
            Literal 3
          Not
            Literal true
    Call f
      Result C
      Result D
      Name c
      Negate
        Literal .5
    For t
      Literal 0
      Name T
      Comprehension argmin=!
        Lhs s
        Ternary
          Min
            Name a
            Name b
          Cast float32
            Name a
          Pad
            Apply x
              Name i
            Literal 0
)");
}

TEST(Parser, ClausesAreToldApartByTheirSecondToken) {
  const ast::Program parsed = in_def("a(i) = b where i in 0:n, x = i, x == i, exists i, i");
  const auto& where = std::get<ast::Comprehension>(parsed.defs[0].body[0].node).where;
  ASSERT_EQ(where.size(), 5u);
  EXPECT_TRUE(std::holds_alternative<ast::RangeClause>(where[0].node));
  EXPECT_TRUE(std::holds_alternative<ast::LetClause>(where[1].node));
  EXPECT_TRUE(std::holds_alternative<ast::ConditionClause>(where[2].node));
  EXPECT_TRUE(std::holds_alternative<ast::ExistsClause>(where[3].node));
  EXPECT_TRUE(std::holds_alternative<ast::ConditionClause>(where[4].node));
}

TEST(Parser, LeftSidesWithAndWithoutParentheses) {
  const ast::Program parsed = in_def("a = 1 b() = 1 c(H(i)+1, 0) += 1");
  const auto lhs = [&](std::size_t i) {
    return std::get<ast::Comprehension>(parsed.defs[0].body[i].node).lhs;
  };
  EXPECT_FALSE(lhs(0).has_parentheses);
  EXPECT_TRUE(lhs(1).has_parentheses);
  EXPECT_TRUE(lhs(1).subscripts.empty());
  EXPECT_EQ(lhs(2).subscripts.size(), 2u);
}

TEST(Parser, EveryAssignment) {
  struct Case {
    const char* text;
    ast::AssignOp op;
    bool init;
  };
  using enum ast::AssignOp;
  for (const Case& c : {Case{"=", Assign, false},
                        {"+=", Add, false},
                        {"+=!", Add, true},
                        {"*=", Mul, false},
                        {"*=!", Mul, true},
                        {"min=", Min, false},
                        {"min=!", Min, true},
                        {"max=", Max, false},
                        {"max=!", Max, true},
                        {"argmin=!", ArgMin, true},
                        {"argmax=!", ArgMax, true}}) {
    const ast::Program parsed = in_def(std::string("a ") + c.text + " b");
    const auto& statement = std::get<ast::Comprehension>(parsed.defs[0].body[0].node);
    EXPECT_EQ(statement.op, c.op) << c.text;
    EXPECT_EQ(statement.init, c.init) << c.text;
  }
}

TEST(Parser, DefsMayCarryAnyIdentifier) {
  for (const char* name : {"main", "__global__", "kernel", "int", "class", "return", "f_1", "exp"})
    EXPECT_EQ(program(std::string("def ") + name + "() -> () {}").defs[0].name.name, name);
}

TEST(Parser, SingleResultCallsAreComprehensions) {
  const ast::Program parsed = in_def("y = f(x, 3) a, b = f(x)");
  EXPECT_TRUE(std::holds_alternative<ast::Comprehension>(parsed.defs[0].body[0].node));
  EXPECT_TRUE(std::holds_alternative<ast::CallStmt>(parsed.defs[0].body[1].node));
}

TEST(Parser, RangesCoverWhatWasWritten) {
  const std::string text = "def f(float(N) A) -> (B) { B(i) = (A(i) + 1) * 2 where i in 0:N }";
  const SourceBuffer source("t", text);
  const ast::Program parsed = program(text);
  const ast::Def& def = parsed.defs[0];
  EXPECT_EQ(source.text(def.range), text);
  EXPECT_EQ(source.text(def.params[0].range), "float(N) A");
  EXPECT_EQ(source.text(def.params[0].type.range), "float(N)");
  EXPECT_EQ(source.text(def.body[0].range), "B(i) = (A(i) + 1) * 2 where i in 0:N");
  const auto& statement = std::get<ast::Comprehension>(def.body[0].node);
  EXPECT_EQ(source.text(statement.lhs.range), "B(i)");
  EXPECT_EQ(source.text(statement.op_range), "=");
  EXPECT_EQ(source.text(statement.value->range), "(A(i) + 1) * 2");
  const auto& product = std::get<ast::Binary>(statement.value->node);
  EXPECT_EQ(source.text(product.op_range), "*");
  EXPECT_EQ(source.text(product.left->range), "A(i) + 1");
  EXPECT_EQ(source.text(statement.where[0].range), "i in 0:N");
}

TEST(Equality, IgnoresLayoutAndSpellingOfTypesAndIntegers) {
  const ast::Program base = program("def f(float(N) A) -> (B) { B(i) = float(A(i)) + 16 }");
  EXPECT_TRUE(equal(base, program("def f(float32(N) A)->(B){B(i)=(float32(A(i))+0x10);} # c")));
  for (const char* other : {"def g(float(N) A) -> (B) { B(i) = float(A(i)) + 16 }",
                            "def f(half(N) A) -> (B) { B(i) = float(A(i)) + 16 }",
                            "def f(float(M) A) -> (B) { B(i) = float(A(i)) + 16 }",
                            "def f(float(N) A) -> (C) { B(i) = float(A(i)) + 16 }",
                            "def f(float(N) A) -> (B) { B(i) += float(A(i)) + 16 }",
                            "def f(float(N) A) -> (B) { B(i) = float(A(i)) + 17 }",
                            "def f(float(N) A) -> (B) { B(i) = float(A(i)) - 16 }",
                            "def f(float(N) A) -> (B) { B(i) = half(A(i)) + 16 }",
                            "def f(float(N) A) -> (B) { B(i) = float(A(i)) + 16. }",
                            "def f(float(N) A) -> (B) { B(i) = float(A(i)) + 16 where i in 0:N }",
                            "def f(float(N) A) -> (float(N) B) { B(i) = float(A(i)) + 16 }",
                            "def f(const float A) -> (B) { B(i) = float(A(i)) + 16 }", ""})
    EXPECT_FALSE(equal(base, program(other))) << other;
}

}  // namespace
}  // namespace tc::lang
