// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "exit_status.h"
#include "files.h"
#include "npy.h"
#include "tc/lang/parser.h"
#include "tc/lang/sema.h"
#include "tc/support/numeric.h"
#include "tc/tune.h"

namespace tc::cli {

namespace {

constexpr const char* kTunedOptions = "tuned";
/// Of every block that the CUDA driver allocates, in bytes.
constexpr std::int64_t kDeviceAlignment = 256;

std::pair<std::string, std::string> split_assignment(const std::string& text,
                                                     const std::string& flag) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw CommandError(kUsage, fmt::format("{} expects NAME=VALUE, not '{}'", flag, text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::optional<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

/// An integer or bool as a value of that type is written: uint64 gives its bits, bool takes true,
/// false, 0 and 1. Narrower integers are not checked.
std::optional<std::int64_t> parse_integer_of(DType type, const std::string& text) {
  if (type == DType::Bool) {
    if (text == "true" || text == "1") return 1;
    if (text == "false" || text == "0") return 0;
    return std::nullopt;
  }
  if (type != DType::UInt64) return parse_integer(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

/// -D values, sorted into sizes and const parameters of the def.
lang::Bindings read_defines(const lang::TypedDef& def, const std::vector<std::string>& defines) {
  lang::Bindings bindings;
  for (const std::string& define : defines) {
    auto [name, text] = split_assignment(define, "-D");
    const auto& wanted = name;
    if (bindings.sizes.count(name) != 0 || bindings.consts.count(name) != 0)
      throw CommandError(kUsage, fmt::format("-D {}: '{}' has a value already", define, name));
    const bool is_size = std::any_of(def.sizes.begin(), def.sizes.end(),
                                     [&](const lang::Size& size) { return size.name == wanted; });
    auto constant = std::find_if(def.consts.begin(), def.consts.end(),
                                 [&](const lang::Const& c) { return c.name == wanted; });
    if (!is_size && constant == def.consts.end()) {
      throw CommandError(
          kUserError,
          fmt::format("-D {}: '{}' has no size or const parameter of that name", define, def.name));
    }
    if (constant != def.consts.end() && is_float(constant->type)) {
      const auto value = parse_number(text);
      if (!value)
        throw CommandError(kUserError, fmt::format("-D {}: a number is expected", define));
      bindings.consts[name] = {0, *value};
      continue;
    }
    const DType type = is_size ? DType::Int64 : constant->type;
    const auto value = parse_integer_of(type, text);
    if (!value) {
      throw CommandError(kUserError,
                         fmt::format("-D {}: {} is expected", define,
                                     type == DType::Bool     ? "true, false, 0 or 1"
                                     : type == DType::UInt64 ? "an integer from 0 below 2^64"
                                                             : "an integer of at most 64 bits"));
    }
    if (is_size && *value < 0)
      throw CommandError(kUserError, fmt::format("-D {}: a size is not negative", define));
    if (is_size)
      bindings.sizes[name] = *value;
    else
      bindings.consts[name] = {*value, static_cast<double>(*value)};
  }
  return bindings;
}

/// A tensor of rank 0 from a number on the command line; nullopt if `text` is no number, so that it
/// names a file.
std::optional<compiler::HostTensor> scalar(const std::string& name, DType type,
                                           const std::string& text) {
  lang::Value value = lang::Value::zeros(type, {});
  const std::optional<double> number = parse_number(text);
  if (is_float(type)) {
    if (!number) return std::nullopt;
    value.real[0] = round_to(type, *number);
    return compiler::from_value(value);
  }
  const std::optional<std::int64_t> integer = parse_integer_of(type, text);
  if (!integer && !number) return std::nullopt;
  if (!integer || (is_integer(type) && wrap_to(type, *integer) != *integer)) {
    throw CommandError(kUserError, fmt::format("--input {}={}: the number does not fit {}", name,
                                               text, tc::name(type)));
  }
  value.integer[0] = *integer;
  return compiler::from_value(value);
}

/// Whether some statement accumulates onto an output. Which elements earlier ones have written is
/// known with sizes only.
bool may_need_initial(const lang::TypedDef& def, const lang::Tensor& tensor) {
  const std::vector<lang::StatementInContext> statements = lang::statements(def);
  return tensor.is_output &&
         std::any_of(statements.begin(), statements.end(), [&](const auto& context) {
           const lang::Statement& statement = *context.statement;
           return &def.tensors[static_cast<std::size_t>(statement.tensor)] == &tensor &&
                  statement.op && !statement.init;
         });
}

std::map<std::string, compiler::HostTensor> read_inputs(const lang::TypedDef& def,
                                                        const std::vector<std::string>& inputs) {
  std::map<std::string, compiler::HostTensor> given;
  for (const std::string& input : inputs) {
    auto [name, value] = split_assignment(input, "--input");
    const auto& wanted = name;
    auto tensor =
        std::find_if(def.tensors.begin(), def.tensors.end(), [&](const lang::Tensor& candidate) {
          return candidate.name == wanted &&
                 (candidate.is_param || may_need_initial(def, candidate));
        });
    if (tensor == def.tensors.end())
      throw CommandError(kUserError, fmt::format("--input {}: '{}' has no parameter of that name",
                                                 input, def.name));
    if (given.count(name) != 0)
      throw CommandError(kUsage, fmt::format("--input {}: '{}' has data already", input, name));
    std::optional<compiler::HostTensor> number;
    if (tensor->rank == 0) number = scalar(name, tensor->type, value);
    compiler::HostTensor data = number ? std::move(*number) : read_npy(value, tensor->type);
    if (static_cast<int>(data.meta().sizes.size()) != tensor->rank) {
      throw CommandError(kUserError,
                         fmt::format("'{}': argument '{}' has rank {} where rank {} is expected",
                                     value, name, data.meta().sizes.size(), tensor->rank));
    }
    given.insert_or_assign(name, std::move(data));
  }
  return given;
}

/// Sizes that bare identifiers of given shapes fix; contradictions are bind_sizes' business.
void bind_from_shapes(const lang::TypedDef& def,
                      const std::map<std::string, compiler::HostTensor>& given,
                      lang::Bindings& bindings) {
  for (const lang::Tensor& tensor : def.tensors) {
    auto data = given.find(tensor.name);
    if (!tensor.is_param || data == given.end()) continue;
    for (std::size_t d = 0; d < tensor.extent.size(); ++d) {
      if (const auto* size = std::get_if<lang::SizeRef>(&tensor.extent[d]->node)) {
        bindings.sizes.emplace(def.sizes[static_cast<std::size_t>(size->size)].name,
                               data->second.meta().sizes[d]);
      }
    }
  }
}

/// Extents of a parameter without data. Throws when a size is not known.
std::vector<std::int64_t> shape_from_sizes(const SourceBuffer& source, const lang::TypedDef& def,
                                           const lang::Tensor& tensor,
                                           const lang::Bindings& bindings) {
  std::vector<std::int64_t> sizes(def.sizes.size(), 0);
  std::set<int> unknown;
  for (std::size_t i = 0; i < def.sizes.size(); ++i) {
    auto found = bindings.sizes.find(def.sizes[i].name);
    if (found == bindings.sizes.end())
      unknown.insert(static_cast<int>(i));
    else
      sizes[i] = found->second;
  }
  std::vector<std::int64_t> consts;
  for (const lang::Const& constant : def.consts) {
    auto found = bindings.consts.find(constant.name);
    if (found == bindings.consts.end())
      throw CommandError(kUserError, fmt::format("const parameter '{}' needs a value: -D {}=...",
                                                 constant.name, constant.name));
    consts.push_back(found->second.integer);
  }
  std::vector<std::int64_t> shape;
  for (const lang::ExprPtr& extent : tensor.extent) {
    lang::walk(extent, [&](const lang::Expr& node) {
      const auto* size = std::get_if<lang::SizeRef>(&node.node);
      if (size == nullptr || unknown.count(size->size) == 0) return;
      const std::string& name = def.sizes[static_cast<std::size_t>(size->size)].name;
      throw CommandError(
          kUserError,
          fmt::format(
              "size '{}' of argument '{}' is not known: give -D {}=... or --input {}=FILE.npy",
              name, tensor.name, name, tensor.name));
    });
    lang::IntEnv env;
    env.sizes = &sizes;
    env.consts = &consts;
    const auto value = lang::evaluate(extent, env);
    if (!value) {
      DiagnosticSink sink;
      lang::report_dimension(def, tensor, shape.size(), bindings, sink);
      throw CommandError(kUserError, render(source, sink.sorted()));
    }
    shape.push_back(*value);
  }
  return shape;
}

}  // namespace

void add_call_flags(CLI::App& command, CallFlags& flags, const Environment& environment) {
  flags.target = environment.target;
  if (environment.target_given) flags.environment_target = environment.target;
  command.add_option("file", flags.file, "program text; - reads stdin")->required();
  command.add_option("-f,--def", flags.def, "def to use; not needed when the text has one");
  command.add_option("-D,--define", flags.defines, "NAME=VALUE of a size or const parameter");
  command.add_option("--input", flags.inputs, "NAME=FILE.npy of a tensor, NAME=NUMBER of a scalar");
  command.add_option("--target", flags.target, "cpu or cuda[:N]")
      ->each([&flags](const std::string&) { flags.target_given = true; });
  command.add_option("--arch", flags.arch,
                     "native; x86-64-v3 and other levels; sm_80, sm_90a and other GPUs");
  command.add_option("--options", flags.options, "default, naive, tuned, or a JSON file");
  command.add_option("--seed", flags.seed, "seed of inputs that are not given")
      ->check([](const std::string& text) {
        return parse_integer_of(DType::UInt64, text) ? ""
                                                     : "an integer from 0 below 2^64, not " + text;
      });
  for_each_field([&](const auto& field) {
    std::string flag = std::string("--") + field.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    command
        .add_option_function<std::string>(
            flag,
            [&flags, name = std::string(field.name)](const std::string& value) {
              flags.overrides[name] = value;
            },
            field.doc)
        ->type_name(field.domain)
        ->group("Mapping options");
  });
}

namespace {

/// Options with what single flags of the command line say.
MappingOptions overridden(const MappingOptions& options,
                          const std::map<std::string, std::string>& overrides) {
  if (overrides.empty()) return options;
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(to_json(options));
  for_each_field([&](const auto& field) {
    auto found = overrides.find(field.name);
    if (found == overrides.end()) return;
    using Member = std::decay_t<decltype(options.*field.member)>;
    if constexpr (std::is_same_v<Member, std::vector<std::int64_t>>) {
      json[field.name] = nlohmann::ordered_json::parse("[" + found->second + "]", nullptr, false);
    } else if constexpr (std::is_same_v<Member, std::int64_t> || std::is_same_v<Member, bool>) {
      json[field.name] = nlohmann::ordered_json::parse(found->second, nullptr, false);
    } else {
      json[field.name] = found->second;
    }
    // What is wrong with one value is said with the value as it was written.
    const nlohmann::ordered_json alone = {{"version", json["version"]},
                                          {field.name, json[field.name]}};
    if (json[field.name].is_discarded() || !options_from_json(alone.dump()))
      throw CommandError(kUsage, fmt::format("option {} expects {}, not '{}'", field.name,
                                             field.domain, found->second));
  });
  const Result<MappingOptions, std::string> result = options_from_json(json.dump());
  if (!result) throw CommandError(kUsage, result.error());
  return *result;
}

/// What records say for a call whose metadata is complete; a note says which one spoke.
MappingOptions options_of_records(const Call& call, const CompileContext& context) {
  const Result<TunedOptions, Failure> tuned =
      tuned_options(call.source.text(), call.def, call.metadata, call.target, context);
  if (!tuned) {
    throw_failure(tuned.error(), call.source);
  }
  fmt::print(stderr, "tensorc: options tuned: {}\n", tuned->note);
  return tuned->options;
}

}  // namespace

MappingOptions make_options(const CallFlags& flags, TargetKind kind) {
  const std::string& name = flags.options;
  if (name == kTunedOptions)
    throw CommandError(kUsage, "options 'tuned' belong to a program, not to the text of a stage");
  const Result<MappingOptions, std::string> options = name == "default" || name == "naive"
                                                          ? named_options(name, kind)
                                                          : options_from_json(read_file(name));
  if (!options)
    throw CommandError(kUserError, fmt::format("options '{}': {}", name, options.error()));
  return overridden(*options, flags.overrides);
}

NamedTarget make_target(const CallFlags& flags, const CompileContext& context) {
  const bool has_arch = flags.arch != "native";
  std::string name = flags.target;
  // The name of a GPU's architecture says the target too.
  const bool says_cuda = flags.arch.rfind("sm_", 0) == 0;
  if (name == "cpu" && says_cuda && flags.target_given)
    throw CommandError(kUsage, fmt::format("--arch {} names an architecture of target 'cuda', but "
                                           "--target is 'cpu'; leave one of them out",
                                           flags.arch));
  if (name == "cpu" && says_cuda) name = "cuda";
  const bool gpu = name == "cuda" || name.rfind("cuda:", 0) == 0;
  if (has_arch && (name == "cpu" || gpu))
    name = (gpu ? "cuda-" : "cpu-") + flags.arch;
  else if (has_arch)
    throw CommandError(kUsage, fmt::format("--arch {} beside target '{}'; targets that take an "
                                           "architecture are cpu and cuda[:N]",
                                           flags.arch, name));
  Result<NamedTarget, Failure> found = find_target(name, context);
  if (!found && found.error().kind == Failure::Kind::Target) {
    throw CommandError(kTargetMissing,
                       found.error().message +
                           "\n'compile' needs no device when --arch names an architecture: sm_90a");
  }
  if (!found && flags.target == flags.environment_target)
    throw CommandError(kUsage, fmt::format("TC_TARGET={}: {}", name, found.error().message));
  if (!found) throw CommandError(kUsage, found.error().message);
  if (has_arch && flags.target.rfind("cuda:", 0) == 0) {
    const auto device = parse_integer(flags.target.substr(5));
    if (!device || *device < 0 || *device > INT32_MAX)
      throw CommandError(kUsage, fmt::format("target '{}' names no device", flags.target));
    found->device = static_cast<int>(*device);
  }
  return *found;
}

void set_target(nlohmann::ordered_json& json, const Call& call) {
  json["target"] = to_string(call.target.kind);
  json["arch"] = call.target.arch;
  json["features"] = call.target.features;
  if (call.target.kind == TargetKind::Cuda) json["device"] = call.device;
}

void throw_failure(const Failure& failure) {
  switch (failure.kind) {
  case Failure::Kind::Program:
  case Failure::Kind::Argument:
  case Failure::Kind::Mapping: throw CommandError(kUserError, failure.message);
  case Failure::Kind::Target: throw CommandError(kTargetMissing, failure.message);
  case Failure::Kind::Internal: throw CommandError(kInternal, failure.message);
  }
  throw CommandError(kInternal, failure.message);
}

void throw_failure(const Failure& failure, const SourceBuffer& source) {
  // Messages of the library know no name of a file.
  throw_failure(compiler::with_places(source, failure));
}

Call make_call(const CallFlags& flags, const CompileContext& context) {
  const NamedTarget target = make_target(flags, context);
  const bool from_records = flags.options == kTunedOptions;
  const MappingOptions options =
      from_records ? MappingOptions() : make_options(flags, target.target.kind);
  Call call{SourceBuffer(flags.file == "-" ? "<stdin>" : flags.file, read_file(flags.file)),
            {},
            {},
            options,
            target.target,
            target.device,
            {}};

  DiagnosticSink sink;
  const lang::ast::Program program = lang::parse(call.source, sink);
  if (sink.has_errors()) throw CommandError(kUserError, render(call.source, sink.sorted()));
  Result<std::string, Failure> def = compiler::choose_def(program, flags.def);
  if (!def) throw CommandError(kUserError, def.error().message);
  call.def = *def;
  const std::optional<lang::TypedDef> typed = lang::analyse(program, call.def, sink);
  if (sink.has_errors() || !typed)
    throw CommandError(kUserError, render(call.source, sink.sorted()));

  lang::Bindings bindings = read_defines(*typed, flags.defines);
  call.given = read_inputs(*typed, flags.inputs);
  for (const auto& [name, value] : bindings.consts)
    call.metadata.consts[name] = {value.integer, value.real};
  call.metadata.sizes = bindings.sizes;
  bind_from_shapes(*typed, call.given, bindings);
  for (const lang::Tensor& tensor : typed->tensors) {
    if (!tensor.is_param) continue;
    auto data = call.given.find(tensor.name);
    if (data != call.given.end()) {
      call.metadata.inputs.push_back(data->second.meta());
      continue;
    }
    TensorMeta meta;
    meta.type = tensor.type;
    meta.sizes = shape_from_sizes(call.source, *typed, tensor, bindings);
    meta.alignment = std::max(1, bits(meta.type) / 8);
    call.metadata.inputs.push_back(std::move(meta));
  }
  if (call.target.kind == TargetKind::Cuda) {
    // The program allocates the tensors itself, each a block of its own.
    call.metadata.output_alignment = kDeviceAlignment;
    for (TensorMeta& meta : call.metadata.inputs)
      meta.alignment = kDeviceAlignment;
  }
  if (from_records) call.options = overridden(options_of_records(call, context), flags.overrides);
  return call;
}

}  // namespace tc::cli
