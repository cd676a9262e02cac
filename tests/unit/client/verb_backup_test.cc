#include <filesystem>

#include "storage/crypto/sha256.h"
#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

class VerbBackupTest : public VerbsFixture {};

TEST_F(VerbBackupTest, BackupIsChecked) {
  std::string claimed = Sha256Of(std::string("catalog"));
  daemon_.calls.back_up_catalog = [&](const v1::BackUpCatalogRequest&, FakeStream<v1::BackUpCatalogResponse> stream) {
    v1::BackUpCatalogResponse response;
    response.set_data("cata");
    stream.write(response);
    response.set_data("log");
    stream.write(response);
    response.set_sha256(claimed);
    stream.write(response);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"backup", folder_.Path("copy.db")}), 0);
  EXPECT_EQ(folder_.Get("copy.db"), "catalog");
  claimed = "wrong";
  EXPECT_EQ(Kprofctl({"backup", folder_.Path("other.db")}), 1);
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("other.db")));
}

TEST_F(VerbBackupTest, BackupThatIsInterruptedLeavesNothing) {
  daemon_.calls.back_up_catalog = [&](const v1::BackUpCatalogRequest&, FakeStream<v1::BackUpCatalogResponse> stream) {
    v1::BackUpCatalogResponse response;
    response.set_data("cata");
    stream.write(response);
    std::raise(SIGTERM);
    WaitUntil(stream.gone);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"backup", folder_.Path("copy.db")}), 8);
  EXPECT_EQ(notes_, "kprofctl: back up the catalog: interrupted\n");
  EXPECT_EQ(folder_.CountFiles(), 1u);  // the socket
}

}  // namespace
}  // namespace kprof::cli
