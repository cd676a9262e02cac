#include "daemon/runs/kept_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>

#include "storage/base/sha256.h"
#include "storage/base/unique_fd.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

TEST(ArtifactNameFor, IsTheSourcesOwnWhereThatIsAName) {
  EXPECT_EQ(ArtifactNameFor("a.json.gz", {}), "a.json.gz");
  EXPECT_EQ(ArtifactNameFor("a:b\n\xff.json", {}), "a_b__.json");
  EXPECT_EQ(ArtifactNameFor(".hidden", {}), "source_.hidden_");
  EXPECT_EQ(ArtifactNameFor("stdout.log", {}), "source_stdout.log_");
  EXPECT_EQ(ArtifactNameFor("a.trace.db", {}), "source_a.trace.db_");
  EXPECT_EQ(ArtifactNameFor("a", {{"a", 1, ""}, {"2_a", 1, ""}}), "3_a");
  EXPECT_LE(ArtifactNameFor(std::string(1000, 'x'), {}).size(), 200u);
}

class KeepSourceTest : public testing::Test {
 protected:
  UniqueFd Source(const std::string& bytes) {
    std::ofstream(folder_ / "source") << bytes;
    return UniqueFd(::open((folder_ / "source").c_str(), O_RDONLY | O_CLOEXEC));
  }

  TemporaryFolder folder_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
};

TEST_F(KeepSourceTest, CopiesAllOfItWithItsSum) {
  const std::string bytes((3 << 20) + 7, 'x');
  UniqueFd source = Source(bytes);
  Result<ArtifactRow> kept = KeepSource(source.get(), *files_, folder_ / "copy", "copy", {});
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ(*kept, (ArtifactRow{"copy", static_cast<int64_t>(bytes.size()), Sha256Of(bytes)}));
  EXPECT_EQ(*ReadWholeFile(*files_, folder_ / "copy", 8 << 20), bytes);
}

TEST_F(KeepSourceTest, EndsWhenItIsStopped) {
  UniqueFd source = Source("bytes");
  std::stop_source stop;
  stop.request_stop();
  Result<ArtifactRow> kept = KeepSource(source.get(), *files_, folder_ / "copy", "copy", stop.get_token());
  EXPECT_EQ(kept.status().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace kprof
