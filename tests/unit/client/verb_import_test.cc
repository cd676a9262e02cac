#include <unistd.h>

#include <atomic>
#include <csignal>
#include <mutex>

#include "tests/unit/client/sample_run.h"
#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// There is no side socket here: all files are sent.
class VerbImportTest : public VerbsFixture {
 protected:
  // An import whose run is `ended` at once; what was sent before is `existing`.
  void AnswerImports(const v1::Run& ended, bool existing = false) {
    daemon_.calls.upload_source = [this](const v1::UploadSourceRequest::Header& header, const std::string& bytes,
                                         v1::UploadSourceResponse& response) {
      std::lock_guard lock(mu_);
      headers_.push_back(header);
      sources_.push_back(bytes);
      response.set_ticket("ticket" + std::to_string(sources_.size()));
      return OkStatus();
    };
    daemon_.calls.submit_import = [=, this](const v1::SubmitImportRequest& request,
                                            v1::SubmitImportResponse& response) {
      std::lock_guard lock(mu_);
      submitted_.push_back(request);
      *response.mutable_run() = existing ? ended : RunIn(v1::RUN_STATE_QUEUED);
      response.set_existing(existing);
      return OkStatus();
    };
    daemon_.calls.watch_run = [ended](const v1::WatchRunRequest&, FakeStream<v1::WatchRunResponse> stream) {
      stream.write(Watched(ended));
      return OkStatus();
    };
    daemon_.Start();
  }

  std::vector<v1::UploadSourceRequest::Header> headers_;
  std::vector<std::string> sources_;
  std::vector<v1::SubmitImportRequest> submitted_;
};

TEST_F(VerbImportTest, SendsEachFileAndSaysHowItIsToBeRead) {
  const std::string content(600'000, 'x');
  folder_.Put("a.json", content);
  folder_.Put("b.json", "b");
  AnswerImports(Done());
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json"), folder_.Path("b.json"), "--format", "kineto", "--label", "k=v",
                      "--keep-source", "--again", "--shared"}),
            0);
  ASSERT_EQ(sources_.size(), 2u);
  EXPECT_EQ(sources_[0], content);
  EXPECT_EQ(headers_[0].name(), "a.json");
  EXPECT_EQ(headers_[0].size_bytes(), 600'000);
  EXPECT_FALSE(headers_[0].may_be_none());
  ASSERT_EQ(submitted_.size(), 1u);
  const v1::SubmitImportRequest& import = submitted_[0];
  EXPECT_EQ(import.idempotency_key().size(), 32u);
  ASSERT_EQ(import.sources_size(), 2);
  EXPECT_EQ(import.sources(1).ticket(), "ticket2");
  EXPECT_THAT(import.sources(1).name(), EndsWith("/b.json"));  // its folder may say its rank
  EXPECT_FALSE(import.sources(1).has_rank());
  EXPECT_FALSE(import.sources(1).may_be_none());
  EXPECT_EQ(import.format(), "kineto");
  EXPECT_EQ(import.labels().at("k"), "v");
  EXPECT_TRUE(import.keep_sources() && import.again() && import.shared() && import.attached());
}

TEST_F(VerbImportTest, NamesTheArchivesOfAFolderAndSendsTheTraces) {
  folder_.Put("a.json", "a");
  folder_.Put("b.tar.gz", "b");
  folder_.Put("notes.txt", "c");
  AnswerImports(Done());
  EXPECT_EQ(Kprofctl({"import", folder_.Path("")}), 0);
  EXPECT_EQ(sources_.size(), 1u);
  EXPECT_TRUE(headers_.at(0).may_be_none());
  EXPECT_THAT(notes_, HasSubstr("b.tar.gz: archives are not opened; unpack it first\n"));
  EXPECT_THAT(notes_, Not(HasSubstr("notes.txt")));
}

TEST_F(VerbImportTest, TheRankOfOneFileIsSaidAndOfSeveralRefused) {
  folder_.Put("a.json", "a");
  folder_.Put("b.json", "b");
  AnswerImports(Done());
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json"), "--rank", "3"}), 0);
  EXPECT_EQ(submitted_[0].sources(0).rank(), 3);
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json"), folder_.Path("b.json"), "--rank", "3"}), 2);
  EXPECT_THAT(notes_, HasSubstr("--rank is for one file, and there are 2"));
  EXPECT_EQ(submitted_.size(), 1u);
}

TEST_F(VerbImportTest, DetachedItPrintsTheIdAlone) {
  folder_.Put("a.json", "a");
  AnswerImports(Done());
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json"), "--detach"}), 0);
  EXPECT_EQ(results_, "01jd\n");
  EXPECT_FALSE(submitted_[0].attached());
}

TEST_F(VerbImportTest, WhatWasImportedBeforeIsSaidSo) {
  folder_.Put("a.json", "a");
  AnswerImports(Done(), true);
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json")}), 0);
  EXPECT_THAT(notes_, HasSubstr("imported before, as run 01jd; --again imports it anew"));
  EXPECT_THAT(results_, HasSubstr("01jd"));
}

TEST_F(VerbImportTest, SeveralRunsAreATableOrALineEach) {
  folder_.Put("a.json", "a");
  folder_.Put("b.json", "b");
  v1::Run done = Done();
  v1::TracePart& part = *done.add_trace_parts();
  part.set_rank(3);
  part.set_source_name("a.json");
  done.set_trace_part_count(1);
  done.mutable_trace()->set_slices(77);
  AnswerImports(done);
  v1::Run failed = Failed("bad_input");
  failed.set_id("01je");
  daemon_.calls.submit_import = [=, this](const v1::SubmitImportRequest& request, v1::SubmitImportResponse& response) {
    std::lock_guard lock(mu_);
    submitted_.push_back(request);
    *response.mutable_run() = done;
    response.set_existing(true);
    v1::SubmitImportResponse::Another& other = *response.add_others();
    *other.mutable_run() = RunIn(v1::RUN_STATE_QUEUED);
    other.mutable_run()->set_id("01je");
    return OkStatus();
  };
  daemon_.calls.watch_run = [failed](const v1::WatchRunRequest& request, FakeStream<v1::WatchRunResponse> stream) {
    EXPECT_EQ(request.id(), "01je");
    EXPECT_TRUE(request.hold());
    stream.write(Watched(failed));
    return OkStatus();
  };
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json"), folder_.Path("b.json")}), 10);
  EXPECT_EQ(submitted_.back().grouping(), v1::IMPORT_GROUPING_BY_JOB);
  EXPECT_THAT(notes_, HasSubstr("the files become 2 runs"));
  EXPECT_THAT(notes_, HasSubstr("imported before, as run 01jd"));
  EXPECT_THAT(results_, HasSubstr("RANKS"));
  EXPECT_THAT(results_, testing::ContainsRegex("01jd +done +3 +77 +a.json"));
  EXPECT_THAT(results_, testing::ContainsRegex("01je +bad_input"));
  EXPECT_EQ(Kprofctl({"--json", "import", folder_.Path("a.json"), folder_.Path("b.json"), "--separate"}), 10);
  EXPECT_EQ(submitted_.back().grouping(), v1::IMPORT_GROUPING_SEPARATE);
  EXPECT_THAT(results_, testing::ContainsRegex("kprof.run.v1.*01jd.*\n.*kprof.run.v1.*01je.*\n"));
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json"), folder_.Path("b.json"), "--one-run", "--detach"}), 0);
  EXPECT_EQ(submitted_.back().grouping(), v1::IMPORT_GROUPING_ONE_RUN);
  EXPECT_THAT(results_, EndsWith("01jd\n01je\n"));
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json"), "--one-run", "--separate"}), 2);
}

TEST_F(VerbImportTest, TellsEachRunThatItKnowsAndEachFailure) {
  folder_.Put("a.json", "a");
  AnswerImports(Done());
  v1::Run failed = Failed("bad_input");
  failed.set_id("01jf");
  daemon_.calls.submit_import = [](const v1::SubmitImportRequest&, v1::SubmitImportResponse& response) {
    *response.mutable_run() = RunIn(v1::RUN_STATE_QUEUED);
    for (const char* id : {"01je", "01jf"}) {
      v1::SubmitImportResponse::Another& other = *response.add_others();
      *other.mutable_run() = RunIn(v1::RUN_STATE_QUEUED);
      other.mutable_run()->set_id(id);
    }
    return OkStatus();
  };
  daemon_.calls.watch_run = [failed](const v1::WatchRunRequest& request, FakeStream<v1::WatchRunResponse> stream) {
    if (request.id() == "01jd") return Fail(ErrorCode::kNotFound, "follow run", "somebody deleted it");
    v1::Run done = Done();
    done.set_id("01je");
    stream.write(Watched(request.id() == "01je" ? done : failed));
    return OkStatus();
  };
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json")}), ExitStatusOf(ErrorCode::kNotFound));
  EXPECT_THAT(results_, testing::ContainsRegex("01jd +unknown"));
  EXPECT_THAT(results_, testing::ContainsRegex("01je +done"));
  EXPECT_THAT(results_, testing::ContainsRegex("01jf +bad_input"));
  EXPECT_THAT(notes_, HasSubstr("run 01jf failed: because"));
  EXPECT_THAT(notes_, HasSubstr("somebody deleted it"));
}

TEST_F(VerbImportTest, EndsAtASignalWhileKprofdLooksAtTheFiles) {
  folder_.Put("a.json", "a");
  AnswerImports(Done());
  std::atomic<bool> is_over = false;
  daemon_.calls.submit_import = [&](const v1::SubmitImportRequest&, v1::SubmitImportResponse&) {
    ::kill(::getpid(), SIGINT);
    WaitUntil([&] { return is_over.load(); });
    return OkStatus();
  };
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json")}), 8);
  EXPECT_THAT(notes_, HasSubstr("import: interrupted before kprofd answered"));
  is_over = true;
  daemon_.Stop();
}

TEST_F(VerbImportTest, ARunThatFailsIsItsExitCode) {
  folder_.Put("a.json", "a");
  AnswerImports(Failed("bad_input"));
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json")}), 10);
  EXPECT_THAT(notes_, HasSubstr("because"));
}

TEST_F(VerbImportTest, AFileThatIsRefusedIsNamedAndNothingIsSubmitted) {
  folder_.Put("a.json", "a");
  AnswerImports(Done());
  daemon_.Stop();
  daemon_.calls.upload_source = [](const v1::UploadSourceRequest::Header&, const std::string&,
                                   v1::UploadSourceResponse&) {
    return Fail(ErrorCode::kStorageFull, "take a source", "the disk is full");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"import", folder_.Path("a.json")}), 12);
  EXPECT_THAT(notes_, HasSubstr("a.json"));
  EXPECT_TRUE(submitted_.empty());
  EXPECT_EQ(Kprofctl({"import", folder_.Path("absent.json")}), 10);
  EXPECT_THAT(notes_, HasSubstr("absent.json"));
}

}  // namespace
}  // namespace kprof::cli
