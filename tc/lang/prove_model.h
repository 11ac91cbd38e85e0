// SPDX-License-Identifier: Apache-2.0
//
// What the proofs of language.md section 7 ask about, of a specialised def (answers with
// counterexamples) or of a def with symbolic sizes (answers as conditions on sizes). Each question
// is settled with interval reasoning on forms where that suffices; isl is asked only for the rest.
#pragma once

#include <isl/cpp.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tc/lang/affine.h"
#include "tc/lang/ranges_access.h"
#include "tc/lang/ranges_solve.h"
#include "tc/sets/queries.h"

namespace tc::lang {

/// One statement with what the questions need of it.
struct ProofItem {
  const Statement* statement = nullptr;
  std::vector<const ForLoop*> loops;
  Accesses accesses;
  VariableRanges ranges;
  bool scatter = false;
  std::vector<bool> left;                ///< indices over which it writes
  std::vector<ExprPtr> left_conditions;  ///< conditions that cut what it writes
  bool never_runs = false;               ///< some constant range or loop is empty
};

enum class FindingKind {
  ReadOutside,
  WriteOutside,
  ReadUnwritten,
  OutputUnwritten,
  WrittenTwice,
  ReadsOtherPoint,
  ReadsReduced,
  AccumulatesUnwritten,
  ReducesNothing,
  NotAffine,
};

/// What a proof is about.
struct Finding {
  FindingKind kind;
  int item = -1;    ///< -1: about a tensor
  int access = -1;  ///< position in ProofItem::accesses
  int dim = -1;
  TensorId tensor = -1;
};

/// Where the violations of a proof go. Empty sets mean that the proof succeeded.
class Findings {
public:
  virtual ~Findings() = default;
  /// { S[t, i] } instances, or { A[a] } elements for OutputUnwritten.
  virtual void violations(const Finding& finding, const isl::set& points) = 0;
  /// { S[t, i] -> A[a] }, { S[t, i] -> S[t, i'] } or { I[t] -> A[a] }.
  virtual void violations(const Finding& finding, const isl::map& pairs) = 0;
  /// Not affine in what is known.
  virtual void undecided(const Finding& finding) = 0;
  /// isl gave up.
  virtual void given_up(const Finding& finding) = 0;
};

class ProofModel {
public:
  /// isl operations for one question: some 20 times what the hardest realistic ones take, and about
  /// two seconds where isl is at its slowest (integer programs of many variables).
  static constexpr std::uint64_t kQuota = 100'000;

  explicit ProofModel(const TypedDef& def);

  const TypedDef& def() const { return def_; }
  const std::vector<ProofItem>& items() const { return items_; }
  const ProofItem& item(int s) const { return items_[static_cast<std::size_t>(s)]; }
  const Tensor& tensor(TensorId id) const { return def_.tensors[static_cast<std::size_t>(id)]; }
  sets::IslContext& context() { return context_; }
  /// Runs one question under a quota of its own. False: it was given up; later questions get less,
  /// so that a hopeless def fails soon.
  bool ask(const std::function<void()>& question);

  // ---- isl views; nullopt where something is not affine in sizes and indices ----
  const AffineScope& scope(int s);           ///< tuple "S<id>"
  std::optional<isl::set> domain(int s);     ///< all instances
  std::optional<isl::set> box(TensorId id);  ///< { A[a] } all elements
  /// Instances that perform an access: those where its guards may hold; for the write the left-hand
  /// ranges alone.
  std::optional<isl::set> instances(int s, const Access& access);
  isl::set guards(int s, const Access& access);  ///< where its guards may hold
  /// False: elements() and instances() of an access hold more than what it does, because something
  /// beside the data (a product of sizes, say) is not affine in what is known.
  bool is_exact(int s, const Access& access);
  /// { S[t, i] -> A[a] } elements inside the tensor that an access may touch; gathered dimensions
  /// are free.
  std::optional<isl::map> elements(int s, const Access& access);
  /// { I<id>[t] -> A[a] } elements written per iteration of the loops: the left side over the
  /// left-hand ranges alone, the whole tensor for a scatter with `!`, nothing for other scatters.
  std::optional<isl::map> written(int s);
  /// { I<id>[t] -> A[a] } elements that something is reduced or assigned into.
  std::optional<isl::map> reached(int s);
  /// { I<s>[t] -> A[a] } written before statement `s` of iteration t begins.
  std::optional<isl::map> written_before(int s, TensorId id);

  // ---- interval reasoning ----
  VariableRanges narrowed_ranges(int s, const Access& access) const;
  /// begin <= subscript < begin + extent for all values.
  bool surely_inside(int s, const Access& access, std::size_t dim) const;
  /// Some textually earlier statement of the same iteration writes everything that `access`
  /// touches.
  bool surely_written(int s, const Access& access) const;
  /// Statement `s` writes exactly a box, in every iteration of its loops; per dimension half-open,
  /// over for variables at most.
  std::optional<std::vector<VariableRange>> written_box(int s) const;
  bool loops_surely_run(int s) const;

  std::string statement_tuple(int s) const;
  std::string iteration_tuple(int s) const;

private:
  isl::space iteration_space(int s);
  std::optional<isl::set> left_domain(int s);

  const TypedDef& def_;
  sets::IslContext context_;
  AffineParams params_;
  std::vector<ProofItem> items_;
  std::map<int, std::unique_ptr<AffineScope>> scopes_;
  std::map<int, std::optional<isl::map>> written_;
  std::uint64_t quota_ = kQuota;
};

// ---- the questions ----
void prove_inside(ProofModel& model, int s, Findings& findings);
void prove_reads_written(ProofModel& model, int s, Findings& findings);
void prove_written_once(ProofModel& model, int s, Findings& findings);
void prove_self_reads(ProofModel& model, int s, Findings& findings);
void prove_accumulation(ProofModel& model, int s, Findings& findings);
void prove_reduces_something(ProofModel& model, int s, Findings& findings);
void prove_outputs_written(ProofModel& model, Findings& findings);
/// All of them.
void prove_all(ProofModel& model, Findings& findings);

}  // namespace tc::lang
