#include "daemon/runs/imports/import_work.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "daemon/ingest/source/source_hash.h"
#include "storage/base/descriptors.h"
#include "storage/crypto/sha256.h"
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

  static ImportedSource Imported(const UniqueFd& fd) {
    struct stat info {};
    EXPECT_EQ(::fstat(fd.get(), &info), 0);
    return {fd.get(), info.st_size, *HashSource(fd.get(), {})};
  }
  Result<ArtifactRow> Keep(const ImportedSource& source, const std::stop_token& stop = {}) {
    return KeepSource(source, *files_, folder_ / "copy", "copy", stop);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
};

TEST_F(KeepSourceTest, CopiesAllOfItWithItsSum) {
  const std::string bytes((3 << 20) + 7, 'x');
  UniqueFd source = Source(bytes);
  Result<ArtifactRow> kept = Keep(Imported(source));
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ(*kept, (ArtifactRow{"copy", static_cast<int64_t>(bytes.size()), Sha256Of(bytes)}));
  EXPECT_EQ(*ReadWholeFile(*files_, folder_ / "copy", 8 << 20), bytes);
}

TEST_F(KeepSourceTest, CopiesNoMoreThanWasImported) {
  UniqueFd source = Source("bytes");
  const ImportedSource imported = Imported(source);
  std::ofstream(folder_ / "source", std::ios::app) << " and more";
  const Result<ArtifactRow> kept = Keep(imported);
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ(kept->size_bytes, 5);
  EXPECT_EQ(*ReadWholeFile(*files_, folder_ / "copy", 100), "bytes");
}

TEST_F(KeepSourceTest, RefusesOtherBytesThanWereImported) {
  UniqueFd source = Source("bytes");
  const ImportedSource imported = Imported(source);
  for (const char* now : {"other", "byte"}) {
    std::ofstream(folder_ / "source") << now;
    const Status status = Keep(imported).status();
    std::filesystem::remove(folder_ / "copy");
    EXPECT_EQ(status.code(), ErrorCode::kBadInput);
    EXPECT_EQ(status.why(), "its bytes changed while it was imported");
  }
}

TEST_F(KeepSourceTest, RefusesWhatTheDiskHasNoRoomForBeforeItIsFull) {
  UniqueFd source = Source("bytes");
  ImportedSource imported = Imported(source);
  imported.size_bytes = INT64_MAX;
  EXPECT_EQ(Keep(imported).status().code(), ErrorCode::kStorageFull);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "copy"));
}

TEST_F(KeepSourceTest, EndsWhenItIsStopped) {
  UniqueFd source = Source("bytes");
  std::stop_source stop;
  stop.request_stop();
  Result<ArtifactRow> kept = Keep(Imported(source), stop.get_token());
  EXPECT_EQ(kept.status().code(), ErrorCode::kCancelled);
}

}  // namespace
}  // namespace kprof
