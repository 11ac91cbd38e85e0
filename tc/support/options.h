// SPDX-License-Identifier: Apache-2.0
//
// The one schema of mapping options. JSON, equality, hash, command-line flags, the tuner's space
// and docs/options.md derive from for_each_field; adding an option is one member and one line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tc/support/result.h"
#include "tc/support/target.h"

namespace tc {

enum class Fusion { Max, Preserve3Coincident, Min };
enum class Bounds { Check, Error, Trust };

struct MappingOptions {
  Fusion fusion = Fusion::Max;
  std::vector<std::int64_t>
      tile;  ///< per band member, outermost first; 0 = the whole extent; empty = the model decides
  std::int64_t tasks = 0;    ///< parallel tasks aimed at; 0 = the model decides
  std::int64_t threads = 0;  ///< threads of a block on a GPU; 0 = the model decides
  std::int64_t vector_bits =
      0;  ///< 0 = the target's; else a power of two up to it; 1 = scalar code
  std::int64_t register_rows = 0;     ///< unrolled rows of a register tile; 0 = the model decides
  std::int64_t register_vectors = 0;  ///< vectors per row of a register tile; 0 = the model decides
  std::int64_t contract_block_k =
      0;                         ///< reduction block of a packed contraction; 0 = the model decides
  bool stage = true;             ///< pack operands of contractions into tile-local buffers
  std::int64_t local_bytes = 0;  ///< limit on tile-local storage of temporaries; 0 = half of L2
  std::int64_t split_reduction =
      0;  ///< parts of a reduction without outer parallelism; 0 = the model decides; 1 = never
  Bounds bounds = Bounds::Check;  ///< out-of-range gathers and scatters
  bool deterministic = true;
  bool fast_math =
      false;  ///< named licence to reassociate and approximate; off: IEEE as in language.md

  bool operator==(const MappingOptions&) const = default;
};

/// Description of one option for JSON, flags and docs.
template <class Member>
struct OptionField {
  const char* name;
  Member MappingOptions::* member;
  const char* domain;  ///< legal values, for people
  const char* doc;
  bool (*legal)(const Member&) =
      nullptr;  ///< the domain, for validate(); null: every value of the type
};

/// Names of the enumerators in their order: the spelling in JSON, flags and docs.
const std::vector<std::string_view>& option_value_names(Fusion);
const std::vector<std::string_view>& option_value_names(Bounds);

/// Predicates of the domains below.
namespace option_domain {
inline bool non_negative(const std::int64_t& v) {
  return v >= 0;
}
inline bool all_non_negative(const std::vector<std::int64_t>& v) {
  for (const std::int64_t element : v)
    if (element < 0) return false;
  return true;
}
inline bool vector_bits(const std::int64_t& v) {
  return v == 0 || v == 1 || (v >= 64 && (v & (v - 1)) == 0);
}
template <std::int64_t kLast>
bool up_to(const std::int64_t& v) {
  return v >= 0 && v <= kLast;
}
}  // namespace option_domain

template <class F>
void for_each_field(F&& f) {
  using O = MappingOptions;
  namespace domain = option_domain;
  f(OptionField<Fusion>{"fusion", &O::fusion, "max | preserve3 | min",
                        "how eagerly statements share a kernel"});
  f(OptionField<std::vector<std::int64_t>>{
      "tile", &O::tile, "list of integers >= 0",
      "tile size per band member; 0 is the whole extent; empty: the model decides",
      domain::all_non_negative});
  f(OptionField<std::int64_t>{"tasks", &O::tasks, "integer >= 0",
                              "parallel tasks aimed at; 0: the model decides",
                              domain::non_negative});
  f(OptionField<std::int64_t>{"threads", &O::threads, "integer >= 0",
                              "threads of a block on a GPU; 0: the model decides; tensor cores "
                              "need a multiple of 128",
                              domain::non_negative});
  f(OptionField<std::int64_t>{"vector_bits", &O::vector_bits, "0, 1 or a power of two from 64",
                              "vector width in bits; 0: the target's; 1: scalar code; on a GPU all "
                              "values but 1 mean accesses of up to 16 bytes; "
                              "1 keeps products from tensor cores",
                              domain::vector_bits});
  f(OptionField<std::int64_t>{
      "register_rows", &O::register_rows, "0 to 32",
      "unrolled rows of a register tile; 0: the model decides; on a GPU 1 "
      "means one element of a thread at a time, but for the register tiles of "
      "packed products, and other values nothing",
      domain::up_to<32>});
  f(OptionField<std::int64_t>{"register_vectors", &O::register_vectors, "0 to 8",
                              "vectors per row of a register tile; 0: the model decides",
                              domain::up_to<8>});
  f(OptionField<std::int64_t>{"contract_block_k", &O::contract_block_k, "integer >= 0",
                              "reduction block of a packed contraction; 0: the model decides; "
                              "whole 16s where a GPU multiplies on tensor cores",
                              domain::non_negative});
  f(OptionField<bool>{"stage", &O::stage, "true | false",
                      "pack operands of contractions into tile-local buffers; needed for products "
                      "of 16-bit floats on the tensor cores of a GPU"});
  f(OptionField<std::int64_t>{
      "local_bytes", &O::local_bytes, "integer >= 0",
      "limit on tile-local storage in bytes; 0: half of the L2 cache or of shared memory",
      domain::non_negative});
  f(OptionField<std::int64_t>{
      "split_reduction", &O::split_reduction, "integer >= 0",
      "parts of a reduction without outer parallelism; 0: the model decides; 1: never",
      domain::non_negative});
  f(OptionField<Bounds>{"bounds", &O::bounds, "check | error | trust",
                        "what an out-of-range gather or scatter does"});
  f(OptionField<bool>{"deterministic", &O::deterministic, "true | false",
                      "equal results bit for bit in repeated runs"});
  f(OptionField<bool>{"fast_math", &O::fast_math, "true | false",
                      "allow reassociation and approximate functions"});
}

/// Named sets: "naive" (one element a step of a CPU task or a thread of a GPU, no fusion, no
/// staging, scalar) and "default" (the model decides). The error names the sets there are.
Result<MappingOptions, std::string> named_options(std::string_view name,
                                                  TargetKind kind = TargetKind::Cpu);
/// JSON, one object with a "version"; unknown names, wrong types and values outside the domain are
/// errors that name them.
std::string to_json(const MappingOptions& options);
Result<MappingOptions, std::string> options_from_json(std::string_view text);
/// Checks values against their domains; empty when fine.
std::string validate(const MappingOptions& options);
/// The table of docs/options.md.
std::string options_markdown();

}  // namespace tc
