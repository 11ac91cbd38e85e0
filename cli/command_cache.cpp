// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands.h"
#include "exit_status.h"
#include "files.h"
#include "tc/compiler/store.h"

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
    std::size_t used = 0;
    bytes += static_cast<char>(std::stoi(text.substr(i, 2), &used, 16));
    if (used != 2) throw std::invalid_argument("not a hex digit");
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

int export_entries(compiler::KernelStore& store, const std::vector<std::string>& arguments) {
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
  write_file(arguments.empty() ? "-" : arguments.front(), lines);
  return kDone;
}

int import_entries(compiler::KernelStore& store, const std::vector<std::string>& arguments) {
  if (arguments.empty()) throw CommandError(kUsage, "cache import needs a file (or -)");
  std::istringstream lines(read_file(arguments.front()));
  std::vector<std::pair<std::string, compiler::StoredKernel>> entries;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    try {
      const Json json = Json::parse(line);
      entries.emplace_back(json.at("key").get<std::string>(),
                           compiler::StoredKernel{json.at("launch_table").get<std::string>(),
                                                  from_hex(json.at("object").get<std::string>()),
                                                  json.at("description").get<std::string>()});
    } catch (const std::exception& error) {
      // All or nothing: no entry was written yet.
      throw CommandError(kUserError, fmt::format("{}:{}: not an exported entry: {}",
                                                 arguments.front(), number, error.what()));
    }
  }
  for (const auto& [key, kernel] : entries)
    store.put(key, kernel);
  fmt::print("{} entries\n", entries.size());
  return kDone;
}

}  // namespace

int cache_command(const CacheFlags& flags, const Environment& environment) {
  std::unique_ptr<compiler::KernelStore> store =
      compiler::open_sqlite_store(environment.cache_dir, INT64_MAX);
  if (flags.action == "path") {
    fmt::print("{}\n", store->path().string());
    return kDone;
  }
  if (flags.action == "list") return list(*store);
  if (flags.action == "show") return show(*store, flags.arguments);
  if (flags.action == "export") return export_entries(*store, flags.arguments);
  if (flags.action == "import") return import_entries(*store, flags.arguments);
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
