// SPDX-License-Identifier: Apache-2.0
//
// The text of a tile program. Expressions, buffers, arguments and steps are spelled as in kernel
// texts (kernel/text.h, plan.cpp).
//
//   program  = "tile" NAME  "scratch" BYTES  argument*  kernel*  step*
//   kernel   = "kernel" NAME "{" ("buffer" buffer)* ("int" VAR)* grid* ["thread" VAR N] node* "}"
//   grid     = "grid" VAR "in" LO ":" HI "step" N
//   node     = op | loop | "alloc" buffer | "barrier" NAME
//   loop     = "loop" VAR "in" expr ":" expr ["step" N] "{" node* "}"
//   op       = KIND LABEL "{" digit* dim* ("where" expr)* update [layout] "}"
//   digit    = "digit" VAR "stride" N "extent" N
//   dim      = VAR "in" expr ":" expr ["step" N] "extent" N ["reduction"]
//   update   = ["atomic"] access combine "=" ["!"] expr
//            | "(" access, ... ")" combine "=" ["!"] "(" expr, ... ")"     "!": from the identity
//   combine  = nothing | "+" | "*" | "min" | "max" | "argmin" | "argmax"
//   layout   = "layout" "order" [INT, ...] "vector" DIM "lanes" N "unroll" [INT, ...] ["group" N]
//
// Example, one tile of a matrix product:
//
//   contract S0 {
//     m in m_tile:min(m_tile + 64, 100) extent 64
//     n in 0:32 extent 32
//     k in 0:K extent 40 reduction
//     C[m, n] +=! A[m, k] * B[k, n]
//   }
#pragma once

#include "tc/tile/ir.h"

namespace tc::tile {

const char* to_text(OpKind kind);
const char* to_text(Combine combine);

}  // namespace tc::tile
