#include "client/cli/verbs/profile_tree.h"

#include <filesystem>
#include <map>

#include "storage/crypto/sha256.h"
#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

namespace fs = std::filesystem;

struct LeftFile {
  std::string name;
  std::string path;
  std::string bytes;
};

class ProfileTreeTest : public VerbsFixture {
 protected:
  // A run with a report of one file, report.md, that left `files`.
  void AnswerWith(const std::vector<LeftFile>& files) {
    daemon_.calls.get_report = [](const v1::GetReportRequest&, FakeStream<v1::GetReportResponse> stream) {
      v1::GetReportResponse response;
      response.mutable_header()->set_run_id("01jd");
      response.mutable_header()->set_folder("ncu/mla/b=32/20251128-100000");
      stream.write(response);
      response.mutable_file()->set_name("report.md");
      stream.write(response);
      response.set_data("the report");
      stream.write(response);
      return OkStatus();
    };
    daemon_.calls.list_artifacts = [files](const v1::ListArtifactsRequest&, v1::ListArtifactsResponse& response) {
      for (const LeftFile& file : files) {
        v1::Artifact& artifact = *response.add_artifacts();
        artifact.set_name(file.name);
        artifact.set_path(file.path);
        artifact.set_sha256(Sha256Of(file.bytes));
      }
      return OkStatus();
    };
    daemon_.calls.download_artifact = [files](const v1::DownloadArtifactRequest& request,
                                              FakeStream<v1::DownloadArtifactResponse> stream) -> Status {
      for (const LeftFile& file : files) {
        if (file.name != request.name()) continue;
        v1::DownloadArtifactResponse response;
        response.set_data(file.bytes);
        stream.write(response);
        response.set_sha256(Sha256Of(file.bytes));
        stream.write(response);
        return OkStatus();
      }
      return Fail(ErrorCode::kNotFound, "download", "there is no such artifact");
    };
    daemon_.Start();
  }

  int Export() { return Kprofctl({"export", "r", "--format", "profiles", "-o", folder_.Path("tree")}); }

  // {path from the run's folder on: its bytes}
  std::map<std::string, std::string> Tree() {
    std::map<std::string, std::string> found;
    const fs::path root = folder_.Path("tree/out/profiles/ncu/mla/b=32/20251128-100000");
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
      const std::string path = fs::relative(entry.path(), root);
      if (entry.is_regular_file()) found[path] = folder_.Get(fs::relative(entry.path(), folder_.Path(".")));
    }
    return found;
  }
  using Files = std::map<std::string, std::string>;
};

TEST_F(ProfileTreeTest, AFileStandsWhereItsCommandLeftIt) {
  AnswerWith({{"2_y.mlir", "compiled/z/y.mlir", "z"},
              {"a.json", "tiling/a.json", "{}"},
              {"params.json", "", "{\"b\":32}"},
              {"y.mlir", "compiled/x/y.mlir", "x"}});
  ASSERT_EQ(Export(), 0) << notes_;
  EXPECT_EQ(Tree(), (Files{{"compiled/x/y.mlir", "x"},
                           {"compiled/z/y.mlir", "z"},
                           {"params.json", "{\"b\":32}"},
                           {"report.md", "the report"},
                           {"tiling/a.json", "{}"}}));
}

TEST_F(ProfileTreeTest, APathThatLeadsElsewhereCountsAsNone) {
  AnswerWith({{"a", "../a", "1"},
              {"b", "/tmp/b", "2"},
              {"c", "x/../../../c", "3"},
              {"d", "x//d", "4"},
              {"e", ".ssh/e", "5"},
              {"f", "x/f/", "6"},
              {"g", "x\n/g", "7"},
              {"h", std::string("x\0/../h", 7), "8"}});
  ASSERT_EQ(Export(), 0) << notes_;
  EXPECT_EQ(Tree(), (Files{{"a", "1"},
                           {"b", "2"},
                           {"c", "3"},
                           {"d", "4"},
                           {"e", "5"},
                           {"f", "6"},
                           {"g", "7"},
                           {"h", "8"},
                           {"report.md", "the report"}}));
  EXPECT_EQ(folder_.CountFiles(), 2u);  // the tree and the socket
}

TEST_F(ProfileTreeTest, NoFileTakesAnothersPlace) {
  AnswerWith({{"a", "x/same", "1"},
              {"b", "x/same", "2"},
              {"c", "x/same/below", "3"},
              {"d", "x", "4"},
              {"e", "report.md", "5"},
              {"report.md", "", "another report"}});
  ASSERT_EQ(Export(), 0) << notes_;
  EXPECT_EQ(Tree(), (Files{{"2_report.md", "another report"},
                           {"b", "2"},
                           {"c", "3"},
                           {"d", "4"},
                           {"e", "5"},
                           {"report.md", "the report"},
                           {"x/same", "1"}}));
}

TEST_F(ProfileTreeTest, AFileThatTheReportHasTooIsThereOnce) {
  AnswerWith({{"report.md", "", "the report"}});
  ASSERT_EQ(Export(), 0) << notes_;
  EXPECT_EQ(Tree(), (Files{{"report.md", "the report"}}));
}

TEST_F(ProfileTreeTest, ANameThatIsAPathIsRefused) {
  for (const char* name : {"../x", "/tmp/x", ".profile", ""}) {
    AnswerWith({{name, "x/y", "1"}});
    EXPECT_EQ(Export(), 1) << name;
    EXPECT_THAT(notes_, testing::HasSubstr("the node calls a folder"));
    fs::remove_all(folder_.Path("tree"));
    daemon_.Stop();
  }
}

// A link can only be somebody else's work: the folder is new.
TEST_F(ProfileTreeTest, NoLinkIsFollowed) {
  fs::create_directory(folder_.Path("elsewhere"));
  AnswerWith({{"a", "first", "1"}, {"b", "x/y", "2"}});
  daemon_.Stop();
  const auto download = daemon_.calls.download_artifact;
  daemon_.calls.download_artifact = [this, download](const v1::DownloadArtifactRequest& request,
                                                     FakeStream<v1::DownloadArtifactResponse> stream) {
    const fs::path link = folder_.Path("tree/out/profiles/ncu/mla/b=32/20251128-100000/x");
    if (request.name() == "a") fs::create_directory_symlink(folder_.Path("elsewhere"), link);
    return download(request, stream);
  };
  daemon_.Start();
  ASSERT_EQ(Export(), 0) << notes_;
  EXPECT_TRUE(fs::is_empty(folder_.Path("elsewhere")));
  EXPECT_EQ(Tree()["b"], "2");
}

}  // namespace
}  // namespace kprof::cli
