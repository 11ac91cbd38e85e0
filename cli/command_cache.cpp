// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.h"
#include "exit_status.h"
#include "files.h"
#include "tc/compiler/store.h"
#include "tc/tuner/record.h"

namespace tc::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string to_hex(const std::string& bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (unsigned char byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  if (text.size() % 2 != 0) throw std::invalid_argument("odd number of hex digits");
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned char byte = 0;
    const char* const end = text.data() + i + 2;
    if (std::from_chars(text.data() + i, end, byte, 16).ptr != end)
      throw std::invalid_argument(fmt::format("'{}' are no hex digits", text.substr(i, 2)));
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

int list(compiler::KernelStore& store) {
  for (const compiler::StoreEntry& entry : store.list())
    fmt::print("{}  {:>9}  {}  {}\n", entry.key, entry.bytes, entry.created, entry.description);
  return kDone;
}

int show(compiler::KernelStore& store, const std::vector<std::string>& keys) {
  if (keys.empty())
    throw CommandError(kUsage, "cache show needs the key of an entry (see 'tensorc cache list')");
  for (const std::string& key : keys) {
    std::optional<compiler::StoredKernel> kernel = store.find(key);
    if (!kernel)
      throw CommandError(kUserError, fmt::format("the cache has no readable entry '{}'", key));
    fmt::print("{}\n{}\nobject: {} bytes\n{}\n", key, kernel->description, kernel->object.size(),
               kernel->launch_table);
  }
  return kDone;
}

std::string kernel_lines(compiler::KernelStore& store) {
  std::string lines;
  for (const compiler::StoreEntry& entry : store.list()) {
    std::optional<compiler::StoredKernel> kernel = store.find(entry.key);
    if (!kernel) continue;
    lines += Json{{"key", entry.key},
                  {"description", kernel->description},
                  {"launch_table", kernel->launch_table},
                  {"object", to_hex(kernel->object)}}
                 .dump() +
             "\n";
  }
  return lines;
}

std::string record_lines(tuner::RecordStore& records) {
  std::string lines;
  for (const tuner::Record& record : records.list())
    lines += tuner::to_json(record) + "\n";
  return lines;
}

/// For actions that change the cache.
void expect_writable(compiler::KernelStore& store) {
  if (const std::string problem = store.problem(); !problem.empty())
    throw CommandError(kUserError, fmt::format("the cache '{}' cannot be written: {}",
                                               store.path().string(), problem));
}

/// A line is a kernel or a tuned record.
struct Imported {
  std::vector<std::pair<std::string, compiler::StoredKernel>> kernels;
  std::vector<tuner::Record> records;
};

void import_line(const std::string& line, Imported& imported) {
  const Json json = Json::parse(line);
  if (!json.is_object()) throw std::invalid_argument("a line is one JSON object");
  if (json.contains("record")) {
    Result<tuner::Record, std::string> record = tuner::record_from_json(line);
    if (!record) throw std::invalid_argument(record.error());
    imported.records.push_back(std::move(record).value());
    return;
  }
  imported.kernels.emplace_back(
      json.at("key").get<std::string>(),
      compiler::StoredKernel{json.at("launch_table").get<std::string>(),
                             from_hex(json.at("object").get<std::string>()),
                             json.at("description").get<std::string>()});
}

int import_entries(compiler::KernelStore& store, tuner::RecordStore& records,
                   const std::vector<std::string>& arguments) {
  if (arguments.empty()) throw CommandError(kUsage, "cache import needs a file (or -)");
  std::istringstream lines(read_file(arguments.front()));
  Imported imported;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      import_line(line, imported);
    } catch (const std::exception& error) {
      // All or nothing: no entry was written yet.
      throw CommandError(kUserError, fmt::format("{}:{}: not an exported entry: {}",
                                                 arguments.front(), number, error.what()));
    }
  }
  expect_writable(store);
  for (const auto& [key, kernel] : imported.kernels)
    store.put(key, kernel);
  for (const tuner::Record& record : imported.records) {
    if (!records.put(record))
      throw CommandError(kUserError,
                         fmt::format("the cache '{}' cannot be written", store.path().string()));
  }
  fmt::print("{} entries\n", imported.kernels.size() + imported.records.size());
  return kDone;
}

int list_records(tuner::RecordStore& records) {
  for (const tuner::Record& record : records.list()) {
    std::string sizes;
    for (std::size_t i = 0; i < record.identity.sizes.size(); ++i)
      sizes += fmt::format(" {}={}", record.identity.size_names.at(i), record.identity.sizes[i]);
    fmt::print("{}  {}{} on {}  {}  {:.4g} us  {}\n", record.created, record.identity.def, sizes,
               record.identity.arch, tuner::to_string(record.outcome), record.median_us,
               to_json(record.options));
  }
  return kDone;
}

/// The tuned records alone.
int records_command(const CacheFlags& flags, tuner::RecordStore& records) {
  if (flags.action == "list") return list_records(records);
  if (flags.action == "export") {
    write_file(flags.arguments.empty() ? "-" : flags.arguments.front(), record_lines(records));
    return kDone;
  }
  if (flags.action == "clear") {
    fmt::print("{} records removed\n", records.clear());
    return kDone;
  }
  throw CommandError(kUsage, "--tuned belongs to the actions list, export and clear");
}

}  // namespace

int cache_command(const CacheFlags& flags, const Environment& environment) {
  std::unique_ptr<compiler::KernelStore> store =
      compiler::open_sqlite_store(environment.cache_dir, INT64_MAX);
  const std::unique_ptr<tuner::RecordStore> records = tuner::open_sqlite_records(store->path());
  if (flags.action == "clear" || flags.action == "prune") expect_writable(*store);
  if (flags.tuned) return records_command(flags, *records);
  if (flags.action == "path") {
    fmt::print("{}\n", store->path().string());
    return kDone;
  }
  if (flags.action == "list") return list(*store);
  if (flags.action == "show") return show(*store, flags.arguments);
  if (flags.action == "export") {
    write_file(flags.arguments.empty() ? "-" : flags.arguments.front(),
               kernel_lines(*store) + record_lines(*records));
    return kDone;
  }
  if (flags.action == "import") return import_entries(*store, *records, flags.arguments);
  if (flags.action == "prune") {
    fmt::print("{} entries removed\n", store->prune(flags.max_bytes));
    return kDone;
  }
  if (flags.action == "clear") {
    fmt::print("{} entries removed\n", store->clear());
    return kDone;
  }
  if (flags.action == "verify") {
    const std::vector<std::string> problems = store->verify();
    for (const std::string& problem : problems)
      fmt::print("{}\n", problem);
    if (problems.empty()) fmt::print("{} entries, all intact\n", store->list().size());
    return problems.empty() ? kDone : kUserError;
  }
  throw CommandError(kUsage, fmt::format("unknown cache action '{}'; known are list, show, export, "
                                         "import, prune, clear, verify, path",
                                         flags.action));
}

}  // namespace tc::cli
