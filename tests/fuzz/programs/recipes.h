// SPDX-License-Identifier: Apache-2.0
//
// Statements to add to a state. A recipe writes a draft: it may name anything that exists, and
// whatever the front end then refuses is dropped again.
#pragma once

#include "random.h"
#include "state.h"

namespace tc::fuzz {

void write_assign(State& s, Random& r);    ///< a new tensor, element by element
void write_reduce(State& s, Random& r);    ///< a new tensor as a reduction of any expression
void write_contract(State& s, Random& r);  ///< sums of products: matrices, convolutions, diagonals
void write_large_product(State& s, Random& r);  ///< products of matrices worth packing
void write_transpose(State& s, Random& r);      ///< copies against the order in memory
void write_arg(State& s, Random& r);            ///< argmin, argmax
void write_update(State& s, Random& r);         ///< a tensor that exists, or a parameter in place
void write_scatter(State& s, Random& r);        ///< gathered left subscripts
void write_functions(State& s, Random& r);      ///< a row of builtin functions and casts
void write_gather(State& s, Random& r);         ///< sums over gathered rows
void write_copy(State& s, Random& r);           ///< moves, transposes, conversions
void write_staged(State& s, Random& r);         ///< a temporary between a load and a store
void write_concat(State& s, Random& r);         ///< one of two tensors by position
void write_constant(State& s, Random& r);       ///< no tensor read at all
void write_normalise(State& s, Random& r);      ///< reductions of rows and what is made of them
void write_recurrence(State& s, Random& r);     ///< for t: h(t) from h(t-1)
void write_time_steps(State& s, Random& r);     ///< for t: the same tensors again and again
void write_nested_for(State& s, Random& r);     ///< for t, for u: a table from its neighbours
void write_for_updates(State& s, Random& r);    ///< for t: statements over parts that depend on t
void write_chain(State& s, Random& r);          ///< temporaries, each from the one before, moved
void write_replace(State& s, Random& r);        ///< in place, from its own elements elsewhere
void write_reshape(State& s, Random& r);        ///< rows from blocks and blocks from rows
void write_call(State& s, Random& r);           ///< another def, written here too

}  // namespace tc::fuzz
