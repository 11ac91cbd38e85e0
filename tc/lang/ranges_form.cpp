// SPDX-License-Identifier: Apache-2.0
#include "tc/lang/ranges_form.h"

#include <algorithm>
#include <numeric>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::lang {

namespace {

/// Pushing sums into extrema multiplies their arguments; beyond this many the sum stays as it is.
constexpr std::size_t kMaxArguments = 16;
/// Sums and products beyond these are given up (an invalid form): no program needs them, and every
/// step on them is slow.
constexpr std::size_t kMaxTerms = 256;
constexpr std::size_t kMaxFactors = 16;

using Kind = Atom::Kind;

bool is_extremum(Kind kind) {
  return kind == Kind::Min || kind == Kind::Max;
}
Kind opposite(Kind kind) {
  return kind == Kind::Min ? Kind::Max : Kind::Min;
}

AtomPtr make_atom(Kind kind, int id, DType type) {
  return std::make_shared<const Atom>(Atom{kind, type, id, {}});
}
AtomPtr make_atom(Kind kind, std::vector<Form> args) {
  return std::make_shared<const Atom>(Atom{kind, DType::Int32, 0, std::move(args)});
}

int sign_of_difference(std::int64_t a, std::int64_t b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

int compare_atoms(const std::vector<AtomPtr>& a, const std::vector<AtomPtr>& b) {
  for (std::size_t k = 0; k < a.size() && k < b.size(); ++k) {
    if (const int order = compare(*a[k], *b[k])) return order;
  }
  return sign_of_difference(static_cast<std::int64_t>(a.size()),
                            static_cast<std::int64_t>(b.size()));
}

/// A term that is coefficient * min(...) or coefficient * max(...).
const Atom* extremum_of(const Form::Term& term) {
  return term.atoms.size() == 1 && is_extremum(term.atoms[0]->kind) ? term.atoms[0].get() : nullptr;
}

/// Removes arguments that another one always dominates, and sorts the rest.
std::vector<Form> undominated(Kind kind, std::vector<Form> args) {
  std::sort(args.begin(), args.end(),
            [](const Form& a, const Form& b) { return Form::compare(a, b) < 0; });
  args.erase(std::unique(args.begin(), args.end()), args.end());
  std::vector<bool> dropped(args.size(), false);
  for (std::size_t a = 0; a < args.size(); ++a) {
    for (std::size_t b = 0; b < args.size() && !dropped[a]; ++b) {
      if (a == b || dropped[b]) continue;
      // `a` goes if it is always on the losing side of `b`.
      const Form gap = kind == Kind::Min ? args[a] - args[b] : args[b] - args[a];
      dropped[a] = is_nonnegative(gap);
    }
  }
  std::vector<Form> kept;
  for (std::size_t a = 0; a < args.size(); ++a) {
    if (!dropped[a]) kept.push_back(args[a]);
  }
  return kept;
}

Form make_extremum(Kind kind, const std::vector<Form>& args) {
  std::vector<Form> flat;
  for (const Form& arg : args) {
    if (!arg.valid()) return Form::invalid();
    const Atom* atom = arg.as_atom();
    if (atom && atom->kind == kind) {
      flat.insert(flat.end(), atom->args.begin(), atom->args.end());
    } else {
      flat.push_back(arg);
    }
  }
  flat = undominated(kind, std::move(flat));
  check(!flat.empty(), "an extremum of nothing");
  if (flat.size() == 1) return flat[0];
  return Form::of(make_atom(kind, std::move(flat)));
}

}  // namespace

int compare(const Atom& a, const Atom& b) {
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.id != b.id) return a.id < b.id ? -1 : 1;
  for (std::size_t k = 0; k < a.args.size() && k < b.args.size(); ++k) {
    if (const int order = Form::compare(a.args[k], b.args[k])) return order;
  }
  return sign_of_difference(static_cast<std::int64_t>(a.args.size()),
                            static_cast<std::int64_t>(b.args.size()));
}

int Form::compare(const Form& a, const Form& b) {
  if (a.valid_ != b.valid_) return a.valid_ ? 1 : -1;
  for (std::size_t k = 0; k < a.terms_.size() && k < b.terms_.size(); ++k) {
    if (const int order = compare_atoms(a.terms_[k].atoms, b.terms_[k].atoms)) return order;
    if (const int order = sign_of_difference(b.terms_[k].coefficient, a.terms_[k].coefficient))
      return order;
  }
  // A longer sum first: "min(H - 1, H)" never arises, "min(N, 4)" reads better than "min(4, N)".
  if (a.terms_.size() != b.terms_.size()) return a.terms_.size() > b.terms_.size() ? -1 : 1;
  return sign_of_difference(a.constant_, b.constant_);
}

Form Form::invalid() {
  Form form;
  form.valid_ = false;
  return form;
}

Form Form::of(AtomPtr atom) {
  Form form;
  form.terms_.push_back({{std::move(atom)}, 1});
  return form;
}

Form Form::of(const ExprPtr& expr) {
  if (!expr || (expr->type != DType::Int32 && expr->type != DType::Int64)) return invalid();
  if (const auto* node = std::get_if<IntConst>(&expr->node)) return Form(node->value);
  if (const auto* node = std::get_if<IndexRef>(&expr->node))
    return of(make_atom(Kind::Index, node->index, expr->type));
  if (const auto* node = std::get_if<ForRef>(&expr->node))
    return of(make_atom(Kind::For, node->var, expr->type));
  if (const auto* node = std::get_if<SizeRef>(&expr->node))
    return of(make_atom(Kind::Size, node->size, expr->type));
  if (const auto* node = std::get_if<ConstRef>(&expr->node))
    return of(make_atom(Kind::Const, node->id, expr->type));
  if (const auto* node = std::get_if<Cast>(&expr->node)) {
    const bool keeps_value = (node->to == DType::Int32 || node->to == DType::Int64) &&
                             is_signed_integer(node->operand->type) &&
                             bits(node->to) >= bits(node->operand->type);
    if (!keeps_value) {
      // Consts of narrower or unsigned types: widening keeps their value too.
      const bool widened_const = std::holds_alternative<ConstRef>(node->operand->node) &&
                                 is_integer(node->operand->type) &&
                                 bits(node->to) > bits(node->operand->type);
      if (!widened_const) return invalid();
      return of(
          make_atom(Kind::Const, std::get<ConstRef>(node->operand->node).id, node->operand->type));
    }
    return of(node->operand);
  }
  if (const auto* node = std::get_if<Unary>(&expr->node)) {
    return node->op == UnaryOp::Negate ? negate(of(node->operand)) : invalid();
  }
  const auto* node = std::get_if<Binary>(&expr->node);
  if (!node) return invalid();
  const Form left = of(node->left);
  const Form right = of(node->right);
  switch (node->op) {
  case BinaryOp::Add: return left + right;
  case BinaryOp::Sub: return left - right;
  case BinaryOp::Mul: return left * right;
  case BinaryOp::Div: return quotient(left, right);
  case BinaryOp::Mod: return remainder(left, right);
  case BinaryOp::Min: return min(left, right);
  case BinaryOp::Max: return max(left, right);
  case BinaryOp::Lt:
  case BinaryOp::Le:
  case BinaryOp::Gt:
  case BinaryOp::Ge:
  case BinaryOp::Eq:
  case BinaryOp::Ne:
  case BinaryOp::And:
  case BinaryOp::Or: return invalid();
  }
  unreachable("a binary operator");
}

std::optional<std::int64_t> Form::as_constant() const {
  if (!valid_ || !terms_.empty()) return std::nullopt;
  return constant_;
}

const Atom* Form::as_atom() const {
  const bool single = valid_ && constant_ == 0 && terms_.size() == 1 &&
                      terms_[0].coefficient == 1 && terms_[0].atoms.size() == 1;
  return single ? terms_[0].atoms[0].get() : nullptr;
}

void Form::add_term(std::vector<AtomPtr> atoms, std::int64_t coefficient) {
  if (coefficient == 0) return;
  const auto at =
      std::lower_bound(terms_.begin(), terms_.end(), atoms, [](const Term& term, const auto& key) {
        return compare_atoms(term.atoms, key) < 0;
      });
  if (at == terms_.end() || compare_atoms(at->atoms, atoms) != 0) {
    if (terms_.size() >= kMaxTerms || atoms.size() > kMaxFactors) {
      *this = invalid();
      return;
    }
    terms_.insert(at, Term{std::move(atoms), coefficient});
    return;
  }
  if (!checked_add(at->coefficient, coefficient, at->coefficient)) {
    *this = invalid();
    return;
  }
  if (at->coefficient == 0) terms_.erase(at);
}

Form Form::settled() const {
  if (!valid_) return *this;
  std::vector<std::size_t> at;
  std::size_t combinations = 1;
  std::optional<Kind> kind;
  for (std::size_t k = 0; k < terms_.size(); ++k) {
    const Atom* atom = extremum_of(terms_[k]);
    if (!atom) continue;
    const Kind effective = terms_[k].coefficient > 0 ? atom->kind : opposite(atom->kind);
    if (kind && *kind != effective) return *this;
    kind = effective;
    combinations *= atom->args.size();
    if (combinations > kMaxArguments) return *this;
    at.push_back(k);
  }
  if (!kind || as_atom()) return *this;
  Form rest;
  rest.constant_ = constant_;
  for (std::size_t k = 0; k < terms_.size(); ++k) {
    if (!extremum_of(terms_[k])) rest.terms_.push_back(terms_[k]);
  }
  std::vector<Form> sums{rest};
  for (const std::size_t k : at) {
    std::vector<Form> next;
    for (const Form& sum : sums) {
      for (const Form& arg : terms_[k].atoms[0]->args)
        next.push_back(sum + Form(terms_[k].coefficient) * arg);
    }
    sums = std::move(next);
  }
  return make_extremum(*kind, sums);
}

Form operator+(const Form& a, const Form& b) {
  if (!a.valid_ || !b.valid_) return Form::invalid();
  Form sum = a;
  if (!checked_add(a.constant_, b.constant_, sum.constant_)) return Form::invalid();
  for (const Form::Term& term : b.terms_) {
    if (sum.valid_) sum.add_term(term.atoms, term.coefficient);
  }
  return sum.settled();
}

Form negate(const Form& a) {
  return Form(-1) * a;
}
Form operator-(const Form& a, const Form& b) {
  return a + negate(b);
}

Form operator*(const Form& a, const Form& b) {
  if (!a.valid_ || !b.valid_) return Form::invalid();
  Form product;
  if (!checked_mul(a.constant_, b.constant_, product.constant_)) return Form::invalid();
  auto add = [&](std::vector<AtomPtr> atoms, std::int64_t x, std::int64_t y) {
    std::int64_t coefficient = 0;
    if (!product.valid_) return;
    if (!checked_mul(x, y, coefficient)) {
      product = Form::invalid();
      return;
    }
    std::sort(atoms.begin(), atoms.end(),
              [](const AtomPtr& p, const AtomPtr& q) { return compare(*p, *q) < 0; });
    product.add_term(std::move(atoms), coefficient);
  };
  for (const Form::Term& term : a.terms_)
    add(term.atoms, term.coefficient, b.constant_);
  for (const Form::Term& term : b.terms_)
    add(term.atoms, term.coefficient, a.constant_);
  for (const Form::Term& x : a.terms_) {
    for (const Form::Term& y : b.terms_) {
      std::vector<AtomPtr> atoms = x.atoms;
      atoms.insert(atoms.end(), y.atoms.begin(), y.atoms.end());
      add(std::move(atoms), x.coefficient, y.coefficient);
    }
  }
  return product.settled();
}

Form min(const Form& a, const Form& b) {
  return make_extremum(Kind::Min, {a, b});
}
Form max(const Form& a, const Form& b) {
  return make_extremum(Kind::Max, {a, b});
}

namespace {

/// Division by a positive constant.
Form divide_by_constant(const Form& a, std::int64_t divisor) {
  Form whole(tc::floor_div(a.constant(), divisor));
  Form rest(tc::floor_mod(a.constant(), divisor));
  std::int64_t common = divisor;
  for (const Form::Term& term : a.terms()) {
    Form product = Form(1);
    for (const AtomPtr& atom : term.atoms)
      product = product * Form::of(atom);
    if (term.coefficient % divisor == 0) {
      whole = whole + Form(term.coefficient / divisor) * product;
    } else {
      rest = rest + Form(term.coefficient) * product;
      common = std::gcd(common, term.coefficient);
    }
  }
  if (!rest.valid() || rest.terms().empty()) return whole;
  if (common > 1) {
    // (g*e + r) / (g*c) = (e + r/g) / c for 0 <= r.
    Form reduced(tc::floor_div(rest.constant(), common));
    for (const Form::Term& term : rest.terms()) {
      Form product = Form(term.coefficient / common);
      for (const AtomPtr& atom : term.atoms)
        product = product * Form::of(atom);
      reduced = reduced + product;
    }
    rest = reduced;
  }
  return whole + Form::of(make_atom(Kind::Div, {rest, Form(divisor / common)}));
}

/// Division by one symbol: its multiples leave the quotient.
Form divide_by_symbol(const Form& a, const Form& divisor) {
  const Atom& symbol = *divisor.as_atom();
  Form whole;
  Form rest(a.constant());
  for (const Form::Term& term : a.terms()) {
    Form product = Form(term.coefficient);
    bool divided = false;
    for (const AtomPtr& atom : term.atoms) {
      if (!divided && compare(*atom, symbol) == 0) {
        divided = true;
        continue;
      }
      product = product * Form::of(atom);
    }
    (divided ? whole : rest) = (divided ? whole : rest) + product;
  }
  if (rest == Form()) return whole;
  return whole + Form::of(make_atom(Kind::Div, {rest, divisor}));
}

}  // namespace

Form quotient(const Form& a, const Form& b) {
  if (!a.valid() || !b.valid()) return Form::invalid();
  const std::optional<std::int64_t> divisor = b.as_constant();
  if (divisor == 0) return Form();
  if (divisor && *divisor < 0) {
    if (*divisor == INT64_MIN) return Form::invalid();
    return quotient(negate(a), negate(b));
  }
  if (const Atom* atom = a.as_atom(); divisor && atom && is_extremum(atom->kind)) {
    std::vector<Form> args;
    for (const Form& arg : atom->args)
      args.push_back(quotient(arg, b));
    return make_extremum(atom->kind, args);
  }
  if (divisor) return divide_by_constant(a, *divisor);
  if (b.as_atom()) return divide_by_symbol(a, b);
  if (a == Form()) return Form();
  return Form::of(make_atom(Kind::Div, {a, b}));
}

Form remainder(const Form& a, const Form& b) {
  if (!a.valid() || !b.valid()) return Form::invalid();
  const std::optional<std::int64_t> divisor = b.as_constant();
  if (divisor == 0 || divisor == 1 || a == Form()) return Form();
  if (divisor && a.as_constant()) return Form(tc::floor_mod(*a.as_constant(), *divisor));
  return Form::of(make_atom(Kind::Mod, {a, b}));
}

// ---- variables and text ----

namespace {

void collect_variables(const Form& form, std::set<Variable>& out) {
  for (const Form::Term& term : form.terms()) {
    for (const AtomPtr& atom : term.atoms) {
      if (atom->kind == Kind::Index) out.insert({false, atom->id});
      if (atom->kind == Kind::For) out.insert({true, atom->id});
      for (const Form& arg : atom->args)
        collect_variables(arg, out);
    }
  }
}

ExprPtr constant_expr(std::int64_t value) {
  return make_int(value, wrap_to(DType::Int32, value) == value ? DType::Int32 : DType::Int64);
}

ExprPtr atom_expr(const Atom& atom) {
  switch (atom.kind) {
  case Kind::Index: return make_index(atom.id, atom.type);
  case Kind::For: return make_expr(atom.type, {}, ForRef{atom.id});
  case Kind::Size: return make_expr(atom.type, {}, SizeRef{atom.id});
  case Kind::Const: return make_expr(atom.type, {}, ConstRef{atom.id});
  case Kind::Min:
  case Kind::Max:
  case Kind::Div:
  case Kind::Mod: break;
  }
  BinaryOp op = BinaryOp::Mod;
  if (atom.kind == Kind::Min) op = BinaryOp::Min;
  if (atom.kind == Kind::Max) op = BinaryOp::Max;
  if (atom.kind == Kind::Div) op = BinaryOp::Div;
  ExprPtr result = atom.args[0].to_expr();
  for (std::size_t k = 1; k < atom.args.size(); ++k)
    result = make_binary(op, result, atom.args[k].to_expr());
  return result;
}

}  // namespace

std::set<Variable> variables(const Form& form) {
  std::set<Variable> out;
  collect_variables(form, out);
  return out;
}

bool mentions(const Form& form, Variable variable) {
  return variables(form).count(variable) > 0;
}
bool has_variables(const Form& form) {
  return !variables(form).empty();
}

bool is_quasi_affine(const Form& form) {
  if (!form.valid()) return false;
  for (const Form::Term& term : form.terms()) {
    int varying = 0;
    for (const AtomPtr& atom : term.atoms) {
      if (has_variables(Form::of(atom))) ++varying;
      for (const Form& arg : atom->args) {
        if (!is_quasi_affine(arg)) return false;
      }
      const bool divides = atom->kind == Kind::Div || atom->kind == Kind::Mod;
      if (divides && has_variables(atom->args[1])) return false;
    }
    if (varying > 1) return false;
  }
  return true;
}

ExprPtr Form::to_expr() const {
  check(valid_, "an invalid form has no expression");
  ExprPtr result;
  // Positive terms first: "N - K + 1" for any order of N and K.
  for (const bool positive : {true, false}) {
    for (const Term& term : terms_) {
      if ((term.coefficient > 0) != positive) continue;
      ExprPtr product;
      for (const AtomPtr& atom : term.atoms) {
        ExprPtr factor = atom_expr(*atom);
        product = product ? make_binary(BinaryOp::Mul, product, factor) : factor;
      }
      // Without a positive term in front the coefficient keeps its sign.
      const bool subtract = !positive && result;
      const std::int64_t factor = subtract ? -term.coefficient : term.coefficient;
      if (factor != 1) product = make_binary(BinaryOp::Mul, constant_expr(factor), product);
      if (!result) {
        result = product;
      } else {
        result = make_binary(subtract ? BinaryOp::Sub : BinaryOp::Add, result, product);
      }
    }
  }
  if (!result) return constant_expr(constant_);
  if (constant_ > 0) return make_binary(BinaryOp::Add, result, constant_expr(constant_));
  if (constant_ < 0 && constant_ != INT64_MIN) {
    return make_binary(BinaryOp::Sub, result, constant_expr(-constant_));
  }
  return constant_ == 0 ? result : make_binary(BinaryOp::Add, result, constant_expr(constant_));
}

}  // namespace tc::lang
