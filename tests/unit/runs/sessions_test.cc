#include "daemon/runs/sessions/sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/catalog/session_table.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SessionsTest : public testing::Test, protected RunsFixture {
 protected:
  void SetUp() override { Start(); }
  void Start() {
    Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
  }
  // kill -9, and the next daemon.
  void Restart() {
    Close();
    Start();
  }

  static SessionRequest Detached(const std::string& device = "0", uint32_t uid = 1000) {
    SessionRequest request;
    request.uid = uid;
    request.device = device;
    request.attached = false;
    return request;
  }
  static SessionRequest Attached(const std::string& device = "0") {
    SessionRequest request = Detached(device);
    request.attached = true;
    return request;
  }
  Result<SessionRow> OpenSession(SessionRequest request) {
    std::optional<Result<SessionRow>> answer;
    sessions().Open(std::move(request), [&](Result<SessionRow> row) { answer = std::move(row); });
    EXPECT_TRUE(Until([&] { return answer.has_value(); }));
    return *answer;
  }
  std::string OpenOk(SessionRequest request = Detached()) {
    Result<SessionRow> row = OpenSession(std::move(request));
    EXPECT_TRUE(row.ok()) << row.status().ToString();
    return row.ok() ? row->id : "";
  }
  // One that has its lease.
  std::string OpenNow(SessionRequest request = Detached()) {
    const std::string id = OpenOk(std::move(request));
    EXPECT_TRUE(IsOpen(id));
    return id;
  }
  bool IsOpen(const std::string& id) {
    return Until([&] {
      const SessionRow* row = sessions().FindOpenRow(id);
      return row != nullptr && row->state == SessionState::kOpen;
    });
  }
  bool HasClosed(const std::string& id) {
    return Until([&] { return sessions().FindOpenRow(id) == nullptr; });
  }
  Result<SessionRow> CloseSession(const std::string& id) {
    std::optional<Result<SessionRow>> answer;
    sessions().Close(id, {1000, "local"}, Fail(ErrorCode::kCancelled, "run", "its session was closed"), 5000,
                     [&](Result<SessionRow> row) { answer = std::move(row); });
    EXPECT_TRUE(Until([&] { return answer.has_value(); }));
    return *answer;
  }
  SessionRow StoredSession(const std::string& id) {
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    Result<SessionRow> row = ReadSession(**reader, id);
    EXPECT_TRUE(row.ok()) << row.status().ToString();
    return row.ok() ? *row : SessionRow();
  }
  static RunRequest In(const std::string& session, const std::string& device = {}) {
    RunRequest request = Command();
    request.device = device;
    request.session_id = session;
    return request;
  }
  static RunRequest On(const std::string& device, uint32_t uid = 1000) {
    RunRequest request = Command();
    request.device = device;
    request.uid = uid;
    return request;
  }
  void EndLaunch(size_t launch) { launcher_->at(launch).Ended(ExitCode(0)); }
  Sessions& sessions() { return runs_->sessions(); }
};

TEST_F(SessionsTest, HoldsItsDevicesFromTheGrantToTheClose) {
  const std::string id = OpenNow(Detached("all"));
  EXPECT_EQ(runs_->queue().HolderOf("0"), id);
  EXPECT_EQ(runs_->queue().HolderOf("1"), id);
  SessionRow row = StoredSession(id);
  EXPECT_EQ(row.state, SessionState::kOpen);
  EXPECT_THAT(row.devices, ElementsAre("0", "1"));
  EXPECT_EQ(row.granted_ns, clock_.unix_ns());
  EXPECT_EQ(row.expires_ns, clock_.unix_ns() + 3600 * kNanosPerSecond);
  const std::string waits = SubmitOk(On("0"));
  EXPECT_EQ(runs_->FindOpen(waits)->outlook.position, 1);
  Result<SessionRow> closed = CloseSession(id);
  ASSERT_TRUE(closed.ok()) << closed.status().ToString();
  EXPECT_EQ(closed->state, SessionState::kClosed);
  EXPECT_EQ(StoredSession(id), *closed);
  EXPECT_FALSE(closed->error);
  ASSERT_TRUE(GoesOn(0));
  EXPECT_EQ(launcher_->at(0).marker, waits);
}

TEST_F(SessionsTest, NumbersItsRoundsAndRunsThemInOrderOneAtATimePerDevice) {
  const std::string id = OpenNow(Detached("0,1"));
  const std::string first = SubmitOk(In(id));
  const std::string second = SubmitOk(In(id, "0"));
  const std::string third = SubmitOk(In(id, "1"));
  ASSERT_TRUE(GoesOn(0));
  EXPECT_EQ(launcher_->count(), 1u);
  EXPECT_EQ(runs_->RunOn("1"), first);
  EXPECT_EQ(runs_->FindOpen(second)->outlook.position, 1);
  EndLaunch(0);
  ASSERT_TRUE(GoesOn(1));
  ASSERT_TRUE(GoesOn(2));
  EXPECT_EQ(launcher_->at(1).marker, second);
  EXPECT_EQ(launcher_->at(2).marker, third);
  EndLaunch(1);
  EndLaunch(2);
  ASSERT_TRUE(HasEnded(second) && HasEnded(third));
  EXPECT_EQ(Stored(first).round, 1);
  EXPECT_EQ(Stored(first).session_id, id);
  EXPECT_EQ(Stored(second).round, 2);
  EXPECT_EQ(Stored(third).round, 3);
  EXPECT_EQ(StoredSession(id).last_round, 3);
  EXPECT_EQ(sessions().FindOpenRow(id)->last_round, 3);
  EXPECT_EQ(runs_->queue().HolderOf("0"), id);
}

TEST_F(SessionsTest, NobodyMeasuresBetweenTwoRounds) {
  const std::string id = OpenNow();
  const std::string other = SubmitOk(On("0", 2000));
  const std::string round = SubmitOk(In(id));
  ASSERT_TRUE(GoesOn(0));
  EXPECT_EQ(launcher_->at(0).marker, round);
  EndLaunch(0);
  ASSERT_TRUE(HasEnded(round));
  EXPECT_EQ(runs_->FindOpen(other)->row.state, RunState::kQueued);
}

TEST_F(SessionsTest, ItsRunsMayBeSubmittedWhileItWaits) {
  const std::string holder = OpenNow();
  const std::string id = OpenOk();
  const std::string run = SubmitOk(In(id));
  EXPECT_EQ(sessions().FindOpen(id)->outlook.position, 1);
  EXPECT_EQ(launcher_->count(), 0u);
  ASSERT_TRUE(CloseSession(holder).ok());
  ASSERT_TRUE(GoesOn(0));
  EXPECT_EQ(launcher_->at(0).marker, run);
}

TEST_F(SessionsTest, TakesOnlyItsOwnDevices) {
  const std::string id = OpenNow(Detached("1"));
  EXPECT_EQ(Stored(SubmitOk(In(id, "all"))).devices, std::vector<std::string>{"1"});
  Status refused = Submit(In(id, "0")).status();
  EXPECT_EQ(refused.code(), ErrorCode::kUsage);
  EXPECT_THAT(refused.why(), HasSubstr("device 0 is not among those of session " + id));
  EXPECT_EQ(Submit(In(id, "none")).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(OpenSession(Detached("none")).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(OpenSession(Detached("7")).status().code(), ErrorCode::kUsage);
}

TEST_F(SessionsTest, ClosingCancelsWhatWaitsAndEndsWhatRuns) {
  const std::string id = OpenNow();
  const std::string runs = SubmitOk(In(id));
  const std::string waits = SubmitOk(In(id));
  ASSERT_TRUE(GoesOn(0));
  std::optional<Result<SessionRow>> answer;
  sessions().Close(id, {1000, "local"}, Fail(ErrorCode::kCancelled, "run", "its session was closed"), 1234,
                   [&](Result<SessionRow> row) { answer = std::move(row); });
  ASSERT_TRUE(HasEnded(waits));
  EXPECT_EQ(Stored(waits).state, RunState::kCancelled);
  EXPECT_EQ(Stored(waits).error->message, "run " + waits + ": its session was closed");
  ASSERT_TRUE(Until([&] { return !launcher_->at(0).stop_graces_ms.empty(); }));
  EXPECT_THAT(launcher_->at(0).stop_graces_ms, ElementsAre(1234));
  EXPECT_EQ(StoredSession(id).state, SessionState::kClosing);
  EXPECT_EQ(runs_->queue().HolderOf("0"), id) << "given back only when the command is gone";
  EXPECT_FALSE(answer);
  EXPECT_EQ(Submit(In(id)).status().code(), ErrorCode::kLeaseLost);
  CommandEnded ended;
  ended.signal = 15;
  ended.stopped = true;
  ended.ended_unix_ns = clock_.unix_ns();
  launcher_->at(0).Ended(ended);
  ASSERT_TRUE(HasEnded(runs));
  EXPECT_EQ(Stored(runs).state, RunState::kCancelled);
  ASSERT_TRUE(Until([&] { return answer.has_value(); }));
  EXPECT_TRUE(answer->ok());
  EXPECT_EQ(runs_->queue().HolderOf("0"), "");
  EXPECT_EQ(CloseSession(id).status().code(), ErrorCode::kUsage);
}

TEST_F(SessionsTest, OneThatWaitsCanBeClosed) {
  const std::string holder = OpenNow();
  const std::string id = OpenOk();
  const std::string run = SubmitOk(In(id));
  ASSERT_TRUE(CloseSession(id).ok());
  ASSERT_TRUE(HasEnded(run));
  EXPECT_EQ(Stored(run).state, RunState::kCancelled);
  EXPECT_FALSE(StoredSession(id).granted_ns);
  EXPECT_EQ(runs_->queue().waiting(), 0u);
  EXPECT_EQ(sessions().queued(), 0u);
  EXPECT_EQ(sessions().open(), 1u);
}

TEST_F(SessionsTest, EndsWhenItsTtlHasPassed) {
  SessionRequest request = Detached();
  request.ttl_ms = 60'000;
  const std::string id = OpenNow(request);
  SubmitOk(In(id));
  ASSERT_TRUE(GoesOn(0));
  const std::string waits = SubmitOk(In(id));
  Pass(59'999);
  EXPECT_TRUE(IsOpen(id));
  Pass(1);
  ASSERT_TRUE(HasEnded(waits));
  EXPECT_EQ(Stored(waits).error->code, "lease_lost");
  ASSERT_TRUE(Until([&] { return !launcher_->at(0).stop_graces_ms.empty(); }));
  EndLaunch(0);
  ASSERT_TRUE(HasClosed(id));
  EXPECT_EQ(StoredSession(id).state, SessionState::kClosed);
  EXPECT_EQ(StoredSession(id).error->code, "timed_out");
  EXPECT_EQ(StoredSession(id).error->message, "session " + id + ": its TTL of 60 s has passed");
}

TEST_F(SessionsTest, EndsWhenItHadNoRunForTooLong) {
  SessionRequest request = Detached();
  request.idle_timeout_ms = 10'000;
  const std::string id = OpenNow(request);
  Pass(9'000);
  const std::string run = SubmitOk(In(id));
  ASSERT_TRUE(GoesOn(0));
  Pass(60'000);
  EXPECT_TRUE(IsOpen(id)) << "it has a run";
  EndLaunch(0);
  ASSERT_TRUE(HasEnded(run));
  Pass(9'999);
  EXPECT_TRUE(IsOpen(id));
  Pass(1);
  ASSERT_TRUE(HasClosed(id));
  EXPECT_EQ(StoredSession(id).error->code, "timed_out");
}

TEST_F(SessionsTest, GivesUpWaitingAfterItsQueueTimeout) {
  OpenNow();
  SessionRequest request = Detached();
  request.queue_timeout_ms = 5'000;
  const std::string id = OpenOk(request);
  const std::string run = SubmitOk(In(id));
  Pass(5'000);
  ASSERT_TRUE(HasClosed(id));
  EXPECT_EQ(StoredSession(id).error->code, "queue_timeout");
  ASSERT_TRUE(HasEnded(run));
  EXPECT_EQ(Stored(run).error->code, "lease_lost");
}

TEST_F(SessionsTest, AnAttachedOneEndsTenSecondsAfterItsClientUnlessResumed) {
  const std::string id = OpenNow(Attached());
  EXPECT_FALSE(StoredSession(id).expires_ns);
  sessions().Hold(id);
  Pass(1'000'000);
  EXPECT_TRUE(IsOpen(id));
  sessions().Unhold(id);
  Pass(9'999);
  const std::string token = sessions().FindOpen(id)->token;
  EXPECT_FALSE(token.empty());
  EXPECT_EQ(*sessions().Resume(1000, token), id);
  EXPECT_EQ(sessions().Resume(1001, token).status().code(), ErrorCode::kLeaseLost);
  EXPECT_EQ(sessions().Resume(1000, "").status().code(), ErrorCode::kLeaseLost);
  sessions().Hold(id);
  Pass(60'000);
  EXPECT_TRUE(IsOpen(id));
  sessions().Unhold(id);
  Pass(10'000);
  ASSERT_TRUE(HasClosed(id));
  EXPECT_EQ(StoredSession(id).error->code, "client_gone");
  EXPECT_EQ(sessions().Resume(1000, token).status().code(), ErrorCode::kLeaseLost);
}

TEST_F(SessionsTest, SaysThatNoClocksWereLocked) {
  SessionRequest request = Detached();
  request.clocks = "lock=1500";
  const std::string id = OpenNow(request);
  EXPECT_EQ(StoredSession(id).clocks, "lock=1500");
  EXPECT_EQ(StoredSession(id).trust.at(0).code, "clocks_not_locked");
  const std::string run = SubmitOk(In(id));
  ASSERT_TRUE(GoesOn(0));
  EndLaunch(0);
  ASSERT_TRUE(HasEnded(run));
  EXPECT_EQ(Stored(run).trust.at(0).code, "clocks_not_locked");
}

TEST_F(SessionsTest, ADetachedOneSurvivesARestartWithItsDevices) {
  const std::string id = OpenNow();
  const std::string in_flight = SubmitOk(In(id));
  ASSERT_TRUE(GoesOn(0));
  const std::string waits = SubmitOk(In(id));
  const std::string other = SubmitOk(On("0", 2000));
  Restart();
  EXPECT_EQ(runs_->queue().HolderOf("0"), id);
  EXPECT_EQ(Stored(in_flight).error->code, "lost_daemon");
  ASSERT_TRUE(GoesOn(0));
  EXPECT_EQ(launcher_->at(0).marker, waits);
  const std::string next = SubmitOk(In(id));
  EXPECT_EQ(Stored(next).round, 3);
  EXPECT_EQ(runs_->FindOpen(other)->row.state, RunState::kQueued);
  Pass(3600 * 1000);
  ASSERT_TRUE(Until([&] { return !launcher_->at(0).stop_graces_ms.empty(); }));
  EndLaunch(0);
  ASSERT_TRUE(HasClosed(id));
  ASSERT_TRUE(GoesOn(1));
  EXPECT_EQ(launcher_->at(1).marker, other);
}

TEST_F(SessionsTest, OneWhoseTtlPassedWhileTheDaemonWasAwayStartsNothing) {
  const std::string id = OpenNow();
  const std::string holder = SubmitOk(In(id));
  ASSERT_TRUE(GoesOn(0));
  const std::string waits = SubmitOk(In(id));
  Close();
  clock_.Advance(3601 * kNanosPerSecond);
  Start();
  ASSERT_TRUE(HasClosed(id));
  ASSERT_TRUE(HasEnded(waits));
  EXPECT_EQ(launcher_->count(), 0u);
  EXPECT_EQ(Stored(waits).error->code, "lease_lost");
  EXPECT_EQ(StoredSession(id).error->code, "timed_out");
}

TEST_F(SessionsTest, AQueuedOneKeepsItsPlaceOverARestart) {
  OpenNow(Detached("0"));
  const std::string id = OpenOk(Detached("0"));
  const std::string after = SubmitOk(On("0"));
  Restart();
  EXPECT_EQ(sessions().FindOpenRow(id)->state, SessionState::kQueued);
  EXPECT_EQ(sessions().FindOpen(id)->outlook.position, 1);
  EXPECT_EQ(runs_->FindOpen(after)->outlook.position, 2);
}

TEST_F(SessionsTest, AnAttachedOneIsLostWithTheDaemon) {
  const std::string id = OpenNow(Attached());
  const std::string waits_too = OpenOk(Attached());
  SubmitOk(In(id));
  ASSERT_TRUE(GoesOn(0));
  const std::string run = SubmitOk(In(id));
  Restart();
  ASSERT_TRUE(HasClosed(id) && HasClosed(waits_too) && HasEnded(run));
  EXPECT_EQ(StoredSession(id).state, SessionState::kLost);
  EXPECT_EQ(StoredSession(id).error->code, "lost_daemon");
  EXPECT_EQ(StoredSession(waits_too).state, SessionState::kLost);
  EXPECT_EQ(Stored(run).error->code, "lease_lost");
  EXPECT_EQ(launcher_->count(), 0u);
  EXPECT_EQ(runs_->queue().HolderOf("0"), "");
  EXPECT_EQ(Submit(In(id)).status().code(), ErrorCode::kLeaseLost);
}

TEST_F(SessionsTest, OneThatWasClosingIsClosed) {
  const std::string id = OpenNow();
  SubmitOk(In(id));
  ASSERT_TRUE(GoesOn(0));
  const std::string waits = SubmitOk(In(id));
  sessions().Close(id, {1000, "local"}, Fail(ErrorCode::kCancelled, "run", "its session was closed"), 5000,
                   [](auto) {});
  ASSERT_TRUE(Until([&] { return StoredSession(id).state == SessionState::kClosing; }));
  Restart();
  ASSERT_TRUE(HasClosed(id));
  EXPECT_EQ(StoredSession(id).state, SessionState::kClosed);
  EXPECT_NE(Stored(waits).state, RunState::kQueued);
  EXPECT_EQ(launcher_->count(), 0u);
}

TEST_F(SessionsTest, IsLostWithADeviceThatIsGone) {
  const std::string id = OpenNow(Detached("1"));
  const std::string run = SubmitOk(In(id));
  Close();
  devices_.Set(DeviceList({Device{.id = "0", .kind = DeviceKind::kNvidia, .name = "H200", .uuid = "GPU-a"}}));
  Start();
  ASSERT_TRUE(HasClosed(id));
  EXPECT_EQ(StoredSession(id).state, SessionState::kLost);
  EXPECT_EQ(StoredSession(id).error->code, "lease_lost");
  EXPECT_THAT(StoredSession(id).error->message, HasSubstr("device 1 is gone"));
}

TEST_F(SessionsTest, ARunWhoseSessionEndedWithoutItIsEndedByTheNextStart) {
  const std::string holder = OpenNow();
  const std::string id = OpenOk();
  const std::string run = SubmitOk(In(id));
  // As when the session's end was stored, and the run's could not be.
  ASSERT_TRUE(catalog_->writer()
                  .SubmitAndWait([&](Db& db) {
                    Result<SessionRow> row = ReadSession(db, id);
                    row->state = SessionState::kClosed;
                    return UpdateSession(db, *row);
                  })
                  .ok());
  Restart();
  ASSERT_TRUE(HasEnded(run));
  EXPECT_EQ(Stored(run).error->code, "lease_lost");
}

TEST_F(SessionsTest, BoundsWhatOneUserMayOpen) {
  Close();
  options_.sessions.limits = {.sessions = 3, .sessions_per_uid = 2};
  Start();
  const std::string first = OpenNow(Detached("0"));
  OpenOk(Detached("0"));
  Status refused = OpenSession(Detached("0")).status();
  EXPECT_EQ(refused.code(), ErrorCode::kQueueFull);
  EXPECT_THAT(refused.why(), HasSubstr("2 sessions are open or waiting already of uid 1000"));
  OpenOk(Detached("0", 2000));
  EXPECT_EQ(OpenSession(Detached("0", 3000)).status().code(), ErrorCode::kQueueFull);
  ASSERT_TRUE(CloseSession(first).ok());
  ASSERT_TRUE(HasClosed(first));
  OpenOk(Detached("0"));
}

TEST_F(SessionsTest, LastAsLongAsTheNodeAllows) {
  Close();
  options_.sessions.limits = {.max_ttl_ms = 120'000, .max_idle_timeout_ms = 30'000};
  Start();
  SessionRequest request = Detached("0");
  request.ttl_ms = 0;
  request.idle_timeout_ms = 0;
  const std::string id = OpenOk(request);
  EXPECT_EQ(sessions().FindOpen(id)->row.ttl_ms, 120'000);
  EXPECT_EQ(sessions().FindOpen(id)->row.idle_timeout_ms, 30'000);
  request.ttl_ms = 120'001;
  Status refused = OpenSession(request).status();
  EXPECT_EQ(refused.code(), ErrorCode::kUsage);
  EXPECT_THAT(refused.why(), HasSubstr("the TTL of 120.001 s is over this node's limit of 120 s"));
  request.ttl_ms = 120'000;
  request.idle_timeout_ms = 31'000;
  EXPECT_THAT(OpenSession(request).status().why(), HasSubstr("the idle timeout of 31 s"));
}

TEST_F(SessionsTest, WatchersSeeEachStateAndTheLastOne) {
  const std::string holder = OpenNow();
  const std::string id = OpenOk();
  std::string seen;
  sessions().Watch(id, [&](const Sessions::View& view) {
    const std::string state(SessionStateName(view.row.state));
    if (!seen.ends_with(state + " ")) seen += state + " ";
  });
  ASSERT_TRUE(CloseSession(holder).ok());
  ASSERT_TRUE(IsOpen(id));
  ASSERT_TRUE(CloseSession(id).ok());
  EXPECT_EQ(seen, "open closing closed ");
}

TEST_F(SessionsTest, WaitersLearnWhereTheyStandAndForHowLong) {
  const std::string first = SubmitOk(On("0", 1));
  ASSERT_TRUE(GoesOn(0));
  Pass(10'000);
  const std::string second = SubmitOk(On("0", 2));
  EndLaunch(0);
  ASSERT_TRUE(GoesOn(1));
  const std::string session = OpenOk(Detached("0", 3));
  const std::string last = SubmitOk(On("0", 4));
  EXPECT_EQ(sessions().FindOpen(session)->outlook.position, 1);
  EXPECT_EQ(sessions().FindOpen(session)->outlook.wait_ns, 10 * kNanosPerSecond);
  EXPECT_EQ(runs_->FindOpen(last)->outlook.position, 2);
  EXPECT_EQ(runs_->FindOpen(last)->outlook.wait_ns, 20 * kNanosPerSecond);
  std::vector<int> positions;
  runs_->Watch(last, [&](const Runs::View& view) { positions.push_back(view.outlook.position); });
  ASSERT_TRUE(CloseSession(session).ok());
  Pass(100);
  EXPECT_THAT(positions, ElementsAre(1));
}

TEST_F(SessionsTest, OneUsersLongQueueKeepsAnotherUserWaitingForOneRunOnly) {
  std::vector<std::string> many;
  for (int i = 0; i < 20; ++i) many.push_back(SubmitOk(On("0", 1)));
  const std::string single = SubmitOk(On("0", 2));
  EXPECT_EQ(runs_->FindOpen(single)->outlook.position, 1);
  ASSERT_TRUE(GoesOn(0));
  EndLaunch(0);
  ASSERT_TRUE(GoesOn(1));
  EXPECT_EQ(launcher_->at(1).marker, single);
}

TEST_F(SessionsTest, OneWhoseOpeningCannotBeStoredNeverWasOpen) {
  const std::string holder = OpenNow();
  std::optional<Result<SessionRow>> waiting;
  sessions().Open(Detached(), [&](Result<SessionRow> row) { waiting = std::move(row); });
  ASSERT_TRUE(Until([&] { return waiting.has_value(); }));
  std::optional<Sessions::View> last;
  sessions().Watch((*waiting)->id, [&](const Sessions::View& view) { last = view; });
  disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  sessions().Close(holder, {1000, "local"}, Fail(ErrorCode::kCancelled, "run", "it was closed"), 0,
                   [](const Result<SessionRow>&) {});
  ASSERT_TRUE(Until([&] { return last && IsOver(last->row.state); }));
  EXPECT_FALSE(last->row.granted_ns);
  EXPECT_EQ(last->row.error->code, "storage_full");
  disk_.plan.Heal();
}

TEST_F(SessionsTest, TheAuditSaysWhoOpenedAndWhatEndedIt) {
  SessionRequest request = Detached();
  request.caller = "certificate:ci";
  const std::string closed = OpenNow(request);
  std::optional<Result<SessionRow>> answer;
  sessions().Close(closed, {2000, "local"}, Fail(ErrorCode::kCancelled, "run", "it was closed"), 0,
                   [&](Result<SessionRow> row) { answer = std::move(row); });
  ASSERT_TRUE(Until([&] { return answer.has_value(); }));
  EXPECT_EQ((*answer)->error->code, "cancelled");  // its owner did not do that, and is told so
  EXPECT_THAT((*answer)->error->message, HasSubstr("it was closed"));
  request.ttl_ms = 1000;
  const std::string expired = OpenNow(request);
  Pass(1000);
  ASSERT_TRUE(HasClosed(expired));
  Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
  std::string told;
  for (const AuditEntry& entry : *ReadAudit(**reader, {})) {
    told += entry.action + " " + (entry.session_id == closed ? "closed" : "expired") + " by " + entry.by.caller + " " +
            std::to_string(entry.by.uid) + ": " + entry.outcome + "\n";
  }
  EXPECT_EQ(told,
            "lease_ended expired by kprofd 1000: timed_out\n"
            "session_close expired by kprofd 1000: timed_out\n"
            "lease_granted expired by kprofd 1000: ok\n"
            "session_open expired by certificate:ci 1000: ok\n"
            "lease_ended closed by kprofd 1000: cancelled\n"
            "session_close closed by local 2000: ok\n"
            "lease_granted closed by kprofd 1000: ok\n"
            "session_open closed by certificate:ci 1000: ok\n");
}

}  // namespace
}  // namespace kprof
