// SPDX-License-Identifier: Apache-2.0
//
// The compiler as a list of calls. Each function takes the value of one stage and returns that of
// the next.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tc/kernel/plan.h"
#include "tc/lang/sema.h"
#include "tc/lang/typed.h"
#include "tc/tc.h"
#include "tc/tile/ir.h"

namespace tc::compiler {

enum class Stage {
  Ast,
  Typed,
  Ranges,
  Scop,
  Fusion,
  Schedule,
  Tile,
  Kernel,
  Cuda,
  Ptx,
  Sass,
  Llvm,
  Asm,
  Object,
  Header
};
const char* to_string(Stage stage);
std::optional<Stage> stage_from_name(std::string_view name);
/// Names of all stages in order, for usage texts.
std::vector<std::string> stage_names();

/// The program of one call after the front end: everything is a number.
struct FrontEnd {
  lang::TypedDef symbolic;
  lang::Bindings bindings;
  lang::TypedDef specialised;
  std::vector<TensorMeta> inputs;   ///< by parameter position, strides filled in
  std::vector<TensorMeta> outputs;  ///< by return position, strides filled in
  std::vector<Diagnostic> warnings;
};

/// Sees the text of each stage as it is made; used by dumps and by --emit.
using StageObserver = std::function<void(Stage, const std::function<std::string()>&)>;

/// parse -> analyse -> bind sizes -> specialise. The proofs are prove()'s, so that a cached program
/// need not repeat them. `def` empty: the text must hold exactly one. `fresh_alignment`: bytes that
/// the address of an output which the metadata does not give is a multiple of.
Result<FrontEnd, Failure> front_end(const SourceBuffer& source, std::string_view def,
                                    const Metadata& metadata, std::int64_t fresh_alignment = 1);

/// Alignment that a target asks of memory made for outputs: wide accesses of a GPU need 16 bytes, a
/// CPU takes any address.
std::int64_t fresh_alignment(const Target& target);

/// The exact proofs; nullopt if everything holds.
std::optional<Failure> prove(const SourceBuffer& source, const FrontEnd& front);

/// scop -> dependences -> schedule -> tile program. `schedule_text` not empty: that schedule
/// instead of the computed one.
Result<tile::Program, Failure> make_tile_program(const FrontEnd& front,
                                                 const MappingOptions& options,
                                                 const Target& target, const StageObserver& observe,
                                                 const std::string& schedule_text = {});

/// Tile program -> the same with layouts, threads and barriers, verified.
Result<tile::Program, Failure> select_layouts(const tile::Program& program,
                                              const MappingOptions& options, const Target& target);

/// Tile program -> layouts -> kernel plan, verified.
Result<kernel::Plan, Failure> make_plan(const tile::Program& program, const MappingOptions& options,
                                        const Target& target, const StageObserver& observe);

/// Finds the def that `name` means: itself, or the only one when `name` is empty.
Result<std::string, Failure> choose_def(const lang::ast::Program& program, std::string_view name);

/// The failure as it is, its message with the places of its diagnostics in `source`.
Failure with_places(const SourceBuffer& source, Failure failure);

Failure program_failure(const SourceBuffer& source, std::vector<Diagnostic> diagnostics);
Failure mapping_failure(Rejection rejection);
Failure argument_failure(std::string message);

}  // namespace tc::compiler
