#include <mutex>

#include "storage/crypto/sha256.h"
#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class VerbExportTest : public VerbsFixture {
 protected:
  // A run whose trace has so many parts; each is exported as its number, all as "all".
  void AnswerExports(int parts, const std::string& file_name = "") {
    daemon_.calls.export_run = [=, this](const v1::ExportRunRequest& request,
                                         FakeStream<v1::ExportRunResponse> stream) {
      {
        std::lock_guard lock(mu_);
        requests_.push_back(request);
      }
      const std::string bytes = request.has_part() ? std::to_string(request.part()) : "all";
      v1::ExportRunResponse response;
      response.mutable_header()->set_run_id("01jd");
      response.mutable_header()->set_parts(parts);
      response.mutable_header()->set_rows(50);
      response.mutable_header()->set_file_name(file_name.empty() ? "01jd-" + bytes + ".json" : file_name);
      stream.write(response);
      response.set_data(bytes);
      response.set_rows(50);
      stream.write(response);
      response.set_sha256(Sha256Of(bytes));
      stream.write(response);
      return OkStatus();
    };
    daemon_.Start();
  }

  std::vector<v1::ExportRunRequest> requests_;
};

TEST_F(VerbExportTest, WritesAllPartsIntoAFileOrToStandardOutput) {
  AnswerExports(3);
  EXPECT_EQ(Kprofctl({"export", "@last", "--format", "chrome", "-o", folder_.Path("t.json")}), 0);
  EXPECT_EQ(folder_.Get("t.json"), "all");
  EXPECT_THAT(results_, EndsWith("/t.json  3 B\n"));
  EXPECT_EQ(requests_[0].id(), "@last");
  EXPECT_EQ(requests_[0].format(), "chrome");
  EXPECT_EQ(requests_[0].only_case(), v1::ExportRunRequest::ONLY_NOT_SET);
  EXPECT_EQ(Kprofctl({"export", "@last", "--format", "chrome", "-o", "-"}), 0);
  EXPECT_THAT(results_, EndsWith("all"));
}

TEST_F(VerbExportTest, AFolderGetsAFileForEachPartOfTheSameRun) {
  AnswerExports(2);
  EXPECT_EQ(Kprofctl({"--json", "export", "@last", "--format", "csv", "-o", folder_.Path(".")}), 0);
  EXPECT_EQ(folder_.Get("01jd-0.json"), "0");
  EXPECT_EQ(folder_.Get("01jd-1.json"), "1");
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_EQ(requests_[1].id(), "01jd");
  EXPECT_THAT(results_, HasSubstr(R"({"schema":"kprof.export.v1","format":"csv","files":[{"file":")"));
  EXPECT_THAT(results_, HasSubstr(R"(/01jd-1.json","size_bytes":1,"rows":50,"sha256":")" + Sha256Of(std::string("1"))));
}

TEST_F(VerbExportTest, ARankAloneIsOneFileAlsoInAFolder) {
  AnswerExports(2);
  EXPECT_EQ(Kprofctl({"export", "r", "--format", "csv", "--rank", "0", "-o", folder_.Path(".")}), 0);
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_TRUE(requests_[0].has_rank());
  EXPECT_EQ(folder_.Get("01jd-all.json"), "all");
}

TEST_F(VerbExportTest, ANodeNamesNoFileOutsideOfTheFolder) {
  for (const char* name : {"../x", "/tmp/x", ".profile", "a/b"}) {
    AnswerExports(1, name);
    EXPECT_EQ(Kprofctl({"export", "r", "--format", "csv", "-o", folder_.Path(".")}), 1) << name;
    EXPECT_EQ(folder_.CountFiles(), 1u);  // the socket
    daemon_.Stop();
  }
}

TEST_F(VerbExportTest, NothingIsLeftOfWhatDoesNotArriveWhole) {
  daemon_.calls.export_run = [](const v1::ExportRunRequest&, FakeStream<v1::ExportRunResponse> stream) -> Status {
    v1::ExportRunResponse response;
    response.mutable_header()->set_file_name("x.json");
    stream.write(response);
    response.set_data("half");
    stream.write(response);
    return Fail(ErrorCode::kStorageBroken, "export run 01jd", "a checksum is wrong");
  };
  daemon_.Start();
  folder_.Put("t.json", "before");
  EXPECT_EQ(Kprofctl({"export", "r", "--format", "csv", "-o", folder_.Path("t.json")}), 12);
  daemon_.Stop();
  daemon_.calls.export_run = [](const v1::ExportRunRequest&, FakeStream<v1::ExportRunResponse> stream) -> Status {
    v1::ExportRunResponse response;
    response.mutable_header()->set_file_name("x.json");
    stream.write(response);
    response.set_data("half");
    stream.write(response);
    response.set_sha256(Sha256Of(std::string("whole")));
    stream.write(response);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"export", "r", "--format", "csv", "-o", folder_.Path("t.json")}), 1);
  EXPECT_EQ(folder_.Get("t.json"), "before");
  EXPECT_EQ(folder_.CountFiles(), 2u);
}

TEST_F(VerbExportTest, AnAnswerOutOfOrderIsAnError) {
  daemon_.calls.export_run = [](const v1::ExportRunRequest&, FakeStream<v1::ExportRunResponse> stream) -> Status {
    v1::ExportRunResponse response;
    response.set_data("bytes");
    stream.write(response);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"export", "r", "--format", "csv", "-o", folder_.Path("t.json")}), 1);
  EXPECT_THAT(notes_, HasSubstr("does not begin with what it is"));
  EXPECT_EQ(folder_.CountFiles(), 1u);
}

}  // namespace
}  // namespace kprof::cli
