#include "daemon/runs/object_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_table.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/sample_runs.h"

namespace kprof {
namespace {

using testing::StartsWith;

const Caller kOwnerUid{.uid = 1000};
const Caller kOtherUid{.uid = 2000};
constexpr char kFirst[] = "1m7z76yq0sjfh8j2";
constexpr char kSecond[] = "1m7z76yx6njyrmh2";

class RunLookupTest : public testing::Test {
 protected:
  RunLookupTest() {
    KPROF_CHECK(MakeCatalog(db_).ok());
    for (const char* id : {kFirst, kSecond}) {
      RunRow run = SampleRun(id);
      run.uid = kOwnerUid.uid;
      run.shared = id == kSecond;
      KPROF_CHECK(InsertRun(db_, run).ok());
    }
  }

  Result<RunRow> Find(const std::string& name, const Caller& caller = kOwnerUid) {
    return LookUpStoredRun(db_, nullptr, caller, name, Rpc::kCancelRun, "pin run");
  }

  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite});
};

TEST_F(RunLookupTest, FindsARunByEachOfItsNames) {
  for (const char* name : {"1m7z76yx6njyrmh2", "1M7Z76YX6NJYRMH2", "1m7z76yx", "@last", "@last~0"}) {
    Result<RunRow> found = Find(name);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_EQ(found->id, kSecond) << name;
  }
  EXPECT_EQ(Find("@last~1")->id, kFirst);
}

TEST_F(RunLookupTest, FailsInTheWordsOfWhatWasAskedFor) {
  struct Case {
    std::string name;
    Caller caller;
    ErrorCode code;
    std::string text;
  };
  const Case cases[] = {
      {"zz", kOwnerUid, ErrorCode::kNotFound, "pin run zz: there is no such run; list yours with kprofctl runs"},
      {"../etc", kOwnerUid, ErrorCode::kNotFound, "pin run ../etc: there is no such run"},
      {"@last~2", kOwnerUid, ErrorCode::kNotFound, "pin run @last~2: there is no such run"},
      {"@first", kOwnerUid, ErrorCode::kUsage, "pin run @first: that is not a run id"},
      {"label:job=a", kOwnerUid, ErrorCode::kUsage,
       "pin run label:job=a: a label names any number of runs; give an id"},
      {"", kOwnerUid, ErrorCode::kUsage, "pin run : that is not a run id"},
      {"1m7z76y", kOwnerUid, ErrorCode::kUsage, "pin run 1m7z76y: more than one run begins so: "},
      {kFirst, kOtherUid, ErrorCode::kNotFound, "pin run 1m7z76yq0sjfh8j2: there is no such run"},
      {kSecond, kOtherUid, ErrorCode::kNotPermitted, "pin run 1m7z76yx6njyrmh2: it belongs to uid 1000"},
      {"@last~1", kOtherUid, ErrorCode::kNotFound, "pin run @last~1: there is no such run"},
      {"@" + std::string(100, 'x'), kOwnerUid, ErrorCode::kUsage, "pin run @" + std::string(63, 'x') + "...: that"},
  };
  for (const Case& c : cases) {
    Result<RunRow> found = Find(c.name, c.caller);
    EXPECT_EQ(found.status().code(), c.code) << c.name;
    EXPECT_THAT(found.status().ToString(), StartsWith(c.text));
  }
}

// What is no name is told apart from a name of nothing, however large its number.
TEST_F(RunLookupTest, KnowsAMistakeFromAMiss) {
  for (const char* miss : {"02", "no id!", "1m7z76yx6njyrmh20", "@last~2", "@last~99999999999999999999"}) {
    EXPECT_EQ(Find(miss).status().code(), ErrorCode::kNotFound) << miss;
  }
  for (const char* mistake : {"", "@first", "@last1", "@last~", "@last~-1", "@last~+1", "@last~ 1",
                              "@last~99999999999999999999x", "@last~-99999999999999999999"}) {
    EXPECT_EQ(Find(mistake).status().code(), ErrorCode::kUsage) << mistake;
  }
}

TEST_F(RunLookupTest, ACatalogThatCannotBeReadFailsSoToo) {
  ASSERT_TRUE(db_.Execute("ALTER TABLE runs RENAME TO gone").ok());
  for (const char* name : {"@last", "1m", kFirst}) {
    EXPECT_THAT(Find(name).status().ToString(), StartsWith(std::string("pin run ") + name + ": ")) << name;
  }
}

}  // namespace
}  // namespace kprof
