// The state folders of earlier versions, tests/data/state-v*, as a start finds them.
#include <gtest/gtest.h>

#include <filesystem>

#include "daemon/runs/command/launch_spool.h"
#include "daemon/runs/recovery.h"
#include "storage/catalog/run_table.h"
#include "storage/crypto/sha256.h"
#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

// What the commands printed: tests/data/README.md.
std::string Lines(size_t begin, size_t end) {
  std::string text;
  for (size_t line = 0; text.size() < end; ++line) {
    const std::string number = std::to_string(line);
    text += "line " + std::string(5 - number.size(), '0') + number + "\n";
  }
  return text.substr(begin, end - begin);
}

class OldStateTest : public testing::TestWithParam<const char*> {
 protected:
  Layout Copy() {
    std::filesystem::copy(std::string(KPROF_SOURCE_DIR) + "/tests/data/" + GetParam(), folder_ / "state",
                          std::filesystem::copy_options::recursive);
    return Layout{folder_ / "state"};
  }

  TemporaryFolder folder_;
  FakeClock clock_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
};

INSTANTIATE_TEST_SUITE_P(Versions, OldStateTest, testing::Values("state-v8", "state-v9", "state-v10"),
                         [](const auto& info) { return std::string(info.param).substr(6); });

TEST_P(OldStateTest, SpoolOfVersion1) {
  const Layout layout = Copy();
  LaunchRequest expected;
  expected.argv = {"/bin/sh", "-c", "echo \"$GREETING\"; umask; pwd"};
  expected.environment = {"PATH=/usr/bin:/bin", "GREETING=hello", "OMP_NUM_THREADS=4"};
  expected.cwd = "/";
  expected.umask = 077;
  expected.limits = {{.resource = 4, .soft = 0, .hard = 0}};
  Result<LaunchRequest> request = ReadSpool(*files_, layout, "1jxt23vbgqveve00");
  ASSERT_TRUE(request.ok()) << request.status().ToString();
  EXPECT_EQ(*request, expected);
  ASSERT_TRUE(WriteSpool(*files_, layout, "again", expected).ok());
  EXPECT_EQ(*ReadSpool(*files_, layout, "again"), expected);
}

TEST_P(OldStateTest, FoldersOfLostRuns) {
  const Layout layout = Copy();
  Result<std::unique_ptr<Catalog>> catalog = Catalog::Open({.layout = layout}, *files_);
  ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
  EXPECT_TRUE((*catalog)->last_stop_was_unclean());
  Result<RecoveredRuns> recovered = RecoverRuns(**catalog, *files_, clock_);
  ASSERT_TRUE(recovered.ok()) << recovered.status().ToString();
  ASSERT_EQ(recovered->runs.size(), 2u);
  EXPECT_EQ(recovered->runs.front().id, "1jxt23vbgqveve00");
  EXPECT_EQ(recovered->runs.back().id, "1jxt24tp0r0vnd02");
  EXPECT_TRUE(recovered->unstored.empty());

  struct Case {
    const char* id;
    std::string stdout_log;
    int64_t printed_bytes;
    int64_t dropped_bytes;
    std::string stderr_log;
  };
  const Case cases[] = {
      {"1jxt22y20prep000", "", 0, 0, ""},
      {"1jxt237tgrvnn000", Lines(0, 100) + "\n[kprof: 2304 bytes dropped here]\n" + Lines(2404, 6000), 6000, 2304,
       Lines(0, 44)},
      {"1jxt23hk0c011000", Lines(0, 100) + "\n[kprof: 804 bytes dropped here]\n" + Lines(904, 5000), 5000, 804, ""},
  };
  auto reader = (*catalog)->readers().Borrow();
  ASSERT_TRUE(reader.ok());
  for (const Case& c : cases) {
    Result<RunRow> row = ReadRun(**reader, c.id);
    ASSERT_TRUE(row.ok()) << c.id;
    EXPECT_EQ(row->state, RunState::kFailed) << c.id;
    EXPECT_EQ(row->error->code, "lost_daemon") << c.id;
    EXPECT_EQ(row->ended_ns, clock_.unix_ns()) << c.id;
    EXPECT_EQ(row->stdout_bytes, c.printed_bytes) << c.id;
    EXPECT_EQ(row->stdout_dropped_bytes, c.dropped_bytes) << c.id;
    EXPECT_EQ(row->stderr_bytes, static_cast<int64_t>(c.stderr_log.size())) << c.id;
    std::vector<ArtifactRow> expected;
    for (const auto& [name, content] : {std::pair{"stderr.log", c.stderr_log}, std::pair{"stdout.log", c.stdout_log}}) {
      if (content.empty()) continue;
      expected.push_back({name, static_cast<int64_t>(content.size()), Sha256Of(content)});
      EXPECT_EQ(*ReadWholeFile(*files_, layout.ArtifactPath(c.id, name), 1 << 20), content) << c.id;
    }
    EXPECT_EQ(row->artifacts, expected) << c.id;
    Result<std::vector<FolderEntry>> left = files_->List(layout.RunFolder(c.id));
    EXPECT_EQ(left.ok() ? left->size() : 0, expected.size()) << c.id;
  }
}

}  // namespace
}  // namespace kprof
