// SPDX-License-Identifier: Apache-2.0
//
// Programs whose kernels hold every kind of synchronisation and guard, at sizes at which they
// matter: no extent is a multiple of a tile, of a block, of a vector.
#pragma once

#include <string>
#include <vector>

namespace tc::cases {

struct MutationProgram {
  const char* name;
  const char* text;  ///< a case of tests/fuzz/programs with one set of options
  /// Guards that only save work, since every access inside has its own condition.
  std::vector<std::string> implied = {};
};

inline std::vector<MutationProgram> mutation_programs() {
  return {
      {"matmul",
       R"(# fuzz def f
# fuzz inputs 1
# fuzz options {"version":1,"tile":[32,32,8],"threads":64,"contract_block_k":8}
def f(float(37,21) A, float(21,45) B) -> (C) {
  C(i,j) +=! A(i,r_k) * B(r_k,j)
}
)",
       {"r_k_block < 13"}},
      {"product on tensor cores",
       R"(# fuzz def f
# fuzz inputs 1
# fuzz options {"version":1,"tile":[40,24],"threads":128,"contract_block_k":16}
def f(bfloat16(39,72) A, bfloat16(72,40) B) -> (bfloat16(39,40) C) {
  C(i,j) +=! A(i,r_k) * B(r_k,j)
}
)"},
      {"softmax", R"(# fuzz def f
# fuzz inputs 2
# fuzz options {"version":1,"threads":64}
def f(float(5,99) X) -> (Y) {
  m(i) max=! X(i,r_j)
  s(i) +=! exp(X(i,r_j) - m(i))
  Y(i,j) = exp(X(i,j) - m(i)) / s(i)
}
)"},
      {"transpose", R"(# fuzz def f
# fuzz inputs 3
# fuzz options {"version":1}
def f(float(70,45) X) -> (Y) {
  Y(j,i) = X(i,j)
}
)"},
      {"argmax", R"(# fuzz def f
# fuzz inputs 4
# fuzz options {"version":1,"threads":128}
def f(float(3,301) X) -> (P) {
  P(i) argmax=! X(i,r_j)
}
)"},
      {"gather", R"(# fuzz def f
# fuzz inputs 5 wild
# fuzz options {"version":1}
def f(float(11,45) X, int32(7) R) -> (Y) {
  Y(l,d) = X(R(l),d) + 1
}
)"},
      {"scatter", R"(# fuzz def f
# fuzz inputs 6 wild integer
# fuzz options {"version":1,"deterministic":false}
def f(int32(19) R, float(19,13) X, float(9,13) Y) -> (Y) {
  Y(R(l),d) += X(l,d)
}
)"},
      {"convolution", R"(# fuzz def f
# fuzz inputs 7
# fuzz options {"version":1}
def f(float(2,3,9,11) X, float(5,3,3,3) K) -> (Y) {
  Y(n,m,h,w) +=! pad(X(n,r_c,h+r_p-1,w+r_q-1), 0) * K(m,r_c,r_p,r_q) where h in 0:9, w in 0:11
}
)"},
      {"windows",
       R"(# fuzz def f
# fuzz inputs 17
# fuzz options {"version":1,"tile":[1,3,8,0],"threads":64,"contract_block_k":18}
def f(bfloat16(2,5,17,21) X, bfloat16(6,5,3,3) K, float(6) B) -> (float(2,6,15,19) Y) {
  Y(n,m,h,w) +=! float(X(n,r_c,h+r_p,w+r_q)) * float(K(m,r_c,r_p,r_q))
  Y(n,m,h,w) = fmax(Y(n,m,h,w) + B(m), 0)
}
)",
       {"idle == 0"}},  // of the product: accumulators that nobody stores
      {"places in turn",
       R"(# fuzz def f
# fuzz inputs 18
# fuzz options {"version":1,"tile":[1],"threads":96,"contract_block_k":4}
def f(float(16,18) V, float(5,17) W, float(2,13,17,18) X) -> (Y) {
  T(m,i,j,d) +=! X(m,i,j,r_k) * V(d,r_k)
  Y(m,i,e,d) +=! T(m,i,r_j,d) * W(e,r_j)
}
)",
       // Accumulators and fetches that nobody uses.
       {"idle == 0", "idle == 0 && r_k_block < 14",
        "idle == 0 && r_k_block < 14 becomes r_k_block < 14",
        "idle == 0 && r_k_block < 14 becomes idle == 0"}},
      {"layer norm", R"(# fuzz def f
# fuzz inputs 8
# fuzz options {"version":1,"threads":96}
def f(float(7,77) X, float(77) G) -> (Y) {
  m(i) +=! X(i,r_j) / X.1
  v(i) +=! (X(i,r_j) - m(i)) * (X(i,r_j) - m(i)) / X.1
  Y(i,j) = (X(i,j) - m(i)) * rsqrt(v(i) + 1e-5) * G(j)
}
)"},
      {"recurrence", R"(# fuzz def f
# fuzz inputs 9
# fuzz options {"version":1}
def f(float(6,19) X, float(19,19) W) -> (H) {
  H(0,i) = X(0,i)
  for t in 1:6 {
    H(t,i) +=! W(i,r_j) * H(t-1,r_j)
    H(t,i) += X(t,i)
  }
}
)"},
      {"products in stages", R"(# fuzz def f
# fuzz inputs 11 integer
# fuzz views A=aligned B=aligned
# fuzz options {"version":1,"tile":[48,24],"threads":128,"contract_block_k":16}
def f(bfloat16(48,96) A, bfloat16(48,96) B) -> (C) {
  C(m,n) +=! A(m,r_k) * B(n,r_k)
}
)"},
      {"swizzled products along k", R"(# fuzz def f
# fuzz inputs 13 integer
# fuzz views A=aligned B=aligned
# fuzz options {"version":1,"tile":[32,16],"threads":128}
def f(bfloat16(32,448) A, bfloat16(16,448) B) -> (float(32,16) C) {
  C(m,n) +=! A(m,r_k) * B(n,r_k)
}
)"},
      {"swizzled products across k", R"(# fuzz def f
# fuzz inputs 14 integer
# fuzz views A=aligned B=aligned
# fuzz options {"version":1,"tile":[64,64],"threads":128,"contract_block_k":16}
def f(float16(48,64) A, float16(48,64) B) -> (float(64,64) C) {
  C(m,n) +=! A(r_k,m) * B(r_k,n)
}
)"},
      {"products of single elements", R"(# fuzz def f
# fuzz inputs 12 integer
# fuzz options {"version":1,"tile":[40,24],"threads":128,"contract_block_k":16}
def f(float16(41,37) A, float16(37,25) B, float(25) b) -> (C) {
  P(m,n) +=! float(A(m,r_k)) * B(r_k,n)
  C(m,n) = max(P(m,n) + b(n), 0)
}
)"},
      {"split sum", R"(# fuzz def f
# fuzz inputs 10 integer
# fuzz options {"version":1,"threads":96,"split_reduction":3}
def f(float(5003) X) -> (s) {
  s +=! X(r_i)
}
)"},
  };
}

}  // namespace tc::cases
