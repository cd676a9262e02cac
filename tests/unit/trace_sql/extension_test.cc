// The extension as other programs load it. Not built with sanitizers, which the program that loads it would need, too.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>

#include "tests/unit/trace_sql/random_trace.h"

namespace kprof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Extension : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kLibrary)) GTEST_SKIP() << "there is no " << kLibrary;
  }
  void Load(const std::string& path) {
    ASSERT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK);
    sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
    char* error = nullptr;
    ASSERT_EQ(sqlite3_load_extension(db_, kLibrary, nullptr, &error), SQLITE_OK) << error;
  }
  void TearDown() override { EXPECT_EQ(sqlite3_close(db_), SQLITE_OK); }

  static constexpr const char* kLibrary = KPROF_BIN_DIR "/kprof_trace.so";
  RandomTrace trace_;
  sqlite3* db_ = nullptr;
};

TEST_F(Extension, GivesAPartItsTables) {
  Load(trace_.path("a"));
  for (const char* sql :
       {"SELECT name, sum(dur_ns) FROM slice GROUP BY name", "SELECT max(id), count(*) FROM instant",
        "SELECT phase, count(*) FROM metadata GROUP BY phase", "SELECT id, flow_id, slice, args FROM flow_point"}) {
    EXPECT_EQ(Sorted(AskConnection(db_, sql)), Sorted(TraceConnection({trace_.places()[0]}).Ask(sql))) << sql;
  }
  EXPECT_THAT(AskConnection(db_, "SELECT run, part FROM trace"), ElementsAre("a|a"));
}

TEST_F(Extension, OpensOthers) {
  Load(":memory:");
  EXPECT_THAT(
      AskConnection(db_, "SELECT trace_open('" + trace_.path("a") + "'), trace_open('" + trace_.path("b") + "', 'x')"),
      ElementsAre("1|2"));
  EXPECT_THAT(AskConnection(db_, "SELECT run FROM trace"), ElementsAre("a", "x"));
  EXPECT_THAT(AskConnection(db_, "SELECT trace_open('/nowhere.trace.db')"),
              ElementsAre(HasSubstr("/nowhere.trace.db")));
}

}  // namespace
}  // namespace kprof
