// SPDX-License-Identifier: Apache-2.0
//
// Range inference and proofs against enumeration: random small programs, every point visited.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <unordered_map>

#include "helpers.h"
#include "tc/lang/ranges_access.h"
#include "tc/lang/specialise_boxes.h"

namespace tc::lang::testing {
namespace {

using Element = std::vector<std::int64_t>;
using Point = std::vector<std::int64_t>;

/// Executes a specialised def on sets of written elements and notes every violation by its code.
class Enumeration {
public:
  explicit Enumeration(const TypedDef& def) : def_(def), written_(def.tensors.size()) {}

  std::set<std::string> run() {
    nodes(def_.body);
    for (const TensorId id : def_.outputs) {
      const Tensor& tensor = at(id);
      if (tensor.is_param) continue;
      for (const Element& element : box(tensor))
        if (!written(id).count(element)) codes_.insert("E0413");
    }
    return codes_;
  }
  /// Outputs onto whose unwritten elements something accumulated.
  const std::set<TensorId>& initial() const { return initial_; }

private:
  const Tensor& at(TensorId id) const { return def_.tensors[static_cast<std::size_t>(id)]; }
  std::set<Element>& written(TensorId id) { return written_[static_cast<std::size_t>(id)]; }

  static std::vector<Element> box(const Tensor& tensor) {
    std::vector<Element> all{{}};
    for (std::size_t d = 0; d < tensor.extent.size(); ++d) {
      std::vector<Element> next;
      const std::int64_t begin = *evaluate(tensor.begin[d], {});
      for (const Element& prefix : all)
        for (std::int64_t k = 0; k < *evaluate(tensor.extent[d], {}); ++k) {
          next.push_back(prefix);
          next.back().push_back(begin + k);
        }
      all = next;
    }
    return all;
  }

  bool inside(TensorId id, const Element& element) const {
    for (std::size_t d = 0; d < element.size(); ++d) {
      const std::int64_t begin = *evaluate(at(id).begin[d], {});
      if (element[d] < begin || element[d] >= begin + *evaluate(at(id).extent[d], {})) return false;
    }
    return true;
  }

  void nodes(const std::vector<Node>& body) {
    for (const Node& node : body) {
      if (const auto* one = std::get_if<Statement>(&node)) {
        statement(*one);
        continue;
      }
      const ForLoop& loop = *std::get<std::shared_ptr<const ForLoop>>(node);
      const std::int64_t lo = *value(loop.lo, nullptr);
      const std::int64_t hi = *value(loop.hi, nullptr);
      for (std::int64_t t = lo; t < hi; ++t) {
        loops_[loop.var] = t;
        nodes(loop.body);
      }
      loops_.erase(loop.var);
    }
  }

  std::optional<std::int64_t> value(const ExprPtr& expr, const Point* point) const {
    IntEnv env;
    env.indices = point;
    env.for_vars = &loops_;
    return evaluate(expr, env);
  }

  /// Whether a condition can have a value when its data-dependent parts can have any.
  bool may(const ExprPtr& condition, bool wanted, const Point& point) const {
    if (const auto* node = std::get_if<Unary>(&condition->node))
      return may(node->operand, !wanted, point);
    const auto* node = std::get_if<Binary>(&condition->node);
    if (node && (node->op == BinaryOp::And || node->op == BinaryOp::Or)) {
      const bool left = may(node->left, wanted, point);
      const bool right = may(node->right, wanted, point);
      return (node->op == BinaryOp::And) == wanted ? left && right : left || right;
    }
    const auto known = value(condition, &point);
    return !known || (*known != 0) == wanted;
  }

  /// All points over some indices, the others 0; bounds that mention other indices come later.
  std::vector<Point> points(const Statement& statement, const std::vector<bool>& chosen,
                            const std::vector<ExprPtr>& conditions) const {
    std::vector<Point> all{Point(statement.indices.size(), 0)};
    std::vector<bool> done(statement.indices.size(), false);
    for (std::size_t round = 0; round < statement.indices.size(); ++round) {
      for (std::size_t k = 0; k < statement.indices.size(); ++k) {
        if (done[k] || !chosen[k] || !ready(statement, k, done)) continue;
        done[k] = true;
        std::vector<Point> next;
        for (const Point& point : all) {
          const std::int64_t lo = *value(statement.indices[k].lo, &point);
          const std::int64_t hi = *value(statement.indices[k].hi, &point);
          for (std::int64_t v = lo; v < hi; ++v) {
            next.push_back(point);
            next.back()[k] = v;
          }
        }
        all = next;
      }
    }
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const Point& point) {
                               return std::any_of(
                                   conditions.begin(), conditions.end(),
                                   [&](const ExprPtr& c) { return *value(c, &point) == 0; });
                             }),
              all.end());
    return all;
  }

  static bool ready(const Statement& statement, std::size_t k, const std::vector<bool>& done) {
    bool good = true;
    for (const ExprPtr& end : {statement.indices[k].lo, statement.indices[k].hi})
      walk(end, [&](const Expr& node) {
        const auto* ref = std::get_if<IndexRef>(&node.node);
        if (ref) good = good && done[static_cast<std::size_t>(ref->index)];
      });
    return good;
  }

  Element element(const std::vector<ExprPtr>& subscripts, const Point& point) const {
    Element out;
    for (const ExprPtr& subscript : subscripts)
      out.push_back(*value(subscript, &point));
    return out;
  }

  void statement(const Statement& s) {
    const std::vector<Point> full =
        points(s, std::vector<bool>(s.indices.size(), true), s.conditions);
    const std::vector<Point> left = points(s, left_indices(s), left_conditions(s));
    std::map<Element, Point> targets;
    for (const Point& point : left) {
      const Element target = element(s.subscripts, point);
      if (!inside(s.tensor, target)) codes_.insert("E0411");
      const bool fresh = targets.emplace(target, point).second;
      if (!fresh && !s.op && inside(s.tensor, target)) codes_.insert("E0414");
    }
    const Accesses accesses = collect_accesses(s);
    for (const Access& access : accesses.list)
      if (access.kind == Access::Kind::Read)
        for (const Point& point : full)
          read(s, accesses, access, point, targets);
    if (s.op && !s.init && !at(s.tensor).is_param)
      for (const auto& [target, point] : targets) {
        if (written(s.tensor).count(target)) continue;
        if (at(s.tensor).is_output) initial_.insert(s.tensor);
        if (!at(s.tensor).is_output) codes_.insert("E0418");
      }
    const bool extremum = s.op && s.init && *s.op != ReduceOp::Add && *s.op != ReduceOp::Mul;
    if (extremum) {
      std::set<Element> reached;
      for (const Point& point : full)
        reached.insert(element(s.subscripts, point));
      for (const auto& [target, point] : targets)
        if (!reached.count(target) && inside(s.tensor, target)) codes_.insert("E0419");
    }
    for (const auto& [target, point] : targets)
      written(s.tensor).insert(target);
  }

  void read(const Statement& s, const Accesses& accesses, const Access& access, const Point& point,
            const std::map<Element, Point>& targets) {
    for (const int g : access.guards) {
      const Guard& guard = accesses.guards[static_cast<std::size_t>(g)];
      if (guard.condition && !may(guard.condition, guard.holds, point)) return;
    }
    const Element source = element(access.subscripts, point);
    if (!inside(access.tensor, source)) {
      if (!access.padded) codes_.insert("E0410");
      return;
    }
    if (!at(access.tensor).is_param && !written(access.tensor).count(source))
      codes_.insert("E0412");
    const auto hit = access.tensor == s.tensor ? targets.find(source) : targets.end();
    if (hit == targets.end()) return;
    if (s.op) codes_.insert("E0416");
    if (s.op) return;
    // Its own element is fine; another point that writes that one too is E0414.
    if (element(s.subscripts, point) != source) codes_.insert("E0415");
  }

  const TypedDef& def_;
  std::vector<std::set<Element>> written_;
  std::unordered_map<int, std::int64_t> loops_;
  std::set<std::string> codes_;
  std::set<TensorId> initial_;
};

/// Random texts over the parameters x(5), z(4,5), an output y, a temporary t and loops.
class Texts {
public:
  explicit Texts(unsigned seed) : random_(seed) {}

  std::string program() {
    std::string text = "def f(float(5) x, float(4,5) z, int32(5) n" +
                       std::string(pick(3) == 0 ? ", float(6) y" : "") + ") -> (y) {\n";
    rank_t_ = 1 + pick(2);
    text += statement("t", rank_t_, "");
    if (pick(2) == 0) text += statement("t", rank_t_, "");
    text += statement("y", 1, "");
    if (pick(2) == 0)
      text += "for s in " + std::to_string(pick(2)) + ":" + std::to_string(1 + pick(3)) + " {\n" +
              statement(pick(2) ? "y" : "t", pick(2) ? 1 : rank_t_, "s") +
              (pick(2) ? statement("y", 1, "s") : "") + "}\n";
    if (pick(2) == 0) text += statement("y", 1, "");
    return text + "}\n";
  }

  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

private:
  std::string number(int lo, int hi) { return std::to_string(lo + pick(hi - lo + 1)); }

  std::string index(const std::vector<std::string>& names) {
    return names[static_cast<std::size_t>(pick(static_cast<int>(names.size())))];
  }

  std::string subscript(const std::vector<std::string>& names) {
    const std::string a = index(names);
    switch (pick(12)) {
    case 0: return a + "+1";
    case 1: return a + "-1";
    case 2: return "2*" + a;
    case 3: return a + "/2";
    case 4: return "3-" + a;
    case 5: return a + "+" + index(names);
    case 6: return "min(" + a + ",2)";
    case 7: return a + "%3";
    case 8: return "2*" + a + "+" + index(names);
    default: return a;
    }
  }

  std::string subscripts(int rank, const std::vector<std::string>& names) {
    std::string text = subscript(names);
    if (rank == 2) text += "," + (pick(2) ? subscript(names) : index(names));
    return "(" + text + ")";
  }

  std::string read(const std::vector<std::string>& names) {
    switch (pick(5)) {
    case 0: return "z" + subscripts(2, names);
    case 1: return "t" + subscripts(rank_t_, names);
    case 2: return "y" + subscripts(1, names);
    default: return "x" + subscripts(1, names);
    }
  }

  std::string value(const std::vector<std::string>& names) {
    const std::string a = read(names);
    switch (pick(8)) {
    case 0:
      return "(" + index(names) + " >= " + number(0, 2) + " && " + index(names) + " < " +
             number(2, 5) + " ? " + a + " : 0)";
    case 1: return "pad(" + a + ", 0)";
    case 2:
      return "(" + index(names) + " < " + number(1, 3) + " || n(" + number(0, 4) + ") > 0 ? " + a +
             " : " + read(names) + ")";
    case 3: return "(!(" + index(names) + " == " + number(0, 3) + ") ? " + a + " : 1)";
    case 4: return a + " * " + read(names);
    default: return a;
    }
  }

  std::string statement(const std::string& target, int rank, const std::string& loop) {
    static const char* kReductions[] = {"+=!", "+=", "max=!"};
    const bool reduces = pick(2) == 0;
    std::vector<std::string> left{"i"};
    if (rank == 2 || pick(4) == 0) left.push_back("j");
    if (!loop.empty()) left.push_back(loop);
    std::vector<std::string> all = left;
    if (reduces) all.push_back("k");
    std::string lhs = subscripts(rank, left);
    std::string where = " where i in " + number(0, 1) + ":" + number(1, 5);
    if (std::find(left.begin(), left.end(), "j") != left.end()) {
      // Every left index has to occur on the left, or it would be reduced.
      if (rank == 2)
        lhs = "(" + subscript({"i"}) + "," + (pick(3) ? subscript({"j"}) : "i+j") + ")";
      if (rank == 1) lhs = "(" + std::string(pick(2) ? "i+j" : "2*i+j") + ")";
      where += pick(3) ? ", j in 0:" + number(1, 3) : ", j in i:i+" + number(1, 2);
    } else if (lhs.find('i') == std::string::npos || lhs.find("min") != std::string::npos) {
      lhs = rank == 1 ? "(i)" : "(i,0)";
    }
    if (reduces)
      where +=
          pick(3) ? ", k in 0:" + number(0, 3) : ", k in " + number(0, 1) + ":i+" + number(0, 1);
    if (pick(4) == 0) where += ", " + index(all) + (pick(2) ? " != " : " >= ") + number(0, 2);
    if (pick(6) == 0) where += ", i % 2 == 0";
    return target + lhs + " " + (reduces ? kReductions[pick(3)] : "=") + " " + value(all) + where +
           "\n";
  }

  std::mt19937 random_;
  int rank_t_ = 1;
};

TEST(BruteForce, ProofsFindExactlyTheViolations) {
  int compared = 0;
  std::map<std::string, int> seen;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const std::string text = Texts(seed).program();
    const SourceBuffer source("brute.tc", text);
    DiagnosticSink sink;
    const ast::Program program = parse(source, sink);
    const auto def = sink.has_errors() ? std::nullopt : analyse(program, "f", sink);
    const auto special =
        def && !sink.has_errors() ? specialise(*def, Bindings{}, sink) : std::nullopt;
    if (!special) continue;  // refused before: names, ranges
    prove(*special, Bindings{}, sink);
    std::set<std::string> proved;
    for (const Diagnostic& diagnostic : sink.all())
      if (diagnostic.severity == Severity::Error) proved.insert(diagnostic.code);
    ASSERT_EQ(proved.count("E0490"), 0u) << text;
    Enumeration enumeration(*special);
    const std::set<std::string> truth = enumeration.run();
    EXPECT_EQ(proved, truth) << "seed " << seed << "\n" << text << render(source, sink.sorted());
    for (const TensorId id : enumeration.initial())
      EXPECT_TRUE(special->tensors[static_cast<std::size_t>(id)].needs_initial) << text;
    if (proved != truth) return;
    ++compared;
    if (truth.empty()) ++seen["proven"];
    for (const std::string& code : truth)
      ++seen[code];
  }
  EXPECT_GT(compared, 500);
  for (const char* kind :
       {"proven", "E0410", "E0411", "E0412", "E0413", "E0414", "E0415", "E0416", "E0418", "E0419"})
    EXPECT_GT(seen[kind], 5) << kind;
}

/// One index `i` to be found, the others given: the range must be the largest interval from 0 up.
TEST(BruteForce, InferredRangesAreTheLargest) {
  std::mt19937 random(7);
  auto pick = [&](int lo, int hi) {
    return lo + static_cast<int>(random() % static_cast<unsigned>(hi - lo + 1));
  };
  auto plus = [](int factor, const std::string& name) {
    return (factor < 0 ? " - " : " + ") + std::to_string(std::abs(factor)) + "*" + name;
  };
  int compared = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const int size = pick(1, 12), a = pick(-2, 3), b = pick(-2, 2), c = pick(-1, 1),
              shift = pick(-3, 6), divisor = pick(1, 3);
    static const char* kBounds[] = {
        "0:3", "1:2", "i:i+2", "0:i+1", "max(-1,-i):min(2,6-i)", "i/2:i+1", "0:min(i+1,3)"};
    const std::string bounds = kBounds[pick(0, 6)];
    const std::string inner =
        "(" + std::to_string(shift) + plus(a, "i") + plus(b, "j") + plus(c, "k") + ")";
    const std::string subscript = divisor == 1 ? inner : inner + "/" + std::to_string(divisor);
    const std::string text = "def f(float(" + std::to_string(size) + ") x) -> (y) { y(i) +=! x(" +
                             subscript + ") where j in " + bounds + ", k in 0:3 }";
    const Analysed result = analysed(text);
    if (!result.def) continue;
    const StatementInContext context = statements(*result.def).at(0);
    IntEnv env;
    const Index* found = nullptr;
    int at_i = 0, at_j = 0, at_k = 0;
    for (std::size_t k = 0; k < context.statement->indices.size(); ++k) {
      const Index& one = context.statement->indices[k];
      if (one.name == "i") found = &one, at_i = static_cast<int>(k);
      if (one.name == "j") at_j = static_cast<int>(k);
      if (one.name == "k") at_k = static_cast<int>(k);
    }
    ASSERT_NE(found, nullptr);
    const auto lo = evaluate(found->lo, env), hi = evaluate(found->hi, env);
    ASSERT_TRUE(lo && hi) << text;
    const Read* read = std::get_if<Read>(&context.statement->value->node);
    ASSERT_NE(read, nullptr);
    const Index& j = context.statement->indices[static_cast<std::size_t>(at_j)];
    std::vector<std::int64_t> good;
    bool counts_empty = false;
    for (std::int64_t i = 0; i < 80; ++i) {
      bool inside = true;
      std::vector<std::int64_t> point(context.statement->indices.size(), 0);
      point[static_cast<std::size_t>(at_i)] = i;
      env.indices = &point;
      const std::int64_t from = *evaluate(j.lo, env), to = *evaluate(j.hi, env);
      counts_empty = counts_empty || to <= from;  // an empty range counts by its ends
      for (std::int64_t jv = from; jv < to; ++jv)
        for (std::int64_t kv = 0; kv < 3; ++kv) {
          point[static_cast<std::size_t>(at_j)] = jv;
          point[static_cast<std::size_t>(at_k)] = kv;
          const std::int64_t where = *evaluate(read->subscripts[0], env);
          inside = inside && where >= 0 && where < size;
        }
      env.indices = nullptr;
      if (inside) good.push_back(i);
    }
    if (counts_empty) continue;
    if (good.empty()) continue;  // the proofs say so
    if (good.back() - good.front() + 1 != static_cast<std::int64_t>(good.size())) continue;
    ++compared;
    EXPECT_EQ(*lo, good.front()) << text;
    EXPECT_EQ(*hi, good.back() + 1) << text;
  }
  EXPECT_GT(compared, 300);
}

}  // namespace
}  // namespace tc::lang::testing
