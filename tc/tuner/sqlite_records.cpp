// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "tc/compiler/store.h"
#include "tc/tuner/record.h"

namespace tc::tuner {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPauseMilliseconds = 5;

using Milliseconds = std::chrono::milliseconds;

// The columns beside `line` are what queries ask for; the line is the whole record.
constexpr const char* kCreate =
    "CREATE TABLE IF NOT EXISTS tuned(id INTEGER PRIMARY KEY, place TEXT NOT NULL UNIQUE, "
    "program TEXT NOT NULL, kind TEXT NOT NULL, created TEXT NOT NULL, line TEXT NOT NULL)";
constexpr const char* kIndex = "CREATE INDEX IF NOT EXISTS tuned_program ON tuned(program, kind)";
constexpr const char* kInsert =
    "INSERT INTO tuned(place, program, kind, created, line) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT(place) DO UPDATE SET created = excluded.created, line = excluded.line "
    "WHERE excluded.created >= tuned.created";
constexpr const char* kNow = "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

class Query {
public:
  Query(sqlite3* database, const char* sql) {
    if (sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) != SQLITE_OK)
      statement_ = nullptr;
  }
  ~Query() { sqlite3_finalize(statement_); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  explicit operator bool() const { return statement_ != nullptr; }
  Query& bind(int index, const std::string& value) {
    sqlite3_bind_text(statement_, index, value.data(), static_cast<int>(value.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  std::string text(int column) const {
    const unsigned char* text = sqlite3_column_text(statement_, column);
    return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
  }

private:
  sqlite3_stmt* statement_ = nullptr;
};

const char* kind_name(TargetKind kind) {
  return kind == TargetKind::Cpu ? "cpu" : "cuda";
}

/// Key of what one record replaces: the same options at the same place.
std::string place_of(const Record& record) {
  const Identity& identity = record.identity;
  std::string text = identity.program + "\n";
  for (const std::int64_t size : identity.sizes)
    text += fmt::format("{},", size);
  text += "\n";
  for (const double value : identity.consts)
    text += fmt::format("{:a},", value);
  text += "\n" + identity.layout + "\n" + identity.target + "\n" + identity.versions + "\n" +
          tc::to_json(record.options);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

class SqliteRecords final : public RecordStore {
public:
  explicit SqliteRecords(std::filesystem::path file) : file_(std::move(file)) {}
  ~SqliteRecords() override { close(); }

  using RecordStore::put;
  bool put(const Record& given, Milliseconds patience) override {
    std::lock_guard lock(mutex_);
    if (!ensure_open(Use::Write, patience)) return false;
    Record record = given;
    // A clock that is ahead elsewhere must not keep later records out.
    if (const std::string now = this->now(); record.created.empty() || record.created > now)
      record.created = now;
    Query insert(database_, kInsert);
    if (!insert) return false;
    insert.bind(1, place_of(record))
        .bind(2, record.identity.program)
        .bind(3, kind_name(record.identity.kind))
        .bind(4, record.created)
        .bind(5, to_json(record));
    return insert.step() == SQLITE_DONE;
  }

  std::vector<Record> find(const std::string& program, TargetKind kind) override {
    std::lock_guard lock(mutex_);
    if (!ensure_open()) return {};
    Query query(database_, "SELECT line FROM tuned WHERE program = ? AND kind = ? ORDER BY id");
    if (query) query.bind(1, program).bind(2, kind_name(kind));
    return rows(query);
  }

  std::vector<Record> list() override {
    std::lock_guard lock(mutex_);
    if (!ensure_open()) return {};
    Query query(database_, "SELECT line FROM tuned ORDER BY id");
    return rows(query);
  }

  std::int64_t clear() override {
    std::lock_guard lock(mutex_);
    if (!ensure_open(Use::Write)) return 0;
    return Query(database_, "DELETE FROM tuned").step() == SQLITE_DONE ? sqlite3_changes(database_)
                                                                       : 0;
  }

private:
  /// Rows of another version of the schema or with options that this program does not know are
  /// skipped.
  static std::vector<Record> rows(Query& query) {
    std::vector<Record> result;
    while (query.step() == SQLITE_ROW) {
      Result<Record, std::string> record = record_from_json(query.text(0));
      if (record) result.push_back(std::move(record).value());
    }
    return result;
  }

  std::string now() {
    Query query(database_, kNow);
    return query.step() == SQLITE_ROW ? query.text(0) : std::string();
  }

  bool execute(const char* sql) {
    return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  enum class Use { Read, Write };

  bool ensure_open(Use use = Use::Read, Milliseconds patience = kPatience) {
    // A connection must not be used in a child of the process that opened it.
    if (database_ != nullptr && owner_ == getpid() && !has_moved() &&
        (use == Use::Read || !read_only_)) {
      sqlite3_busy_timeout(database_, static_cast<int>(patience.count()));
      return true;
    }
    close();
    owner_ = getpid();
    read_only_ = false;
    std::error_code error;
    std::filesystem::create_directories(file_.parent_path(), error);
    // Several processes that make one new file get in each other's way: the change to WAL does not
    // wait for the others.
    const auto until = Clock::now() + patience;
    do {
      if (open(file_.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, patience) &&
          execute("PRAGMA journal_mode = WAL") && execute("PRAGMA synchronous = NORMAL") &&
          execute(kCreate) && execute(kIndex))
        return true;
      const int status = database_ == nullptr ? SQLITE_CANTOPEN : sqlite3_errcode(database_);
      close();
      if (status != SQLITE_BUSY && status != SQLITE_LOCKED) break;
      std::this_thread::sleep_for(Milliseconds(kPauseMilliseconds));
    } while (Clock::now() < until);
    read_only_ = true;
    if (open(compiler::immutable_uri(file_), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, patience) &&
        Query(database_, "SELECT line FROM tuned LIMIT 1"))
      return use == Use::Read;
    close();
    return false;
  }

  /// The file was removed or renamed: what is written there nobody will read.
  bool has_moved() {
    int moved = 0;
    return sqlite3_file_control(database_, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved != 0;
  }

  bool open(const std::string& name, int flags, Milliseconds patience) {
    if (sqlite3_open_v2(name.c_str(), &database_, flags | SQLITE_OPEN_FULLMUTEX, nullptr) !=
        SQLITE_OK) {
      close();
      return false;
    }
    sqlite3_busy_timeout(database_, static_cast<int>(patience.count()));
    return true;
  }

  void close() {
    if (database_ != nullptr && owner_ == getpid()) sqlite3_close(database_);
    database_ = nullptr;
  }

  std::filesystem::path file_;
  std::mutex mutex_;
  sqlite3* database_ = nullptr;
  pid_t owner_ = -1;
  bool read_only_ = false;
};

}  // namespace

std::unique_ptr<RecordStore> open_sqlite_records(const std::filesystem::path& file) {
  return std::make_unique<SqliteRecords>(file);
}

}  // namespace tc::tuner
