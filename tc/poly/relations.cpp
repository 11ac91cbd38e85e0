// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tc/poly/access.h"
#include "tc/poly/instances.h"
#include "tc/poly/scop.h"
#include "tc/support/check.h"

namespace tc::poly {
namespace {

// Names of temporaries contain dots, which isl's parser does not take: sets of tensor elements are
// written with this tuple.
constexpr const char* kElement = "_";

/// The elements of a tensor, of which only the dimensions with `bounded` are constrained.
isl::set tensor_box(const Tensor& tensor, const std::vector<bool>& bounded, const isl::ctx& ctx) {
  std::string dims, constraints = "1 = 1";
  for (std::size_t d = 0; d < tensor.begin.size(); ++d) {
    const std::string dim = dim_text('a', d);
    dims += (d == 0 ? "" : ", ") + dim;
    if (bounded[d])
      constraints += " and " + std::to_string(tensor.begin[d]) + " <= " + dim + " < " +
                     std::to_string(tensor.begin[d] + tensor.extent[d]);
  }
  return isl::set(ctx, std::string("{ ") + kElement + "[" + dims + "] : " + constraints + " }");
}

struct AccessRelation {
  isl::map map;
  bool exact = true;  ///< every subscript is affine
};

AccessRelation access_relation(const Scop& scop, const Access& access,
                               const lang::AffineScope& scope, const isl::set& domain) {
  const Tensor& tensor = scop.tensors[static_cast<std::size_t>(access.tensor)];
  const lang::AffineAccess affine = scope.access(tensor.name, access.subscripts);
  isl::map map = affine.relation.intersect_domain(domain);
  std::vector<bool> bounded(access.subscripts.size());
  for (std::size_t d = 0; d < bounded.size(); ++d)
    bounded[d] = access.padded || !affine.affine[d];
  if (std::any_of(bounded.begin(), bounded.end(), [](bool b) { return b; }))
    map = map.set_range_tuple(sets::named_id(map.ctx(), kElement))
              .intersect_range(tensor_box(tensor, bounded, map.ctx()))
              .set_range_tuple(sets::named_id(map.ctx(), tensor.name));
  return {map, affine.exact()};
}

int loop_depth(const std::vector<Node>& body) {
  int depth = 0;
  for (const Node& node : body) {
    if (const auto* loop = std::get_if<std::shared_ptr<const For>>(&node))
      depth = std::max(depth, 1 + loop_depth((*loop)->body));
  }
  return depth;
}

/// The 2d+1 time of every statement of the text: position, loop, position, loop, ..., position.
class TextualOrder {
public:
  TextualOrder(const Scop& scop, const isl::ctx& ctx)
      : scop_(scop), length_(static_cast<std::size_t>(2 * loop_depth(scop.body) + 1)), ctx_(ctx),
        result_(isl::union_map::empty(ctx)) {
    visit(scop.body, {});
  }
  isl::union_map result() const { return result_; }

private:
  void visit(const std::vector<Node>& body, const std::vector<std::string>& prefix) {
    for (std::size_t position = 0; position < body.size(); ++position) {
      std::vector<std::string> time = prefix;
      time.push_back(std::to_string(position));
      if (const auto* statement = std::get_if<int>(&body[position])) {
        add(scop_.statements[static_cast<std::size_t>(*statement)], time);
        continue;
      }
      // A statement's first dimensions are its loops, outermost first.
      time.push_back(dim_text('i', prefix.size() / 2));
      visit(std::get<std::shared_ptr<const For>>(body[position])->body, time);
    }
  }

  void add(const Statement& statement, std::vector<std::string> time) {
    time.resize(length_, "0");
    std::string text;
    for (const std::string& entry : time)
      text += (text.empty() ? "" : ", ") + entry;
    result_ = result_.unite(
        isl::union_map(ctx_, "{ " + tuple_text(statement, 'i') + " -> [" + text + "] }"));
  }

  const Scop& scop_;
  std::size_t length_;
  isl::ctx ctx_;
  isl::union_map result_;
};

}  // namespace

Relations relations(const Scop& scop, const sets::IslContext& context) {
  const isl::ctx ctx = context.get();
  std::vector<lang::AffineScope> scopes;
  std::vector<isl::set> domains;
  Relations result;
  result.domain = isl::union_set::empty(ctx);
  for (const Statement& statement : scop.statements) {
    scopes.push_back(affine_scope(scop, statement, context));
    const auto domain = scopes.back().domain(statement.conditions);
    check(domain.has_value(), "domain that is not affine");
    domains.push_back(*domain);
    result.domain = result.domain.unite(domain->to_union_set());
  }
  result.must_writes = result.may_writes = result.reads = isl::union_map::empty(ctx);
  for (const Access& access : accesses(scop)) {
    const auto s = static_cast<std::size_t>(access.statement);
    const AccessRelation relation = access_relation(scop, access, scopes[s], domains[s]);
    const isl::union_map map = relation.map.to_union_map();
    if (!access.is_write()) {
      result.reads = result.reads.unite(map);
      continue;
    }
    result.may_writes = result.may_writes.unite(map);
    if (relation.exact) result.must_writes = result.must_writes.unite(map);
  }
  result.textual = TextualOrder(scop, ctx).result().intersect_domain(result.domain);
  return result;
}

}  // namespace tc::poly
