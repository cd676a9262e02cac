#include "storage/crypto/sha256.h"
#include "tests/unit/client/sample_run.h"
#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::EndsWith;

FakeDaemon::Stream<v1::DownloadArtifactRequest, v1::DownloadArtifactResponse> Sends(const std::string& bytes,
                                                                                    const std::string& recorded_sha256,
                                                                                    const std::string& sent_sha256) {
  return [=](const v1::DownloadArtifactRequest&, FakeStream<v1::DownloadArtifactResponse> stream) {
    v1::DownloadArtifactResponse response;
    response.mutable_artifact()->set_name("n");
    response.mutable_artifact()->set_size_bytes(static_cast<int64_t>(bytes.size()));
    response.mutable_artifact()->set_sha256(recorded_sha256);
    stream.write(response);
    response.set_data(bytes);
    stream.write(response);
    response.set_sha256(sent_sha256);
    stream.write(response);
    return OkStatus();
  };
}

class VerbArtifactsTest : public VerbsFixture {};

TEST_F(VerbArtifactsTest, ArtifactsGetWritesTheFileOrStandardOutput) {
  const std::string sha256 = Sha256Of(std::string("content"));
  daemon_.calls.download_artifact = Sends("content", sha256, sha256);
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"artifacts", "r", "get", "n", "-o", folder_.Path("f")}), 0);
  EXPECT_EQ(folder_.Get("f"), "content");
  EXPECT_EQ(Kprofctl({"artifacts", "r", "get", "n", "-o", "-"}), 0);
  EXPECT_THAT(results_, EndsWith("content"));
  EXPECT_EQ(Kprofctl({"artifacts", "r", "get", "n", "-o", folder_.Path(".")}), 0);
  EXPECT_EQ(folder_.Get("n"), "content");
  EXPECT_THAT(results_, EndsWith("/./n  7 B\n"));
}

TEST_F(VerbArtifactsTest, ArtifactsGetKeepsNothingOfWhatIsDamaged) {
  const std::string right = Sha256Of(std::string("content"));
  const std::string wrong = Sha256Of(std::string("else"));
  daemon_.calls.download_artifact = Sends("content", wrong, right);
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"artifacts", "r", "get", "n", "-o", folder_.Path("f")}), 12);
  daemon_.Stop();
  daemon_.calls.download_artifact = Sends("content", right, wrong);
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"artifacts", "r", "get", "n", "-o", folder_.Path("f")}), 1);
  EXPECT_EQ(folder_.CountFiles(), 1u);  // the socket
}

TEST_F(VerbArtifactsTest, ArtifactsGetKeepsNothingWhenItIsInterrupted) {
  folder_.Put("f", "before");
  daemon_.calls.download_artifact = [](const v1::DownloadArtifactRequest&,
                                       FakeStream<v1::DownloadArtifactResponse> stream) {
    v1::DownloadArtifactResponse response;
    response.set_data("half");
    stream.write(response);
    std::raise(SIGINT);
    WaitUntil(stream.gone);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"artifacts", "r", "get", "n", "-o", folder_.Path("f")}), 8);
  EXPECT_EQ(notes_, "kprofctl: get artifact n of run r: interrupted\n");
  EXPECT_EQ(folder_.Get("f"), "before");
  EXPECT_EQ(folder_.CountFiles(), 2u);  // it, and the socket
}

TEST_F(VerbArtifactsTest, ArtifactsPutAndList) {
  const std::string content(600'000, 'x');
  daemon_.calls.upload_artifact = [&](const v1::UploadArtifactRequest::Header& header, const std::string& bytes,
                                      v1::UploadArtifactResponse& response) {
    EXPECT_EQ(header.name(), "big.bin");
    EXPECT_EQ(bytes, content);
    response.mutable_artifact()->set_name(header.name());
    response.mutable_artifact()->set_size_bytes(600'000);
    response.mutable_artifact()->set_sha256(Sha256Of(bytes));
    return OkStatus();
  };
  daemon_.calls.list_artifacts = [](const v1::ListArtifactsRequest&, v1::ListArtifactsResponse& response) {
    *response.add_artifacts() = SampleRun().artifacts(0);
    return OkStatus();
  };
  daemon_.Start();
  folder_.Put("big.bin", content);
  EXPECT_EQ(Kprofctl({"artifacts", "r", "put", folder_.Path("big.bin")}), 0);
  EXPECT_EQ(results_, "stored big.bin  585.9 KiB\n");
  EXPECT_EQ(Kprofctl({"artifacts", "r", "--json"}), 0);
  EXPECT_THAT(results_, EndsWith(R"({"schema":"kprof.artifacts.v1","artifacts":[{"name":"notes.txt","size_bytes":1536,)"
                                 R"("sha256":"ab12","path":"out/notes.txt"}]})"
                                 "\n"));
  EXPECT_EQ(Kprofctl({"artifacts", "r"}), 0);
  EXPECT_THAT(results_, EndsWith("   SIZE  SHA256  NAME       PATH\n"
                                 "1.5 KiB  ab12    notes.txt  out/notes.txt\n"));
}

}  // namespace
}  // namespace kprof::cli
