// SPDX-License-Identifier: Apache-2.0
#include "cuda/fragment_programs.h"

#include <string>

#include <fmt/format.h>

#include "fuzz/programs/random.h"

namespace tc::cases {

namespace {

MappingOptions options_of_product(fuzz::Random& r) {
  MappingOptions options;
  if (r.percent(70)) {
    options.tile = {r.pick<std::int64_t>({16, 33, 40, 64, 64, 72, 128, 0}),
                    r.pick<std::int64_t>({8, 16, 24, 32, 64, 64, 100, 0})};
    if (r.percent(20)) options.tile.insert(options.tile.begin(), r.pick<std::int64_t>({1, 2}));
  } else {
    options.tasks = 1;  // else sizes of a test have tiles of single rows
  }
  options.threads = r.pick<std::int64_t>({0, 128, 128, 128, 256, 256, 256, 384, 96});
  options.contract_block_k = r.pick<std::int64_t>({0, 0, 16, 16, 32, 48, 64, 128, 5});
  options.vector_bits = r.pick<std::int64_t>({0, 0, 0, 0, 0, 0, 64, 32, 1});
  options.stage = r.percent(95);
  options.local_bytes = r.pick<std::int64_t>({0, 0, 0, 0, 0, 0, 0, 4096, 20000});
  options.split_reduction = r.pick<std::int64_t>({0, 0, 1, 1, 1, 2});
  options.deterministic = r.percent(70);
  if (r.percent(15)) options.fusion = Fusion::Min;
  return options;
}

/// Statements that turn the product P into the output Y.
std::string epilogue(fuzz::Random& r, bool batched) {
  const std::string at = batched ? "(b,m,n)" : "(m,n)";
  switch (r.weighted({3, 3, 2, 2, 2})) {
  case 0: return "  Y" + at + " = P" + at + "\n";
  case 1: return "  Y" + at + " = max(P" + at + " + bias(n), 0)\n";
  case 2:
    return "  T" + at + " = P" + at + " + bias(n)\n  U" + at + " = T" + at + " * T" + at + "\n  Y" +
           at + " = U" + at + " - P" + at + "\n";
  case 3:
    return "  s" + std::string(batched ? "(b,m)" : "(m)") + " +=! P" +
           (batched ? "(b,m,r_n)" : "(m,r_n)") + "\n  Y" + at + " = P" + at + " - s" +
           (batched ? "(b,m)" : "(m)") + "\n";
  default: return "  Y" + at + " = m < 3 ? P" + at + " : bias(n) - P" + at + "\n";
  }
}

/// One operand: its declaration and how the product reads it.
struct Operand {
  std::string declaration, read;
};

Operand operand(fuzz::Random& r, const std::string& name, const std::string& type, char size,
                char index, bool batched) {
  const bool reduction_last = r.percent(50);
  std::string sizes = reduction_last ? fmt::format("{},K", size) : fmt::format("K,{}", size);
  std::string indices =
      reduction_last ? fmt::format("{},r_k", index) : fmt::format("r_k,{}", index);
  if (batched) {
    sizes = "B," + sizes;
    indices = "b," + indices;
  }
  Operand result{fmt::format("{}({}) {}", type, sizes, name), fmt::format("{}({})", name, indices)};
  switch (r.weighted({6, 2, 1})) {
  case 1: result.read = fmt::format("float({})", result.read); break;
  case 2:
    // Beyond the end: zeros.
    indices.replace(indices.find(index), 1, fmt::format("{}+1", index));
    result.read = fmt::format("pad({}({}), 0)", name, indices);
    break;
  default: break;
  }
  return result;
}

std::string product(fuzz::Random& r) {
  const std::string type = r.pick<std::string>({"bfloat16", "half"});
  const std::string other =
      r.percent(90) ? type : r.pick<std::string>({"bfloat16", "half", "float"});
  const bool batched = r.percent(20);
  const Operand left = operand(r, "L", type, 'M', 'm', batched);
  const Operand right = operand(r, "R", other, 'N', 'n', batched && r.percent(60));
  const std::string result = r.pick<std::string>({"float", "float", "bfloat16", "half"});
  const std::string box = batched ? "B,M,N" : "M,N";
  const std::string at = batched ? "(b,m,n)" : "(m,n)";
  const std::string ranges = "where m in 0:M, n in 0:N" + std::string(batched ? ", b in 0:B" : "");
  const bool swapped = r.percent(30);
  const std::string terms =
      swapped ? right.read + " * " + left.read : left.read + " * " + right.read;
  if (r.percent(20))
    return fmt::format("def f({}, {}, {}({}) Y) -> (Y) {{\n  Y{} += {} {}\n}}\n", left.declaration,
                       right.declaration, result, box, at, terms, ranges);
  return fmt::format("def f({}, {}, float(N) bias) -> ({}({}) Y) {{\n  P{} +=! {} {}\n{}}}\n",
                     left.declaration, right.declaration, result, box, at, terms, ranges,
                     epilogue(r, batched));
}

/// A window over channels-last images.
std::string convolution(fuzz::Random& r) {
  const std::string type = r.pick<std::string>({"bfloat16", "half"});
  const bool padded = r.percent(50);
  const std::string image = padded ? "pad(I(b,h+r_p-1,m+r_q-1,r_k), 0)" : "I(b,h+r_p,m+r_q,r_k)";
  return fmt::format("def f({0}(B,4,M,K) I, {0}(3,3,K,N) W) -> (float(B,2,M-2,N) Y) {{\n"
                     "  Y(b,h,m,n) +=! {1} * W(r_p,r_q,r_k,n) where h in 0:2, m in 0:M-2\n}}\n",
                     type, image);
}

}  // namespace

fuzz::Case random_fragment_case(std::uint64_t seed) {
  fuzz::Random r(seed ^ 0xF7A6);
  fuzz::Case result;
  result.def = "f";
  result.inputs = seed;
  result.integer_inputs = r.percent(70);
  const bool windows = r.percent(15);
  result.sizes = {{"M", r.pick<std::int64_t>({1, 33, 40, 64, 65, 72, 100, 129})},
                  {"N", r.pick<std::int64_t>({15, 16, 24, 31, 33, 40, 64})},
                  {"K", r.pick<std::int64_t>({15, 16, 17, 24, 37, 56, 136})},
                  {"B", r.between(1, 3)}};
  if (windows) {
    result.sizes["M"] = r.pick<std::int64_t>({3, 34, 35, 42, 66});
    result.sizes["N"] = r.pick<std::int64_t>({8, 16, 16, 24});
    result.sizes["K"] = r.pick<std::int64_t>({8, 16, 16, 24});
    result.sizes["B"] = 1;
  }
  // Only what is known to be aligned, and whole pieces of it, is copied without waiting.
  const bool aligned = r.percent(65);
  if (aligned && !windows) {
    result.sizes["N"] = r.pick<std::int64_t>({16, 24, 40, 64});
    result.sizes["K"] = r.pick<std::int64_t>({16, 24, 40, 56, 64, 72, 136});
  }
  result.text = windows ? convolution(r) : product(r);
  for (const char* name : {"L", "R", "I", "W", "Y"}) {
    if (aligned) result.views[name] = View::Aligned;
    if (r.percent(12))
      result.views[name] = r.pick<View>({View::Aligned, View::Offset, View::Padded, View::Strided,
                                         View::Transposed, View::Reversed});
  }
  result.options.push_back(r.percent(10) ? MappingOptions{} : options_of_product(r));
  if (r.percent(40)) result.options.push_back(options_of_product(r));
  return result;
}

}  // namespace tc::cases
