// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <type_traits>

#include "tc/compiler/random_inputs.h"
#include "tc/lang/interpreter.h"
#include "tc/runtime/cpu/module.h"
#include "tc/tuner/widened.h"

namespace tc::tuner {

namespace {

/// Points that the interpreter does in a few seconds.
constexpr std::int64_t kMostInterpreted = 10'000'000;
/// Points that the naive mapping, one scalar after the other, does in a few seconds.
constexpr std::int64_t kMostNaive = 1'500'000'000;
/// Integers up to here are exact in float32, and so are their sums on the way.
constexpr double kExactLimit = 0x1p22;

bool is_exact(const compiler::Reference& reference) {
  for (std::size_t o = 0; o < reference.language.size(); ++o) {
    const lang::Value& value = reference.language[o];
    const lang::Value& precise = reference.precise[o];
    if (value.integer != precise.integer) return false;
    for (std::size_t i = 0; i < value.real.size(); ++i) {
      const double x = value.real[i];
      if (x != precise.real[i] || x != std::floor(x) || std::fabs(x) > kExactLimit) return false;
    }
  }
  return true;
}

std::vector<compiler::HostTensor> copies(const std::vector<OutputView>& outputs) {
  std::vector<compiler::HostTensor> tensors;
  for (const OutputView& output : outputs)
    tensors.push_back(output.copy());
  return tensors;
}

/// Results of a mapping for this CPU.
Result<std::vector<compiler::HostTensor>, Failure>
mapped_results(const char* options, Arguments& arguments, std::string_view text,
               std::string_view def, const Metadata& metadata, const CompileContext& context) {
  const Result<Executor, Failure> executor =
      compile(text, def, metadata, *named_options(options, TargetKind::Cpu),
              runtime::cpu::host_target(), context);
  if (!executor) return executor.error();
  const std::unique_ptr<Bench> bench = cpu_bench(arguments);
  const Result<std::vector<OutputView>, BenchProblem> results = bench->run_checked(*executor);
  if (!results) return compiler::argument_failure("the reference: " + results.error().message);
  return copies(*results);
}

std::vector<lang::Value> values_of(const std::vector<compiler::HostTensor>& tensors) {
  std::vector<lang::Value> values;
  for (const compiler::HostTensor& tensor : tensors)
    values.push_back(compiler::to_value(tensor));
  return values;
}

/// Results of the same mapping where everything is computed in float64, from the same values.
Result<std::vector<lang::Value>, Failure> wide_results(const char* options, std::string_view text,
                                                       std::string_view def,
                                                       const Metadata& metadata,
                                                       const CompileContext& context) {
  const Widened wide = widen(text, metadata);
  const SourceBuffer source("<text>", wide.text);
  const Result<compiler::FrontEnd, Failure> front = compiler::front_end(source, def, wide.metadata);
  if (!front) return front.error();
  Arguments arguments(*front);
  const Result<std::vector<compiler::HostTensor>, Failure> results =
      mapped_results(options, arguments, wide.text, def, wide.metadata, context);
  if (!results) return results.error();
  return values_of(*results);
}

// ---- a file of plain values ----
class Writer {
public:
  explicit Writer(std::ofstream& out) : out_(out) {}
  template <class T>
  void one(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out_.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void many(const T& values) {
    one(static_cast<std::uint64_t>(values.size()));
    out_.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof values[0]));
  }
  void value(const lang::Value& value) {
    one(value.type);
    many(value.shape);
    many(value.real);
    many(value.integer);
  }

private:
  std::ofstream& out_;
};

class Reader {
public:
  explicit Reader(std::ifstream& in) : in_(in) {}
  template <class T>
  void one(T& value) {
    in_.read(reinterpret_cast<char*>(&value), sizeof value);
  }
  template <class T>
  void many(T& values) {
    std::uint64_t size = 0;
    one(size);
    if (!in_) return;
    values.resize(size);
    in_.read(reinterpret_cast<char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof values[0]));
  }
  void value(lang::Value& value) {
    one(value.type);
    many(value.shape);
    many(value.real);
    many(value.integer);
  }

private:
  std::ifstream& in_;
};

}  // namespace

Result<Oracle, Failure> Oracle::compute(const compiler::FrontEnd& front, Arguments& arguments,
                                        std::string_view text, std::string_view def,
                                        const Metadata& metadata, const CompileContext& context) {
  Oracle oracle;
  const std::int64_t points = lang::count_points(front.specialised);
  if (points <= kMostInterpreted) {
    oracle.source_ = "interpreter";
    const auto inputs = arguments.input_values();
    if (!inputs)
      return compiler::argument_failure("tensors of a packed type with strides cannot be tuned");
    oracle.reference_ =
        compiler::interpret_reference(front.specialised, *inputs, arguments.initial_values());
  } else {
    const bool is_naive = points <= kMostNaive;
    oracle.source_ = is_naive ? "naive mapping" : "default mapping of the CPU";
    const char* options = is_naive ? "naive" : "default";
    const Result<std::vector<compiler::HostTensor>, Failure> results =
        mapped_results(options, arguments, text, def, metadata, context);
    if (!results) return results.error();
    Result<std::vector<lang::Value>, Failure> wide =
        wide_results(options, text, def, metadata, context);
    if (!wide) return wide.error();
    oracle.reference_.language = values_of(*results);
    oracle.reference_.precise = std::move(wide).value();
    oracle.reference_.scale = compiler::kSmallInteger;
  }
  oracle.exact_ = tuner::is_exact(oracle.reference_);
  return oracle;
}

bool Oracle::save(const std::filesystem::path& file) const {
  std::ofstream out(file, std::ios::binary);
  Writer writer(out);
  writer.many(source_);
  writer.one(exact_);
  writer.one(reference_.scale);
  writer.one(static_cast<std::uint64_t>(reference_.language.size()));
  for (std::size_t o = 0; o < reference_.language.size(); ++o) {
    writer.value(reference_.language[o]);
    writer.value(reference_.precise[o]);
  }
  out.close();
  return !out.fail();
}

std::optional<Oracle> Oracle::load(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  Oracle oracle;
  Reader reader(in);
  reader.many(oracle.source_);
  reader.one(oracle.exact_);
  reader.one(oracle.reference_.scale);
  std::uint64_t outputs = 0;
  reader.one(outputs);
  for (std::uint64_t o = 0; o < outputs && in; ++o) {
    reader.value(oracle.reference_.language.emplace_back());
    reader.value(oracle.reference_.precise.emplace_back());
  }
  if (!in) return std::nullopt;
  return oracle;
}

std::optional<std::string> Oracle::compare(const compiler::FrontEnd& front,
                                           const std::vector<OutputView>& outputs) {
  const auto exactness = exact_ ? compiler::Exactness::Exact : compiler::Exactness::Rounded;
  if (!acceptance_) acceptance_.emplace(front.specialised, reference_, exactness);
  if (acceptance_->accepts(outputs)) return std::nullopt;
  const compiler::Comparison comparison =
      compiler::compare(front.specialised, reference_, copies(outputs), exactness);
  if (comparison.ok) return std::nullopt;
  return comparison.message;
}

std::string Oracle::description() const {
  return source_ + (exact_ ? ", exact" : ", within rounding");
}

}  // namespace tc::tuner
