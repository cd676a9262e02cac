#include "daemon/runs/command/run_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/catalog/audit_table.h"
#include "storage/crypto/sha256.h"
#include "tests/unit/runs/imports_fixture.h"

namespace kprof {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RunOutputsTest : public ImportsFixture, public testing::Test {
 protected:
  RunOutputsTest() { import_threads_ = 1; }
  void SetUp() override {
    const Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
  }

  UniqueFd FileOf(const std::string& bytes) {
    const std::string path = folder_ / ("left" + std::to_string(++files_));
    std::ofstream(path) << bytes;
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  // A run that is about to say what it left.
  std::string Running(RunRequest request = Command()) {
    const size_t before = launcher_->count();
    const std::string id = SubmitOk(std::move(request));
    EXPECT_TRUE(GoesOn(before));
    return id;
  }
  static std::vector<std::string> NamesOf(const RunRow& row) {
    std::vector<std::string> names;
    for (const ArtifactRow& artifact : row.artifacts) names.push_back(artifact.name);
    return names;
  }
  static testing::Matcher<TrustReason> Reason(const char* code, const std::string& part) {
    return AllOf(Field(&TrustReason::code, code), Field(&TrustReason::message, HasSubstr(part)));
  }

  int files_ = 0;
};

TEST_F(RunOutputsTest, BecomeArtifactsAndATrace) {
  const std::string id = Running();
  launcher_->last().Left("out/trace.json", FileOf("{\"good\"}"));
  launcher_->last().Left("out/notes.txt", FileOf("notes"));
  launcher_->last().Ended(ExitCode(0));
  const RunRow row = Ended(id);
  EXPECT_EQ(row.state, RunState::kDone) << (row.error ? row.error->message : "");
  EXPECT_THAT(NamesOf(row), ElementsAre("notes.txt", "trace.json"));
  EXPECT_EQ(row.artifacts[0].sha256, Sha256Of(std::string("notes")));
  EXPECT_EQ(row.artifacts[0].size_bytes, 5);
  EXPECT_EQ(row.artifacts[0].path, "out/notes.txt");
  ASSERT_EQ(row.trace.size(), 1U);
  EXPECT_EQ(row.trace[0].name, "trace");
  EXPECT_EQ(row.trace[0].source_name, "trace.json");
  EXPECT_EQ(row.trace[0].source_artifact, "trace.json");
  EXPECT_THAT(row.trust, IsEmpty());
  EXPECT_THAT(FilesOf(id), ElementsAre("notes.txt", "trace.json", "trace.trace.db"));
}

TEST_F(RunOutputsTest, KnowWhereTheirCommandLeftThem) {
  RunRequest request = Command();
  const std::string cwd = request.cwd = "/home/me//work/";
  const std::string id = Running(std::move(request));
  const std::pair<std::string, std::string> left[] = {
      {"compiled/x/y.mlir", "compiled/x/y.mlir"},
      {cwd + "/tiling/a.json", "tiling/a.json"},
      {"../above.txt", ""},
      {"x/../inside.txt", ""},
      {"/home/me/work_else/b.json", ""},
      {"/tmp/c.json", ""},
      {"compiled/x/y.mlir", ""},  // said twice
      {"bad\xff/d.json", ""},
      {"two\nlines/e.json", ""},
      {std::string(2000, 'f') + "/f.json", ""},
  };
  for (const auto& [path, told] : left) launcher_->last().Left(path, FileOf("x"));
  launcher_->last().Left("of_tool/g.txt", FileOf("x"), 0);
  launcher_->last().Ended(ExitCode(0));
  const RunRow row = Ended(id);
  std::vector<std::string> paths;
  for (const ArtifactRow& artifact : row.artifacts) {
    if (!artifact.path.empty()) paths.push_back(artifact.path);
  }
  EXPECT_EQ(row.artifacts.size(), std::size(left) + 1);
  EXPECT_THAT(paths, testing::UnorderedElementsAre("compiled/x/y.mlir", "tiling/a.json"));
}

TEST_F(RunOutputsTest, OfARunThatFailedAreKept) {
  const std::string id = Running();
  launcher_->last().Left("core.txt", FileOf("why"));
  launcher_->last().Ended(ExitCode(3));
  const RunRow row = Ended(id);
  EXPECT_EQ(row.error->code, "command_failed");
  EXPECT_THAT(NamesOf(row), ElementsAre("core.txt"));
}

TEST_F(RunOutputsTest, ThatAreNoTracesAreKeptWithoutAWord) {
  const std::string id = Running();
  launcher_->last().Left("cache.json", FileOf("{\"none\"}"));
  launcher_->last().Ended(ExitCode(0));
  const RunRow row = Ended(id);
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_THAT(NamesOf(row), ElementsAre("cache.json"));
  EXPECT_THAT(row.trace, IsEmpty());
  EXPECT_THAT(row.trust, IsEmpty());
}

TEST_F(RunOutputsTest, ThatAreBrokenAreKeptAndNamed) {
  const std::string id = Running();
  launcher_->last().Left("out/bad.json", FileOf("{\"bad\"}"));
  launcher_->last().Left("out/good.json", FileOf("{\"good\"}"));
  launcher_->last().Ended(ExitCode(0));
  const RunRow row = Ended(id);
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_THAT(NamesOf(row), ElementsAre("bad.json", "good.json"));
  EXPECT_EQ(row.trace.size(), 1U);
  EXPECT_THAT(row.trust, ElementsAre(Reason(kOutputNotImported, "out/bad.json")));
  EXPECT_THAT(FilesOf(id), ElementsAre("bad.json", "good.json", "trace.trace.db"));
}

TEST_F(RunOutputsTest, OfTheSameBytesAreOnePart) {
  const std::string id = Running();
  launcher_->last().Left("a/trace.json", FileOf("{\"good\"}"));
  launcher_->last().Left("b/trace.json", FileOf("{\"good\"}"));
  launcher_->last().Ended(ExitCode(0));
  const RunRow row = Ended(id);
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_THAT(NamesOf(row), ElementsAre("2_trace.json", "trace.json"));
  EXPECT_EQ(row.trace.size(), 1U);
  EXPECT_THAT(row.trust, ElementsAre(Reason(kOutputNotImported, "same bytes")));
}

TEST_F(RunOutputsTest, WhoseNamesAreNoNamesGetSafeOnes) {
  const std::string id = Running();
  launcher_->last().Left("out/bad\xff/\xfe\n.json", FileOf("x"));
  launcher_->last().Left("stdout.log", FileOf("x"));
  launcher_->last().Ended(ExitCode(0));
  const RunRow row = Ended(id);
  ASSERT_EQ(row.artifacts.size(), 2U);
  for (const ArtifactRow& artifact : row.artifacts) EXPECT_TRUE(IsSafeName(artifact.name)) << artifact.name;
  EXPECT_THAT(NamesOf(row), Not(Contains("stdout.log")));
}

TEST_F(RunOutputsTest, ThatAreNoFilesAreLeftOut) {
  const std::string id = Running();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd write_end(ends[1]);
  const std::string path = folder_ / "writable";
  std::ofstream(path) << "x";
  launcher_->last().Left("a_pipe", UniqueFd(ends[0]));
  launcher_->last().Left("a_device", UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  launcher_->last().Left("a_folder", UniqueFd(::open("/", O_RDONLY | O_CLOEXEC)));
  launcher_->last().Left("for_writing", UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC)));
  launcher_->last().Left("a_path", UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC)));
  launcher_->last().Ended(ExitCode(0));
  const RunRow row = Ended(id);
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_THAT(row.artifacts, IsEmpty());
  EXPECT_THAT(row.trust, ElementsAre(Reason(kOutputLeftOut, "a_pipe"), Reason(kOutputLeftOut, "a_device"),
                                     Reason(kOutputLeftOut, "a_folder"), Reason(kOutputLeftOut, "reading alone"),
                                     Reason(kOutputLeftOut, "a_path")));
}

TEST_F(RunOutputsTest, AreAsManyAndAsLargeAsMayBe) {
  ChosenOutputs chosen;
  std::vector<HeldOutput> outputs;
  for (const char* bytes : {"12345", "1234", "123", "12", "1"}) {
    auto file = std::make_shared<ReceivedOutput>();
    file->found.path = bytes;
    file->fd = FileOf(bytes);
    outputs.push_back({file, nullptr, 0});
  }
  chosen = ChooseOutputs(outputs, {.files = 2, .bytes = 8}, false);
  ASSERT_EQ(chosen.outputs.size(), 2U);
  EXPECT_EQ(chosen.outputs[0].size_bytes, 5);
  EXPECT_EQ(chosen.outputs[1].size_bytes, 3);
  EXPECT_EQ(chosen.bytes, 8);
  EXPECT_EQ(chosen.trust.size(), 3U);
}

TEST_F(RunOutputsTest, SaysWhatTheSupervisorLeftOut) {
  const std::string id = Running();
  launcher_->last().LeftOut({{"'a': it is a symbolic link"}, 7});
  launcher_->last().Ended(ExitCode(0));
  EXPECT_THAT(Ended(id).trust,
              ElementsAre(Reason(kOutputLeftOut, "symbolic link"), Reason(kOutputLeftOut, "7 more files")));
}

TEST_F(RunOutputsTest, KeepHolesHoles) {
  const std::string path = folder_ / "sparse";
  std::ofstream(path) << "begin";
  constexpr int64_t kSize = int64_t{64} << 20;
  ASSERT_EQ(::truncate(path.c_str(), kSize), 0);
  const std::string id = Running();
  launcher_->last().Left("sparse", UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  launcher_->last().Ended(ExitCode(0));
  const RunRow row = Ended(id);
  ASSERT_EQ(row.artifacts.size(), 1U);
  EXPECT_EQ(row.artifacts[0].size_bytes, kSize);
  struct stat about {};
  ASSERT_EQ(::stat(layout().ArtifactPath(id, "sparse").c_str(), &about), 0);
  EXPECT_EQ(about.st_size, kSize);
  EXPECT_LT(about.st_blocks * 512, kSize / 4);
}

TEST_F(RunOutputsTest, FreeTheDevicesBeforeTheyAreRead) {
  const std::string id = Running(On("0"));
  const std::string next = SubmitOk(On("0"));
  launcher_->last().Left("trace.json", FileOf("{\"wait\"}"));
  launcher_->last().Ended(ExitCode(0));
  ASSERT_TRUE(Until([&] { return reading_ > 0; }));
  EXPECT_TRUE(Until([&] { return launcher_->count() == 2; }));  // the next one has them
  EXPECT_EQ(runs_->RunOn("0"), next);
  EXPECT_EQ(runs_->FindOpenRow(id)->state, RunState::kCollecting);
  go_on_ = true;
  EXPECT_EQ(Ended(id).state, RunState::kDone);
  EXPECT_EQ(runs_->RunOn("0"), next);
}

TEST_F(RunOutputsTest, CanBeCancelledWhileTheyAreRead) {
  const std::string id = Running();
  launcher_->last().Left("trace.json", FileOf("{\"wait\"}"));
  launcher_->last().Ended(ExitCode(0));
  ASSERT_TRUE(Until([&] { return reading_ > 0; }));
  Cancel(id);
  const RunRow row = Ended(id);
  EXPECT_EQ(row.state, RunState::kCancelled);
  EXPECT_THAT(NamesOf(row), ElementsAre("trace.json"));
  EXPECT_THAT(row.trace, IsEmpty());
  EXPECT_THAT(FilesOf(id), ElementsAre("trace.json"));
}

// What its command came to stays, with what is kept by then.
TEST_F(RunOutputsTest, ThatADaemonThatStopsDoesNotReadAreKept) {
  const std::string id = Running();
  launcher_->last().Left("trace.json", FileOf("{\"wait\"}"));
  launcher_->last().Ended(ExitCode(0));
  ASSERT_TRUE(Until([&] { return reading_ > 0; }));
  bool stopped = false;
  runs_->StopAll(0, [&] { stopped = true; });
  runs_->KillAll();
  ASSERT_TRUE(Until([&] { return stopped; }));
  const RunRow row = Stored(id);
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_THAT(NamesOf(row), ElementsAre("trace.json"));
  EXPECT_THAT(row.trust, Contains(Reason(kOutputNotImported, "kprofd was stopped")));
}

TEST_F(RunOutputsTest, SayOfAFailureWhenTheyFreeTheDevices) {
  const std::string id = Running(On("0"));
  launcher_->last().Left("trace.json", FileOf("{\"good\"}"));
  launcher_->last().Ended(ExitCode(3));
  EXPECT_EQ(Ended(id).state, RunState::kFailed);
  Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
  Result<std::vector<AuditEntry>> entries = ReadAudit(**reader, {});
  ASSERT_TRUE(entries.ok());
  std::vector<std::string> outcomes;
  for (const AuditEntry& entry : *entries) {
    if (entry.action == "lease_ended") outcomes.push_back(entry.outcome);
  }
  EXPECT_THAT(outcomes, ElementsAre("command_failed"));
}

TEST_F(RunOutputsTest, AreNotReadWhereTheirPartsAreTooMuchForTheirOwner) {
  StorageLimits::Values values{};
  values.bytes_per_uid = 33;  // beside its row room for the file, and not for a part of the same size
  storage_limits_.Set(values);
  const std::string id = Running();
  launcher_->last().Left("trace.json", FileOf("{\"good\"}"));
  launcher_->last().Ended(ExitCode(0));
  const RunRow row = Ended(id);
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_THAT(NamesOf(row), ElementsAre("trace.json"));
  EXPECT_THAT(row.trace, IsEmpty());
  EXPECT_THAT(row.trust, Contains(Reason(kOutputNotImported, "the files themselves are kept")));
  EXPECT_THAT(FilesOf(id), ElementsAre("trace.json"));
}

// The command was over by then, and its supervisor was handing over.
TEST_F(RunOutputsTest, AreNotReadWhereTheRunWasToEndMeanwhile) {
  const std::string id = Running();
  launcher_->last().Left("trace.json", FileOf("{\"good\"}"));
  Cancel(id);
  launcher_->last().Ended(ExitCode(0));
  const RunRow row = Ended(id);
  EXPECT_EQ(row.state, RunState::kCancelled);
  EXPECT_THAT(row.trace, IsEmpty());
}

TEST_F(RunOutputsTest, WaitForAPlaceAmongTheImports) {
  options_.imports_at_once = 1;
  Restart();
  const std::string import = Import(Of({Source("r0.json", "wait")}));
  ASSERT_TRUE(Until([&] { return reading_ > 0; }));
  const std::string id = Running();
  launcher_->last().Left("trace.json", FileOf("{\"good\"}"));
  launcher_->last().Ended(ExitCode(0));
  ASSERT_TRUE(Until([&] { return runs_->FindOpenRow(id)->state == RunState::kCollecting; }));
  Cancel(import);
  const RunRow row = Ended(id);
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_EQ(row.trace.size(), 1U);
}

TEST_F(RunOutputsTest, ThatADaemonDiedOverLeaveNothing) {
  std::string id = Running();
  launcher_->last().Left("trace.json", FileOf("{\"wait\"}"));
  launcher_->last().Ended(ExitCode(0));
  ASSERT_TRUE(Until([&] { return reading_ > 0; }));
  go_on_ = true;
  Restart();
  const RunRow row = Stored(id);
  EXPECT_EQ(row.error->code, "lost_daemon");
  EXPECT_THAT(row.artifacts, IsEmpty());
  EXPECT_THAT(FilesOf(id), IsEmpty());
}

constexpr ToolOutput kNeedsReport[] = {{.glob = "*.rep", .reader = "auto", .required = true}};
constexpr Tool kReporter{.name = "reporter", .summary = "", .needs = {}, .options = {}, .outputs = kNeedsReport};

TEST(RequiredOutputs, AreMissedByName) {
  const std::optional<Status> why = WhyToolFailed(kReporter, "r", {}, {}, {});
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ(why->code(), ErrorCode::kToolFailed);
  EXPECT_THAT(why->ToString(), HasSubstr("left no file that matches '*.rep'"));
}

TEST(RequiredOutputs, ThatCannotBeReadFailTheRunWithWhy) {
  const KeptOutput kept{{"a.rep", 3, ""}, {"a.rep", 0}};
  const std::optional<Status> why =
      WhyToolFailed(kReporter, "r", {kept}, {}, {{kOutputNotImported, "'a.rep': it ends at byte 3"}});
  ASSERT_TRUE(why.has_value());
  EXPECT_THAT(why->ToString(), HasSubstr("it ends at byte 3"));
}

TEST(RequiredOutputs, ThatArePartsAreWell) {
  const KeptOutput kept{{"a.rep", 3, ""}, {"a.rep", 0}};
  TracePartRow part;
  part.source_artifact = "a.rep";
  EXPECT_FALSE(WhyToolFailed(kReporter, "r", {kept}, {part}, {}).has_value());
}

}  // namespace
}  // namespace kprof
