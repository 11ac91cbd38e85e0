// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tc/compiler/pipeline.h"
#include "tc/tuner/facts.h"
#include "tc/tuner/strategy.h"

namespace tc::tuner {

inline constexpr const char* kMatmul =
    "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,r_k) * B(r_k,n) }";
inline constexpr const char* kChain =
    "def f(float(M,N) A, float(M,N) B) -> (C) { t(m,n) = A(m,n) + B(m,n)\n C(m,n) = t(m,n) * 2.0 }";

/// Of a def whose parameters are matrices of M, N and K, on a CPU with AVX-512 and four cores.
inline Facts facts_of(const std::string& text, const std::map<std::string, std::int64_t>& sizes) {
  Metadata metadata;
  const auto size = [&](const char* name) { return sizes.at(name); };
  if (text == kMatmul)
    metadata.inputs = {{DType::Float32, {size("M"), size("K")}, {}, 4},
                       {DType::Float32, {size("K"), size("N")}, {}, 4}};
  else
    metadata.inputs = {{DType::Float32, {size("M"), size("N")}, {}, 4},
                       {DType::Float32, {size("M"), size("N")}, {}, 4}};
  Target target = *cpu_target("x86-64-v4");
  target.cores = 4;
  const SourceBuffer source("<text>", text);
  const Result<compiler::FrontEnd, Failure> front = compiler::front_end(source, "f", metadata);
  EXPECT_TRUE(front.has_value());
  const Result<Facts, Failure> facts = gather_facts(*front, {}, target);
  EXPECT_TRUE(facts.has_value());
  return *facts;
}

}  // namespace tc::tuner
