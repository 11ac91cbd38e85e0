// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "environment.h"
#include "tc/compiler/host_tensor.h"
#include "tc/compiler/pipeline.h"
#include "tc/tc.h"

namespace CLI {
class App;
}

namespace tc::cli {

/// The flags that say which def is meant, for which sizes, data, target and options.
struct CallFlags {
  std::string file;
  std::string def;
  std::vector<std::string> defines;  ///< -D NAME=VALUE
  std::vector<std::string> inputs;   ///< --input NAME=FILE, or NAME=NUMBER for a scalar
  std::string target;
  bool target_given = false;       ///< by --target
  std::string environment_target;  ///< what TC_TARGET says; empty: it is not set
  std::string arch = "native";
  std::string options = "default";
  std::map<std::string, std::string> overrides;  ///< one flag per field of the options schema
  std::uint64_t seed = 0;
};

/// Declares the flags on a subcommand. `flags` must outlive the parse.
void add_call_flags(CLI::App& command, CallFlags& flags, const Environment& environment);

/// Everything that a compilation needs, with the data as far as it was given.
struct Call {
  SourceBuffer source;
  std::string def;
  Metadata metadata;
  MappingOptions options;
  Target target;
  int device = 0;                                     ///< ordinal of the CUDA device
  std::map<std::string, compiler::HostTensor> given;  ///< by parameter (or accumulated output) name
};

/// Reads the files, solves the sizes, builds the metadata of all inputs. Throws CommandError.
Call make_call(const CallFlags& flags, const CompileContext& context);

/// The chosen target: the CPU or a GPU of this machine, or the architecture named with --arch.
/// Throws CommandError{kUsage} and {kTargetMissing}.
NamedTarget make_target(const CallFlags& flags, const CompileContext& context);
MappingOptions make_options(const CallFlags& flags, TargetKind kind);

/// The fields that say where a call runs: target, arch, features, and device on a GPU.
void set_target(nlohmann::ordered_json& json, const Call& call);

/// Status and text of a failed compilation; diagnostics are shown with their lines of `source`.
[[noreturn]] void throw_failure(const Failure& failure);
[[noreturn]] void throw_failure(const Failure& failure, const SourceBuffer& source);

}  // namespace tc::cli
