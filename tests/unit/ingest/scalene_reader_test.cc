#include "daemon/ingest/scalene/scalene_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kProfile = R"({
  "alloc_samples": 52, "args": ["train.py", "--token=x"], "elapsed_time_sec": 0.05,
  "files": {
    "/w/a\u0062.py": {
      "functions": [{"lineno": 1, "n_cpu_percent_python": 9}],
      "lines": [
        {"lineno": 10, "n_cpu_percent_python": 40.5, "n_cpu_percent_c": 2, "n_sys_percent": 1.25, "n_gpu_percent": 0,
         "n_avg_mb": 1, "n_peak_mb": 10.5, "n_malloc_mb": 20, "n_growth_mb": 0, "n_copy_mb_s": 3, "n_python_fraction": 0.5,
         "n_gpu_peak_memory_mb": 7, "cpu_samples_list": [50.0105, 50.012, "x"]},
        {"line": "x = 1", "lineno": 11}, {"line": "no number"}, 7
      ], "percent_cpu_time": 50
    },
    "/w/b.py": {"lines": []}
  },
  "memory": true, "start_time_absolute": 1000.5, "start_time_perf": 50.0, "program": "train.py"
})";

Status ReadInto(BatchTexts& texts, const std::string& content, int64_t most_bytes = 1 << 20) {
  MemoryText text(content);
  return ReadScalene(text, texts, most_bytes);
}

TEST(ScaleneReader, ReadsTheSharesAndTheMemoryOfEachLine) {
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, kProfile).ok());
  std::vector<std::string> kept;  // of the profile itself
  std::vector<std::string> rows;
  for (const std::string& row : texts.side_rows) (row.starts_with("scalene_profile ") ? kept : rows).push_back(row);
  EXPECT_THAT(rows, ElementsAre("source_line /w/ab.py 10 40.5 2 1.25 0 1 10.5 20 0 3 0.5 7",
                                "source_line /w/ab.py 11 nan nan nan nan nan nan nan nan nan nan nan",
                                "source_line_sample /w/ab.py 10 50.0105", "source_line_sample /w/ab.py 10 50.012"));
  EXPECT_THAT(kept, testing::Contains("scalene_profile NULL elapsed_time_sec 0.05"));
  EXPECT_THAT(kept, testing::Contains(R"(scalene_profile /w/ab.py lines[] {"line":"x = 1","lineno":11})"));
  EXPECT_THAT(kept, testing::Contains("scalene_profile /w/ab.py percent_cpu_time 50"));
  EXPECT_THAT(kept, testing::Not(testing::Contains(HasSubstr("token"))));
  EXPECT_THAT(texts.rows, IsEmpty());
  EXPECT_THAT(texts.warnings, ElementsAre("1 lines have no number: they were left out"));
  EXPECT_EQ(texts.events, static_cast<int64_t>(texts.side_rows.size()));
  EXPECT_EQ(texts.facts.at("source.elapsed_time_sec"), "0.05");
  EXPECT_EQ(texts.facts.at("source.memory"), "true");
  EXPECT_EQ(texts.facts.at("base_unix_ns"), "1000500000000");
  EXPECT_EQ(texts.facts.count("source.args") + texts.facts.count("source.program"), 0u);
  EXPECT_TRUE(CheckSideTable(SourceLineTable()).ok() && CheckSideTable(SourceLineSampleTable()).ok());
}

TEST(ScaleneReader, IsRecognisedByItsFirstMembers) {
  const auto looks = [](const std::string& text) { return LooksLikeScalene(std::string_view(text).substr(0, 4096)); };
  EXPECT_TRUE(looks(kProfile));
  EXPECT_TRUE(looks(R"({"start_time_absolute": 9, "elapsed_time_sec": 0.05, "files": {"/other/model.py": {"li)"));
  EXPECT_TRUE(looks(R"({"alloc_samples": 5, "args": ["a)"));
  for (const char* other : {"", "{", "{}", "[]", R"({"files": {}})", R"({"elapsed_time_sec": 1})",
                            R"({"traceEvents": [)", R"({"traceEvents": [], "elapsed_time_sec": 1, "files": {}})",
                            R"("alloc_samples")", R"({"a": {"alloc_samples": 5}})"}) {
    EXPECT_FALSE(looks(other)) << other;
  }
}

TEST(ScaleneReader, RefusesWhatIsCutOffOrTooLarge) {
  BatchTexts texts;
  const std::string profile = kProfile;
  for (size_t size = 1; size < profile.size(); size += 7) {
    EXPECT_EQ(ReadInto(texts, profile.substr(0, size)).code(), ErrorCode::kBadInput) << size;
  }
  EXPECT_THAT(ReadInto(texts, std::string(2 << 20, ' ')).ToString(), HasSubstr("more than 1 MiB"));
  EXPECT_EQ(ReadInto(texts, R"({"alloc_samples": 5})").code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kprof
