// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tc/compiler/store.h"
#include "tc/tc.h"

namespace tc {
namespace {

class CacheTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("tc-cache-test-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  CompileReport::Source source_of(const std::shared_ptr<CompileCache>& cache,
                                  std::int64_t size) const {
    Metadata metadata;
    metadata.inputs = {{DType::Float32, {size}, {}, 4}};
    CompileContext context;
    context.cache = cache;
    auto executor = compile("def f(float(N) x) -> (y) { y(i) = x(i) + 1.0 }", "f", metadata, {},
                            std::nullopt, context);
    EXPECT_TRUE(executor.has_value());
    return executor->report().source;
  }

  std::filesystem::path folder_;
};

TEST_F(CacheTest, MissThenMemoryThenDisk) {
  auto cache = open_cache(folder_);
  EXPECT_EQ(source_of(cache, 10), CompileReport::Source::Compiled);
  EXPECT_EQ(source_of(cache, 10), CompileReport::Source::Memory);
  EXPECT_EQ(source_of(cache, 11), CompileReport::Source::Compiled);
  auto later = open_cache(folder_);
  EXPECT_EQ(source_of(later, 10), CompileReport::Source::Disk);
  EXPECT_EQ(source_of(later, 10), CompileReport::Source::Memory);
}

TEST_F(CacheTest, WorksWithoutADirectory) {
  auto cache = open_cache("");
  EXPECT_EQ(source_of(cache, 10), CompileReport::Source::Compiled);
  EXPECT_EQ(source_of(cache, 10), CompileReport::Source::Memory);
}

TEST_F(CacheTest, ThreadsShareOneCache) {
  auto cache = open_cache(folder_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 6; ++i)
        source_of(cache, 10 + (i + t) % 3);
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const int size : {10, 11, 12})
    EXPECT_EQ(source_of(cache, size), CompileReport::Source::Memory);
  EXPECT_EQ(compiler::open_sqlite_store(folder_, 1 << 20)->list().size(), 3u);
}

TEST_F(CacheTest, WorksInAChildAfterFork) {
  auto store = compiler::open_sqlite_store(folder_, 1 << 20);
  store->put("a", {"table", "object", "first"});
  const pid_t child = fork();
  if (child == 0) {
    const bool found = store->find("a").has_value();
    store->put("b", {"table", "object", "second"});
    _exit(found ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(store->find("b").has_value());
}

TEST_F(CacheTest, KeepsBytesOfAnyValue) {
  auto store = compiler::open_sqlite_store(folder_, 1 << 20);
  const compiler::StoredKernel kernel{"", std::string("\0\xff\x01", 3), "d\n\"'"};
  store->put("key", kernel);
  EXPECT_EQ(store->find("key"), kernel);
  EXPECT_FALSE(store->find("other").has_value());
  EXPECT_TRUE(store->verify().empty());
}

TEST_F(CacheTest, IsBoundedInSize) {
  auto store = compiler::open_sqlite_store(folder_, 1000);
  for (int i = 0; i < 20; ++i)
    store->put("key" + std::to_string(i), {"", std::string(100, 'x'), ""});
  std::int64_t bytes = 0;
  for (const compiler::StoreEntry& entry : store->list())
    bytes += entry.bytes;
  EXPECT_LE(bytes, 1000);
  EXPECT_GT(bytes, 500);
}

TEST_F(CacheTest, SetsADamagedFileAside) {
  std::filesystem::path file;
  {
    auto store = compiler::open_sqlite_store(folder_, 1 << 20);
    store->put("a", {"t", "o", "d"});
    file = store->path();
  }
  std::ofstream(file) << "no database";
  auto store = compiler::open_sqlite_store(folder_, 1 << 20);
  EXPECT_FALSE(store->find("a").has_value());
  store->put("a", {"t", "o", "d"});
  EXPECT_TRUE(store->find("a").has_value());
  EXPECT_TRUE(std::filesystem::exists(file.string() + ".damaged-0"));
}

TEST_F(CacheTest, FailedCompilationsAreNotKept) {
  auto cache = open_cache(folder_);
  CompileContext context;
  context.cache = cache;
  for (int i = 0; i < 2; ++i) {
    auto executor =
        compile("def f(float(N) x) -> (y) { y(i) = x(i+1) where i in 0:N }", "f",
                {{{DType::Float32, {4}, {}, 4}}, {}, {}, {}}, {}, std::nullopt, context);
    ASSERT_FALSE(executor.has_value());
    EXPECT_EQ(executor.error().kind, Failure::Kind::Program);
  }
}

}  // namespace
}  // namespace tc
