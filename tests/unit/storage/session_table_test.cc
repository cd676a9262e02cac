#include "storage/catalog/session_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/catalog/run_table.h"
#include "tests/fakes/storage/sample_runs.h"
#include "tests/unit/storage/run_rows_fixture.h"

namespace kprof {
namespace {

using testing::ElementsAre;

SessionRow SampleSession(const std::string& id, uint32_t uid = 1000) {
  SessionRow session;
  session.id = id;
  session.uid = uid;
  session.clocks = "none";
  session.devices = {"cpu"};
  session.opened_ns = 1'700'000'000'000'000'000;
  return session;
}

// Each field is something.
SessionRow FullSession() {
  SessionRow session = SampleSession("s");
  session.state = SessionState::kOpen;
  session.attached = true;
  session.clocks = "lock=1500";
  session.labels = {{"loop", "7"}, {"model", "llama"}};
  session.devices = {"1", "0"};
  session.priority = 3;
  session.ttl_ms = 4;
  session.idle_timeout_ms = 5;
  session.queue_timeout_ms = 6;
  session.granted_ns = 7;
  session.closed_ns = 8;
  session.expires_ns = 9;
  session.last_round = 10;
  session.error = RunError{"timed_out", "m", "r"};
  session.trust = {{"clocks_not_locked", "why"}, {"other", "that"}};
  return session;
}

class SessionTableTest : public RunRowsTest {
 protected:
  void InsertSession(const SessionRow& session) {
    Status status = kprof::InsertSession(db_, session);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  std::vector<std::string> Ids(const SessionFilter& filter) {
    std::vector<std::string> ids;
    Result<std::vector<SessionRow>> sessions = ListSessions(db_, filter);
    EXPECT_TRUE(sessions.ok()) << sessions.status().ToString();
    for (const SessionRow& session : *sessions) ids.push_back(session.id);
    return ids;
  }
};

TEST_F(SessionTableTest, ReadsBackEveryField) {
  InsertSession(FullSession());
  Result<SessionRow> read = ReadSession(db_, "s");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, FullSession());
  InsertSession(SampleSession("t"));
  EXPECT_EQ(*ReadSession(db_, "t"), SampleSession("t"));
}

TEST_F(SessionTableTest, UpdatesWhatChanges) {
  InsertSession(SampleSession("s"));
  SessionRow changed = FullSession();
  ASSERT_TRUE(UpdateSession(db_, changed).ok());
  SessionRow expected = SampleSession("s");
  expected.state = changed.state;
  expected.granted_ns = changed.granted_ns;
  expected.closed_ns = changed.closed_ns;
  expected.expires_ns = changed.expires_ns;
  expected.error = changed.error;
  expected.trust = changed.trust;
  EXPECT_EQ(*ReadSession(db_, "s"), expected);
  ASSERT_TRUE(UpdateSession(db_, SampleSession("s")).ok());
  EXPECT_EQ(*ReadSession(db_, "s"), SampleSession("s"));
}

TEST_F(SessionTableTest, SaysWhenThereIsNone) {
  EXPECT_EQ(ReadSession(db_, "s").status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(UpdateSession(db_, SampleSession("s")).code(), ErrorCode::kNotFound);
  EXPECT_EQ(ReadRecentSessionId(db_, 0, {}).status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(TakeRound(db_, "s").status().code(), ErrorCode::kLeaseLost);
  EXPECT_EQ(*ReadLastSessionId(db_), "");
  EXPECT_TRUE(ListRounds(db_, "s", 0, 10)->empty());
}

TEST_F(SessionTableTest, RefusesATakenId) {
  InsertSession(SampleSession("s"));
  EXPECT_EQ(kprof::InsertSession(db_, SampleSession("s")).code(), ErrorCode::kUsage);
}

TEST_F(SessionTableTest, NumbersRoundsWhileItLives) {
  InsertSession(SampleSession("s"));
  EXPECT_EQ(*TakeRound(db_, "s"), 1);
  SessionRow session = SampleSession("s");
  session.state = SessionState::kOpen;
  ASSERT_TRUE(UpdateSession(db_, session).ok());
  EXPECT_EQ(*TakeRound(db_, "s"), 2);
  EXPECT_EQ(ReadSession(db_, "s")->last_round, 2);
  for (SessionState ended : {SessionState::kClosing, SessionState::kClosed, SessionState::kLost}) {
    session.state = ended;
    ASSERT_TRUE(UpdateSession(db_, session).ok());
    EXPECT_EQ(TakeRound(db_, "s").status().code(), ErrorCode::kLeaseLost);
  }
}

TEST_F(SessionTableTest, ListsRoundsInOrderFromAnyOne) {
  for (int64_t round : {3, 1, 2}) {
    RunRow run = SampleRun("r" + std::to_string(round));
    run.session_id = "s";
    run.round = round;
    Insert(run);
  }
  Insert(SampleRun("alone"));
  std::string ids;
  for (const RunRow& run : *ListRounds(db_, "s", 0, 10)) ids += run.id + " ";
  EXPECT_EQ(ids, "r1 r2 r3 ");
  EXPECT_EQ(ListRounds(db_, "s", 1, 1)->at(0).id, "r2");
}

TEST_F(SessionTableTest, ListsNewestFirstByOwnerStateAndLabels) {
  SessionRow open = SampleSession("a");
  open.state = SessionState::kOpen;
  open.labels = {{"k", "1"}, {"l", "2"}};
  SessionRow closed = SampleSession("b", 1001);
  closed.state = SessionState::kClosed;
  closed.labels = {{"k", "1"}};
  InsertSession(open);
  InsertSession(closed);
  InsertSession(SampleSession("c"));
  EXPECT_THAT(Ids({}), ElementsAre("c", "b", "a"));
  EXPECT_THAT(Ids({.limit = 1}), ElementsAre("c"));
  EXPECT_THAT(Ids({.before_id = "c"}), ElementsAre("b", "a"));
  EXPECT_THAT(Ids({.uid = 1000}), ElementsAre("c", "a"));
  EXPECT_THAT(Ids({.states = {SessionState::kOpen, SessionState::kQueued}}), ElementsAre("c", "a"));
  EXPECT_THAT(Ids({.states = {SessionState::kOpen, SessionState::kClosed}}), ElementsAre("b", "a"));
  EXPECT_THAT(Ids({.labels = {{"k", "1"}}}), ElementsAre("b", "a"));
  EXPECT_THAT(Ids({.uid = 1000, .labels = {{"k", "1"}, {"l", "2"}}}), ElementsAre("a"));
  EXPECT_THAT(Ids({.labels = {{"k", "1"}, {"l", "3"}}}), ElementsAre());
  SessionFilter labels;
  labels.labels.resize(101);
  EXPECT_EQ(ListSessions(db_, labels).status().code(), ErrorCode::kUsage);
  std::string ids;
  for (const SessionRow& session : *ReadOpenSessions(db_)) ids += session.id + " ";
  EXPECT_EQ(ids, "a c ");
}

TEST_F(SessionTableTest, FindsByPrefixAndByPlaceWithinAnOwnersOwn) {
  InsertSession(SampleSession("aa"));
  InsertSession(SampleSession("ab", 1001));
  InsertSession(SampleSession("b"));
  EXPECT_THAT(*FindSessionIds(db_, "a", {}, 10), ElementsAre("ab", "aa"));
  EXPECT_THAT(*FindSessionIds(db_, "a", 1000, 10), ElementsAre("aa"));
  EXPECT_EQ(*ReadRecentSessionId(db_, 1, {}), "ab");
  EXPECT_EQ(*ReadRecentSessionId(db_, 1, 1000), "aa");
  EXPECT_EQ(*ReadLastSessionId(db_), "b");
}

}  // namespace
}  // namespace kprof
