#include "daemon/revoked_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "storage/catalog/session_table.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using testing::HasSubstr;

constexpr uint32_t kStays = 1000;
constexpr uint32_t kGoes = 2000;

class WithdrawnRightsTest : public RunsFixture, public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Open().ok());
    audit_ = std::make_unique<AuditLog>(*loop_, clock_, catalog_->writer(), metrics_);
    rights_.access.users = {{kStays, Role::kViewer}};
  }

  static RunRequest CommandOf(uint32_t uid, const std::string& caller = "local",
                              const std::string& certificate_id = "") {
    RunRequest request = Command();
    request.uid = uid;
    request.caller = caller;
    request.certificate_id = certificate_id;
    return request;
  }
  std::string OpenSessionOf(uint32_t uid, const std::string& caller = "local", const std::string& certificate_id = "") {
    SessionRequest request;
    request.uid = uid;
    request.caller = caller;
    request.certificate_id = certificate_id;
    request.device = "0";
    request.attached = false;
    std::string id;
    runs_->sessions().Open(request, [&](Result<SessionRow> row) { id = row->id; });
    EXPECT_TRUE(Until([&] { return !id.empty(); }));
    return id;
  }
  RevokedAccess::GroupsOf Groups() {
    return [this](uid_t uid, const std::vector<gid_t>&) { return groups_[uid]; };
  }
  void Enforce() {
    RevokedAccess withdrawn(*loop_, *workers_, *catalog_, *runs_, *audit_, Groups());
    bool done = false;
    withdrawn.Enforce(rights_, [&] { done = true; });
    ASSERT_TRUE(Until([&] { return done; }));
  }
  bool Waits(const std::string& id) {
    const RunRow* run = runs_->FindOpenRow(id);
    return run != nullptr && run->state == RunState::kQueued;
  }

  // What kprofd did by itself to that run or session: action and detail.
  std::vector<std::string> DeedsTo(const std::string& id) {
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    std::vector<std::string> deeds;
    for (const AuditEntry& entry : *ReadAudit(**reader, {})) {
      if (entry.by.caller != kDaemonCaller || (entry.run_id != id && entry.session_id != id)) continue;
      deeds.push_back(entry.action + " " + entry.detail);
    }
    return deeds;
  }

  Metrics metrics_;
  std::unique_ptr<AuditLog> audit_;
  StartRights rights_;
  std::map<uid_t, std::vector<gid_t>> groups_;
};

TEST_F(WithdrawnRightsTest, WhatWaitsOfWhoHasNoRoleEnds) {
  const std::string running = SubmitOk(CommandOf(kGoes));
  ASSERT_TRUE(GoesOn(0));
  const std::string goes = SubmitOk(CommandOf(kGoes));
  const std::string stays = SubmitOk(CommandOf(kStays));
  Enforce();
  ASSERT_TRUE(HasEnded(goes));
  EXPECT_EQ(Stored(goes).error->code, "not_permitted");
  EXPECT_EQ(Stored(goes).error->message, "run " + goes + ": uid 2000 no longer has a role on this node");
  EXPECT_TRUE(Waits(stays));
  ASSERT_NE(runs_->FindOpenRow(running), nullptr);
  EXPECT_EQ(runs_->FindOpenRow(running)->state, RunState::kRunning);
}

TEST_F(WithdrawnRightsTest, ARoleByGroupIsARole) {
  rights_.access.groups = {{44, Role::kViewer}};
  groups_ = {{kGoes, {100, 44}}, {3000, {100}}};
  SubmitOk(CommandOf(kStays));
  ASSERT_TRUE(GoesOn(0));
  const std::string by_group = SubmitOk(CommandOf(kGoes));
  const std::string goes = SubmitOk(CommandOf(3000));
  Enforce();
  ASSERT_TRUE(HasEnded(goes));
  EXPECT_TRUE(Waits(by_group));
}

TEST_F(WithdrawnRightsTest, SessionsEndAndGiveTheirDevicesBack) {
  const std::string open = OpenSessionOf(kGoes);
  const std::string waiting = OpenSessionOf(kGoes);
  const std::string next = OpenSessionOf(kStays);
  Enforce();
  ASSERT_TRUE(Until([&] { return runs_->sessions().FindOpenRow(open) == nullptr; }));
  ASSERT_TRUE(Until([&] { return runs_->sessions().FindOpenRow(waiting) == nullptr; }));
  Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
  EXPECT_EQ(ReadSession(**reader, open)->error->code, "not_permitted");
  EXPECT_EQ(ReadSession(**reader, open)->error->message,
            "session " + open + ": uid 2000 no longer has a role on this node");
  EXPECT_TRUE(Until([&] {
    const SessionRow* row = runs_->sessions().FindOpenRow(next);
    return row != nullptr && row->state == SessionState::kOpen;
  }));
}

TEST_F(WithdrawnRightsTest, WhatCameWithACertificateEndsWithItsRule) {
  rights_.certificates = {{.name = "ci", .role = Role::kViewer, .uid = kStays},
                          {.name = "other", .role = Role::kViewer, .uid = kGoes}};
  SubmitOk(CommandOf(kStays));
  ASSERT_TRUE(GoesOn(0));
  const std::string stays = SubmitOk(CommandOf(kStays, "certificate:ci"));
  const std::string session_stays = OpenSessionOf(kStays, "certificate:ci");
  const std::string no_rule = SubmitOk(CommandOf(kStays, "certificate:gone"));
  const std::string other_user = SubmitOk(CommandOf(kStays, "certificate:other"));
  Enforce();
  ASSERT_TRUE(HasEnded(no_rule));
  ASSERT_TRUE(HasEnded(other_user));
  EXPECT_THAT(Stored(no_rule).error->message, HasSubstr("certificate gone"));
  EXPECT_TRUE(Waits(stays));
  EXPECT_NE(runs_->sessions().FindOpenRow(session_stays), nullptr);
}

TEST_F(WithdrawnRightsTest, WhatCameWithACertificateEndsWhenJustThatOneIsRevoked) {
  rights_.certificates = {{.name = "ci", .role = Role::kViewer, .uid = kStays}};
  rights_.is_revoked = [](const std::string& certificate_id) { return certificate_id == "1A of CN = lab CA"; };
  SubmitOk(CommandOf(kStays));
  ASSERT_TRUE(GoesOn(0));
  const std::string goes = SubmitOk(CommandOf(kStays, "certificate:ci", "1A of CN = lab CA"));
  const std::string session_goes = OpenSessionOf(kStays, "certificate:ci", "1A of CN = lab CA");
  const std::string stays = SubmitOk(CommandOf(kStays, "certificate:ci", "1B of CN = lab CA"));
  const std::string session_stays = OpenSessionOf(kStays, "certificate:ci", "1B of CN = lab CA");
  const std::string not_noted = SubmitOk(CommandOf(kStays, "certificate:ci"));
  const std::string local = SubmitOk(CommandOf(kStays));
  Enforce();
  ASSERT_TRUE(HasEnded(goes));
  EXPECT_EQ(Stored(goes).error->code, "not_permitted");
  EXPECT_THAT(Stored(goes).error->message,
              HasSubstr("certificate ci, with which it came (1A of CN = lab CA), is revoked"));
  ASSERT_TRUE(Until([&] { return !DeedsTo(goes).empty(); }));
  EXPECT_THAT(DeedsTo(goes), testing::ElementsAre(HasSubstr("cancel command: certificate ci, with which it came")));
  ASSERT_TRUE(Until([&] { return runs_->sessions().FindOpenRow(session_goes) == nullptr; }));
  EXPECT_THAT(DeedsTo(session_goes), testing::Contains(HasSubstr("session_close")));
  EXPECT_NE(runs_->sessions().FindOpenRow(session_stays), nullptr);
  for (const std::string& id : {stays, not_noted, local}) EXPECT_TRUE(Waits(id));
}

TEST_F(WithdrawnRightsTest, WhatIsBeingPreparedDoesNotBegin) {
  const std::string goes = SubmitOk(CommandOf(kGoes));
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().HeldUp(Fail(ErrorCode::kNoDaemon, "start", "the helper is away"));
  Enforce();
  ASSERT_TRUE(HasEnded(goes));
  EXPECT_EQ(Stored(goes).error->code, "not_permitted");
  EXPECT_EQ(launcher_->last().go_calls, 0);
  EXPECT_TRUE(launcher_->last().destroyed);
}

TEST_F(WithdrawnRightsTest, ADirectoryThatIsAwayTakesNobodysRight) {
  rights_.access.groups = {{44, Role::kViewer}};
  SubmitOk(CommandOf(kStays));
  ASSERT_TRUE(GoesOn(0));
  const std::string waits = SubmitOk(CommandOf(kGoes));
  std::atomic<int> asked = 0;
  std::atomic<bool> is_away = true;
  RevokedAccess withdrawn(*loop_, *workers_, *catalog_, *runs_, *audit_,
                          [&](uid_t, const std::vector<gid_t>& of) -> Result<std::vector<gid_t>> {
                            EXPECT_EQ(of, (std::vector<gid_t>{44}));
                            ++asked;
                            if (is_away) return Fail(ErrorCode::kInternal, "find uid", "the directory is away");
                            return std::vector<gid_t>{100};
                          });
  bool known = false;
  withdrawn.Enforce(rights_, [&] { known = true; });
  ASSERT_TRUE(Until([&] { return known; }));
  EXPECT_TRUE(Waits(waits));
  is_away = false;
  Pass(RevokedAccess::kAskAgainNs / kNanosPerMilli);
  ASSERT_TRUE(HasEnded(waits)) << "it is asked again";
  EXPECT_EQ(asked, 2);
}

TEST_F(WithdrawnRightsTest, RightsThatAreGivenBackInTimeWereNeverLost) {
  rights_.access.groups = {{44, Role::kViewer}};
  SubmitOk(CommandOf(kStays));
  ASSERT_TRUE(GoesOn(0));
  SubmitOk(CommandOf(kGoes));
  const std::string stays = SubmitOk(CommandOf(kStays, "certificate:ci"));
  auto answers = std::make_shared<std::promise<void>>();
  RevokedAccess withdrawn(
      *loop_, *workers_, *catalog_, *runs_, *audit_,
      [answered = answers->get_future().share()](uid_t, const std::vector<gid_t>&) -> std::vector<gid_t> {
        answered.wait();
        return {44};
      });
  bool known = false;
  withdrawn.Enforce(rights_, [&] { known = true; });
  loop_->RunUntilIdle();
  rights_.certificates = {{.name = "ci", .role = Role::kViewer, .uid = kStays}};
  withdrawn.Enforce(rights_);
  loop_->RunUntilIdle();
  answers->set_value();
  ASSERT_TRUE(Until([&] { return known; }));
  loop_->RunUntilIdle();
  EXPECT_TRUE(Waits(stays));
}

TEST_F(WithdrawnRightsTest, RightsThatAreGivenBackCountBeforeItIsKnownWhoWaits) {
  rights_.access.groups = {{44, Role::kViewer}};
  SubmitOk(CommandOf(kStays));
  ASSERT_TRUE(GoesOn(0));
  const std::string by_group = SubmitOk(CommandOf(kGoes));
  const std::string stays = SubmitOk(CommandOf(kStays, "certificate:ci"));
  std::promise<void> answers;
  std::promise<void> reads;
  std::atomic<int> asked = 0;
  WorkerPool slow({.threads = 1, .queue_limit_jobs = 8});
  RevokedAccess withdrawn(
      *loop_, slow, *catalog_, *runs_, *audit_,
      [&, answered = answers.get_future().share()](uid_t, const std::vector<gid_t>&) -> std::vector<gid_t> {
        ++asked;
        answered.wait();
        return {44};
      });
  bool known = false;
  withdrawn.Enforce(rights_, [&] { known = true; });
  ASSERT_TRUE(Until([&] { return asked == 1; }));
  ASSERT_TRUE(slow.Submit([may_read = reads.get_future().share()] { may_read.wait(); }).ok());
  rights_.certificates = {{.name = "ci", .role = Role::kViewer, .uid = kStays}};
  withdrawn.Enforce(rights_);
  Pass(RevokedAccess::kLimitNs / kNanosPerMilli);
  EXPECT_TRUE(known) << "nobody waits longer than that, for the catalog either";
  EXPECT_TRUE(Waits(stays));
  reads.set_value();
  answers.set_value();
  ASSERT_TRUE(Until([&] { return asked == 2; })) << "about whom the later rights leave undecided";
  loop_->RunUntilIdle();
  for (const std::string& id : {by_group, stays}) EXPECT_TRUE(Waits(id));
}

TEST_F(WithdrawnRightsTest, TheDirectoryIsNotAskedWhatWouldNotHelp) {
  SubmitOk(CommandOf(kStays));
  ASSERT_TRUE(GoesOn(0));
  const std::string goes = SubmitOk(CommandOf(kGoes));
  RevokedAccess withdrawn(*loop_, *workers_, *catalog_, *runs_, *audit_,
                          [](uid_t, const std::vector<gid_t>&) -> Result<std::vector<gid_t>> {
                            return Fail(ErrorCode::kInternal, "find uid", "the directory is away");
                          });
  withdrawn.Enforce(rights_);
  ASSERT_TRUE(HasEnded(goes)) << "no group has a role";
  const std::string nobodys = SubmitOk(CommandOf(kGoes));
  rights_.access.groups = {{44, Role::kViewer}};
  rights_.access.nobodies = {kGoes};
  withdrawn.Enforce(rights_);
  ASSERT_TRUE(HasEnded(nobodys)) << "nor would one help this user";
}

TEST_F(WithdrawnRightsTest, ADirectoryThatHangsKeepsNobodyWaitingForLong) {
  rights_.access.groups = {{44, Role::kViewer}};
  SubmitOk(CommandOf(kStays));
  ASSERT_TRUE(GoesOn(0));
  const std::string goes = SubmitOk(CommandOf(kGoes));
  const std::string stays = SubmitOk(CommandOf(3000));
  rights_.certificates = {{.name = "ci", .role = Role::kViewer, .uid = kStays}};
  const std::string by_rule = SubmitOk(CommandOf(kStays, "certificate:ci"));
  const std::string no_rule = SubmitOk(CommandOf(kStays, "certificate:gone"));
  std::promise<void> answers;
  std::atomic<int> asked = 0;
  RevokedAccess withdrawn(
      *loop_, *workers_, *catalog_, *runs_, *audit_,
      [&, answered = answers.get_future().share()](uid_t, const std::vector<gid_t>&) -> std::vector<gid_t> {
        ++asked;
        answered.wait();
        return {100};
      });
  bool known = false;
  withdrawn.Enforce(rights_, [&] { known = true; });
  ASSERT_TRUE(Until([&] { return asked == 1; }));
  EXPECT_FALSE(known);
  Pass(RevokedAccess::kLimitNs / kNanosPerMilli);
  EXPECT_TRUE(known);
  ASSERT_TRUE(HasEnded(no_rule)) << "nobody need be asked about that one";
  for (const std::string& id : {goes, by_rule}) EXPECT_TRUE(Waits(id));
  rights_.access.users[3000] = Role::kViewer;
  rights_.certificates.clear();
  withdrawn.Enforce(rights_);
  ASSERT_TRUE(HasEnded(by_rule)) << "nor about that one, while it hangs";
  EXPECT_TRUE(Waits(goes));
  answers.set_value();
  ASSERT_TRUE(HasEnded(goes));
  EXPECT_TRUE(Waits(stays)) << "it is the later rights that count";
}

TEST_F(WithdrawnRightsTest, WithARoleForAllNothingEnds) {
  rights_.access.everyone = Role::kViewer;
  SubmitOk(CommandOf(kStays));
  ASSERT_TRUE(GoesOn(0));
  const std::string waits = SubmitOk(CommandOf(kGoes));
  Enforce();
  EXPECT_TRUE(Waits(waits));
}

}  // namespace
}  // namespace kprof
