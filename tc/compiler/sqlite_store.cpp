// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cctype>
#include <chrono>
#include <mutex>
#include <string_view>
#include <thread>

#include "tc/compiler/store.h"

namespace tc::compiler {

namespace {

using Clock = std::chrono::steady_clock;

// Part of the file name: another layout is another file, so versions of the program never read each
// other's rows.
constexpr const char* kFileName = "kernels-v1.sqlite";
constexpr int kBusyMilliseconds = 2000;
constexpr int kPauseMilliseconds = 5;
constexpr const char* kInsert =
    "INSERT OR REPLACE INTO kernels(key, launch_table, object, description, checksum, bytes, "
    "created, used) VALUES (?, ?, ?, ?, ?, ?, unixepoch(), unixepoch())";

std::string checksum(const StoredKernel& kernel) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  for (const std::string* part : {&kernel.launch_table, &kernel.object, &kernel.description}) {
    const std::uint64_t size = part->size();
    XXH3_128bits_update(state, &size, sizeof size);
    XXH3_128bits_update(state, part->data(), part->size());
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

/// One prepared statement, finalised at the end of its scope.
class Statement {
public:
  Statement(sqlite3* database, const char* sql) {
    if (sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) != SQLITE_OK)
      statement_ = nullptr;
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  explicit operator bool() const { return statement_ != nullptr; }
  Statement& text(int index, const std::string& value) {
    sqlite3_bind_text(statement_, index, value.data(), static_cast<int>(value.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Statement& blob(int index, const std::string& value) {
    sqlite3_bind_blob64(statement_, index, value.data(), value.size(), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& integer(int index, std::int64_t value) {
    sqlite3_bind_int64(statement_, index, value);
    return *this;
  }
  int step() { return sqlite3_step(statement_); }
  std::string column(int index) const {
    const void* data = sqlite3_column_blob(statement_, index);
    return data == nullptr
               ? std::string()
               : std::string(static_cast<const char*>(data),
                             static_cast<std::size_t>(sqlite3_column_bytes(statement_, index)));
  }
  std::int64_t column_integer(int index) const { return sqlite3_column_int64(statement_, index); }

private:
  sqlite3_stmt* statement_ = nullptr;
};

class SqliteStore final : public KernelStore {
public:
  SqliteStore(std::filesystem::path directory, std::int64_t max_bytes)
      : directory_(std::move(directory)), max_bytes_(max_bytes) {}
  ~SqliteStore() override { close(); }

  std::filesystem::path path() const override { return directory_ / kFileName; }

  std::string problem() override {
    std::lock_guard lock(mutex_);
    if (ensure_open() && !read_only_) return {};
    return problem_;
  }

  std::optional<StoredKernel> find(const std::string& key) override {
    std::lock_guard lock(mutex_);
    if (!ensure_open()) return std::nullopt;
    Statement query(
        database_, "SELECT launch_table, object, description, checksum FROM kernels WHERE key = ?");
    if (!query) return std::nullopt;
    const int status = query.text(1, key).step();
    if (status == SQLITE_CORRUPT || status == SQLITE_NOTADB) {
      damaged_ = true;
      return std::nullopt;
    }
    if (status != SQLITE_ROW) return std::nullopt;
    StoredKernel kernel{query.column(0), query.column(1), query.column(2)};
    if (checksum(kernel) != query.column(3)) return std::nullopt;
    if (!read_only_) {
      // Recency is a hint for prune(); losing an update to a busy writer is fine.
      Statement touch(
          database_,
          "UPDATE kernels SET used = unixepoch() WHERE key = ? AND used < unixepoch() - 60");
      if (touch) touch.text(1, key).step();
    }
    return kernel;
  }

  void put(const std::string& key, const StoredKernel& kernel) override {
    {
      std::lock_guard lock(mutex_);
      // A file that turns out to be damaged is set aside, and the entry goes into the new one.
      if (!insert(key, kernel) && !(damaged_ && insert(key, kernel))) return;
      if (total_bytes() <= max_bytes_) return;
    }
    prune(max_bytes_);
  }

  std::vector<StoreEntry> list() override {
    std::lock_guard lock(mutex_);
    std::vector<StoreEntry> result;
    if (!ensure_open()) return result;
    Statement query(database_, "SELECT key, description, bytes, strftime('%Y-%m-%dT%H:%M:%SZ', "
                               "created, 'unixepoch') FROM kernels ORDER BY created, key");
    if (!query) return result;
    while (query.step() == SQLITE_ROW) {
      result.push_back(
          {query.column(0), query.column(1), query.column_integer(2), query.column(3)});
    }
    return result;
  }

  std::int64_t remove(const std::vector<std::string>& keys) override {
    std::lock_guard lock(mutex_);
    std::int64_t removed = 0;
    if (!ensure_open() || read_only_) return removed;
    for (const std::string& key : keys) {
      Statement statement(database_, "DELETE FROM kernels WHERE key = ?");
      if (statement && statement.text(1, key).step() == SQLITE_DONE)
        removed += sqlite3_changes(database_);
    }
    return removed;
  }

  std::int64_t clear() override {
    std::lock_guard lock(mutex_);
    if (!ensure_open() || read_only_) return 0;
    Statement statement(database_, "DELETE FROM kernels");
    return statement && statement.step() == SQLITE_DONE ? sqlite3_changes(database_) : 0;
  }

  std::int64_t prune(std::int64_t max_bytes) override {
    std::lock_guard lock(mutex_);
    if (!ensure_open() || read_only_) return 0;
    Statement statement(database_, "DELETE FROM kernels WHERE key IN (SELECT key FROM (SELECT key, "
                                   "SUM(bytes) OVER (ORDER BY used DESC, key) AS running "
                                   "FROM kernels) WHERE running > ?)");
    return statement && statement.integer(1, max_bytes).step() == SQLITE_DONE
               ? sqlite3_changes(database_)
               : 0;
  }

  std::vector<std::string> verify() override {
    std::lock_guard lock(mutex_);
    std::vector<std::string> problems;
    if (!ensure_open()) {
      if (std::filesystem::exists(path()))
        problems.push_back(path().string() + ": not a readable database of this version");
      return problems;
    }
    Statement integrity(database_, "PRAGMA integrity_check");
    while (integrity && integrity.step() == SQLITE_ROW) {
      if (integrity.column(0) != "ok") problems.push_back(integrity.column(0));
    }
    Statement query(
        database_,
        "SELECT launch_table, object, description, checksum, key FROM kernels ORDER BY key");
    while (query && query.step() == SQLITE_ROW) {
      if (checksum({query.column(0), query.column(1), query.column(2)}) != query.column(3)) {
        problems.push_back("entry " + query.column(4) + ": checksum differs");
      }
    }
    return problems;
  }

private:
  bool insert(const std::string& key, const StoredKernel& kernel) {
    if (!ensure_open() || read_only_) return false;
    Statement insert(database_, kInsert);
    if (!insert) return false;
    const auto bytes = static_cast<std::int64_t>(kernel.object.size() + kernel.launch_table.size() +
                                                 kernel.description.size());
    insert.text(1, key)
        .blob(2, kernel.launch_table)
        .blob(3, kernel.object)
        .blob(4, kernel.description)
        .text(5, checksum(kernel))
        .integer(6, bytes);
    const int status = insert.step();
    // A constraint is not ours: the table belongs to something else.
    damaged_ = status == SQLITE_CORRUPT || status == SQLITE_NOTADB || status == SQLITE_CONSTRAINT;
    return status == SQLITE_DONE;
  }

  std::int64_t total_bytes() {
    Statement query(database_, "SELECT COALESCE(SUM(bytes), 0) FROM kernels");
    return query && query.step() == SQLITE_ROW ? query.column_integer(0) : 0;
  }

  void close() {
    // A connection must not be used, nor closed, in a child of the process that opened it.
    if (database_ != nullptr && owner_ == getpid()) sqlite3_close(database_);
    database_ = nullptr;
  }

  bool execute(const char* sql) {
    return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  bool ensure_open() {
    if (damaged_ && owner_ == getpid()) {
      // A page below an intact header was bad: start over with a new file.
      damaged_ = false;
      const FileIdentity bad = file_;
      close();
      last_error_ = SQLITE_CORRUPT;
      // Another process may have replaced it since.
      if (access(directory_.c_str(), W_OK) == 0)
        under_lock([&] {
          if (identity() == bad) rename_damaged();
        });
    }
    const bool is_open = database_ != nullptr && owner_ == getpid();
    // Who came while others held the file may write as soon as it is free.
    const bool try_again = is_open && read_only_ && is_busy();
    if (is_open && !try_again) return true;
    close();
    owner_ = getpid();
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (open_writable_in_time(try_again ? 0 : kBusyMilliseconds)) return true;
    if (access(directory_.c_str(), W_OK) == 0) {
      if (set_aside_if_damaged() && open_writable_in_time(kBusyMilliseconds)) return true;
    } else if (!error) {
      error = std::error_code(errno, std::generic_category());
    }
    if (error) problem_ = error.message();
    return open_read_only();
  }

  bool is_busy() const { return last_error_ == SQLITE_BUSY || last_error_ == SQLITE_LOCKED; }

  /// Several processes that make one new file get in each other's way: the change to WAL does not
  /// wait for the others, so the busy timeout of the connection is not enough.
  bool open_writable_in_time(int milliseconds) {
    const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
    while (!open_writable()) {
      if (!is_busy() || Clock::now() >= until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMilliseconds));
    }
    return true;
  }

  bool open_writable() {
    read_only_ = false;
    if (sqlite3_open_v2(path().c_str(), &database_,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                        nullptr) != SQLITE_OK) {
      note_error();
      close_failed();
      return false;
    }
    sqlite3_busy_timeout(database_, kBusyMilliseconds);
    const bool ready =
        execute("PRAGMA journal_mode = WAL") && execute("PRAGMA synchronous = NORMAL") &&
        execute("CREATE TABLE IF NOT EXISTS kernels(key TEXT PRIMARY KEY, launch_table BLOB, "
                "object BLOB, description BLOB, "
                "checksum TEXT, bytes INTEGER, created INTEGER, used INTEGER) WITHOUT ROWID") &&
        execute("SELECT key, launch_table, object, description, checksum, bytes, created, used "
                "FROM kernels LIMIT 1") &&
        static_cast<bool>(Statement(database_, kInsert));
    if (!ready) {
      note_error();
      close_failed();
    }
    file_ = identity();
    return ready;
  }

  bool open_read_only() {
    read_only_ = true;
    if (sqlite3_open_v2(immutable_uri(path()).c_str(), &database_,
                        SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX,
                        nullptr) != SQLITE_OK ||
        !execute("SELECT key, launch_table, object, description, checksum, bytes, created, used "
                 "FROM kernels LIMIT 1")) {
      close_failed();
      return false;
    }
    return true;
  }

  void note_error() {
    last_error_ = sqlite3_errcode(database_);
    problem_ = sqlite3_errmsg(database_);
  }

  void close_failed() {
    sqlite3_close(database_);
    database_ = nullptr;
  }

  /// Which file the path names at this time.
  struct FileIdentity {
    dev_t device = 0;
    ino_t node = 0;
    bool operator==(const FileIdentity&) const = default;
  };
  FileIdentity identity() const {
    struct stat status{};
    if (::stat(path().c_str(), &status) != 0) return {};
    return {status.st_dev, status.st_ino};
  }

  /// Of several processes one at a time. False: the lock cannot be had.
  template <class F>
  bool under_lock(F&& action) const {
    const std::string lock_path = path().string() + ".lock";
    const int lock = ::open(lock_path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    if (lock < 0) return false;
    flock(lock, LOCK_EX);
    action();
    ::close(lock);
    return true;
  }

  /// Renames a file that is no database of ours; of several processes one does it, the others find
  /// the new file.
  bool set_aside_if_damaged() {
    if (is_busy()) return false;
    bool again = false;
    under_lock([&] {
      again = open_writable();
      if (again) {
        close_failed();
      } else if (last_error_ == SQLITE_NOTADB || last_error_ == SQLITE_CORRUPT ||
                 last_error_ == SQLITE_ERROR) {
        rename_damaged();
        again = true;
      }
    });
    return again;
  }

  void rename_damaged() {
    std::error_code error;
    for (int n = 0; n < 1000; ++n) {
      const std::filesystem::path aside = path().string() + fmt::format(".damaged-{}", n);
      if (std::filesystem::exists(aside, error)) continue;
      std::filesystem::rename(path(), aside, error);
      break;
    }
    for (const char* suffix : {"-wal", "-shm"})
      std::filesystem::remove(path().string() + suffix, error);
  }

  std::filesystem::path directory_;
  std::int64_t max_bytes_;
  std::mutex mutex_;
  sqlite3* database_ = nullptr;
  pid_t owner_ = -1;
  bool read_only_ = false;
  bool damaged_ = false;
  FileIdentity file_;           ///< what is open for writing
  int last_error_ = SQLITE_OK;  ///< of the last attempt to open the file for writing
  std::string problem_;         ///< the same in words
};

}  // namespace

std::string immutable_uri(const std::filesystem::path& file) {
  std::string uri = "file:";
  for (const char c : file.string()) {
    // What has a meaning in a URI stands as its code.
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

std::unique_ptr<KernelStore> open_sqlite_store(const std::filesystem::path& directory,
                                               std::int64_t max_bytes) {
  return std::make_unique<SqliteStore>(directory, max_bytes);
}

}  // namespace tc::compiler
