#include "daemon/runs/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "storage/catalog/catalog_restore.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A catalog put back from a backup is older than the files beside it.
class RestoredCatalogTest : public testing::Test, public RunsFixture {
 protected:
  void SetUp() override { ASSERT_TRUE(Open().ok()); }

  void BackUp() { ASSERT_TRUE(catalog_->BackUp(backup_, {}).ok()); }
  // The daemon is killed, and the next one begins with the backup.
  void RestoreAndOpen() {
    const Layout where = layout();
    Close();
    Result<RestoredCatalog> restored = RestoreCatalog(where, backup_, disk_.files, disk_.vfs.name());
    ASSERT_TRUE(restored.ok()) << restored.status().ToString();
    Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
  }
  static RunRequest OnTheOneDevice() {
    RunRequest request = Command();
    request.device = "0";
    return request;
  }
  void Leave(const std::string& id, const std::string& name, const std::string& text) {
    std::ofstream(layout().ArtifactPath(id, name)) << text;
  }
  void PutAway() { ASSERT_TRUE(PutStraysAway(*catalog_, disk_.files, clock_, "zzzzzzzzzzzzzzzz", {}).ok()); }
  std::string Lost(const std::string& name) { return ReadFile(layout().LostFolder() + "/" + name); }

  std::string backup_ = folder_ / "backup.db";
};

TEST_F(RestoredCatalogTest, ARunThatEndedAfterTheBackupIsNotSaidToHaveDied) {
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  BackUp();
  Leave(id, "stdout.log", "hello");
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  Leave(id, "report.bin", "precious");
  RestoreAndOpen();
  const RunRow run = Stored(id);
  EXPECT_EQ(run.state, RunState::kFailed);
  EXPECT_EQ(run.error->code, "lost_daemon");
  EXPECT_THAT(run.error->message, HasSubstr("restored from a backup that was made before its end"));
  EXPECT_THAT(run.error->remedy, HasSubstr(layout().LostFolder() + "/" + id + ".*"));
  PutAway();
  EXPECT_EQ(Lost(id + ".stdout.log"), "hello");
  EXPECT_EQ(Lost(id + ".report.bin"), "precious");
}

TEST_F(RestoredCatalogTest, WhatARunWithoutOutputLeftIsKept) {
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  BackUp();
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  std::filesystem::create_directory(layout().RunFolder(id));  // by an upload, later
  Leave(id, "report.bin", "precious");
  RestoreAndOpen();
  PutAway();
  EXPECT_EQ(Lost(id + ".report.bin"), "precious");
}

// As one that its run removes, or makes anew, while the sweep looks.
TEST_F(RestoredCatalogTest, AFolderThatIsGoneWhenItIsLookedIntoIsNotOneOfNoRun) {
  const std::string ended = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(ended));
  std::filesystem::remove_all(layout().RunFolder(ended));
  std::filesystem::create_symlink("nowhere", layout().RunFolder(ended));  // listed, and not there
  PutAway();
  EXPECT_TRUE(std::filesystem::is_symlink(layout().RunFolder(ended)));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(layout().LostFolder() + "/" + ended)));
}

TEST_F(RestoredCatalogTest, ARunThatWasQueuedThenAndEndedSinceIsNotSaidToHaveLostItsLaunchFile) {
  const std::string first = SubmitOk(OnTheOneDevice());
  const std::string second = SubmitOk(OnTheOneDevice());
  ASSERT_TRUE(GoesOn(0));
  BackUp();
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(GoesOn(1));
  launcher_->at(1).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(second));
  RestoreAndOpen();
  for (const std::string& id : {first, second}) {
    EXPECT_EQ(Stored(id).error->code, "lost_daemon");
    EXPECT_THAT(Stored(id).error->message, HasSubstr("restored from a backup"));
  }
}

TEST_F(RestoredCatalogTest, ARunThatIsStillInFlightDiedWithItsDaemon) {
  const std::string running = SubmitOk(OnTheOneDevice());
  const std::string queued = SubmitOk(OnTheOneDevice());
  ASSERT_TRUE(GoesOn(0));
  BackUp();
  Leave(running, "stdout.log", "so far");
  RestoreAndOpen();
  EXPECT_THAT(Stored(running).error->message, HasSubstr("kprofd died under it"));
  EXPECT_THAT(Stored(running).artifacts, ElementsAre(testing::Field(&ArtifactRow::name, "stdout.log")));
  EXPECT_TRUE(GoesOn(0));
  EXPECT_EQ(launcher_->at(0).marker, queued);
}

TEST_F(RestoredCatalogTest, ARunThatWasQueuedThenAndIsInFlightDoesNotRunTwice) {
  const std::string first = SubmitOk(OnTheOneDevice());
  const std::string second = SubmitOk(OnTheOneDevice());
  ASSERT_TRUE(GoesOn(0));
  BackUp();
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(Until([&] { return launcher_->count() > 1; }));  // its launch file is there still
  RestoreAndOpen();
  EXPECT_THAT(Stored(second).error->message, HasSubstr("kprofd died under it"));
  EXPECT_EQ(launcher_->count(), 0u);
}

// Where others start the commands: what is in flight is not ended before serving.
class RestoredSystemCatalogTest : public RestoredCatalogTest {
 protected:
  void SetUp() override {
    system_mode_ = true;
    RestoredCatalogTest::SetUp();
  }
  std::string OpenSession() {
    SessionRequest request;
    request.uid = 1000;
    request.device = "0";
    std::optional<Result<SessionRow>> answer;
    runs_->sessions().Open(request, [&](const Result<SessionRow>& row) { answer = row; });
    EXPECT_TRUE(Until([&] { return answer.has_value(); }));
    return (*answer)->id;
  }
  std::string SubmitTo(const std::string& session) {
    RunRequest request = OnTheOneDevice();
    request.session_id = session;
    return SubmitOk(request);
  }
  bool IsGone(const std::string& session) {
    return Until([&] { return runs_->sessions().FindOpenRow(session) == nullptr; });
  }
  // Nobody else comes to be on the device until nobody is left of `lost`.
  void ExpectKeepsTheDevice(const std::string& lost) {
    const std::string next = SubmitOk(OnTheOneDevice());
    for (int i = 0; i < 3; ++i) {
      loop_->RunUntilIdle();
      (void)catalog_->writer().SubmitAndWait([](Db&) { return OkStatus(); });
    }
    EXPECT_EQ(launcher_->count(), 0u) << "beside what is left of the lost run";
    EXPECT_EQ(runs_->RunOn("0"), lost);
    ASSERT_EQ(launcher_->remains.size(), 1u);
    EXPECT_EQ(launcher_->remains[0].marker, lost);
    launcher_->remains[0].done(OkStatus());
    ASSERT_TRUE(HasEnded(lost));
    EXPECT_EQ(Stored(lost).error->code, "lost_daemon");
    ASSERT_TRUE(GoesOn(0));
    EXPECT_EQ(launcher_->at(0).marker, next);
    launcher_->at(0).Ended(ExitCode(0));
    ASSERT_TRUE(HasEnded(next));
  }
};

TEST_F(RestoredSystemCatalogTest, ARunInFlightWithinASessionThatWasQueuedThenKeepsItsDevices) {
  const std::string before = SubmitOk(OnTheOneDevice());
  ASSERT_TRUE(GoesOn(0));
  const std::string session = OpenSession();
  const std::string lost = SubmitTo(session);
  BackUp();
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(GoesOn(1));
  ASSERT_EQ(launcher_->at(1).marker, lost);
  RestoreAndOpen();
  ExpectKeepsTheDevice(lost);
  EXPECT_TRUE(IsGone(session));
}

TEST_F(RestoredSystemCatalogTest, ARunInFlightKeepsItsDevicesFromASessionThatHeldThemThenAndEndedSince) {
  const std::string earlier = OpenSession();
  const std::string session = OpenSession();
  const std::string lost = SubmitTo(session);
  const std::string alone = SubmitOk(OnTheOneDevice());
  BackUp();
  runs_->sessions().Close(earlier, {1000}, OkStatus(), 0, [](const Result<SessionRow>&) {});
  ASSERT_TRUE(GoesOn(0));
  ASSERT_EQ(launcher_->at(0).marker, lost);
  runs_->Stop(alone, Fail(ErrorCode::kCancelled, "run", "cancelled"), 0, [](const Result<RunRow>&) {});
  ASSERT_TRUE(HasEnded(alone));
  RestoreAndOpen();
  ExpectKeepsTheDevice(lost);
  EXPECT_TRUE(IsGone(earlier));
  EXPECT_TRUE(IsGone(session));
}

TEST_F(RestoredSystemCatalogTest, ARunInFlightByItselfKeepsItsDevicesFromASessionThatHeldThemThen) {
  const std::string earlier = OpenSession();
  const std::string lost = SubmitOk(OnTheOneDevice());
  BackUp();
  runs_->sessions().Close(earlier, {1000}, OkStatus(), 0, [](const Result<SessionRow>&) {});
  ASSERT_TRUE(GoesOn(0));
  RestoreAndOpen();
  ExpectKeepsTheDevice(lost);
  EXPECT_TRUE(IsGone(earlier));
}

TEST_F(RestoredSystemCatalogTest, ARunInFlightWithinASessionThatWasOpenThenKeepsItsDevices) {
  const std::string session = OpenSession();
  const std::string lost = SubmitTo(session);
  ASSERT_TRUE(GoesOn(0));
  BackUp();
  RestoreAndOpen();
  ExpectKeepsTheDevice(lost);
  EXPECT_TRUE(IsGone(session));
}

TEST_F(RestoredCatalogTest, IsLikeAnyOtherFromItsSecondStartOn) {
  BackUp();
  RestoreAndOpen();
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  Close();
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(Stored(id).error->message, HasSubstr("kprofd died under it"));
}

TEST_F(RestoredCatalogTest, ABackupThatWasCopiedThereByHandIsKnownForOne) {
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  BackUp();
  const Layout where = layout();
  Close();
  std::filesystem::remove_all(where.state_folder);
  std::filesystem::create_directory(where.state_folder);
  std::filesystem::copy(backup_, where.CatalogPath());
  disk_.plan.Forget();
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(Stored(id).error->message, HasSubstr("restored from a backup"));
}

}  // namespace
}  // namespace kprof
