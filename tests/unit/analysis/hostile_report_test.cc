// Reports of kernels whose values are anything: each kind that reads them answers, or fails with kStorageBroken.
#include <gtest/gtest.h>

#include <random>

#include "daemon/analysis/functions/kernel_reports/report_quantities.h"
#include "tests/unit/analysis/sample_report.h"

namespace kprof {
namespace {

constexpr int64_t kFewLaunches = 6;

// Mostly a value that could be: then more of the reading is reached.
int64_t ReportValueFor(const SideColumn& column, size_t place, size_t strings, std::mt19937_64& random) {
  const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX, int64_t{1} << 40};
  if (random() % 40 == 0) return ends[random() % std::size(ends)];
  if (column.name == "launch") return static_cast<int64_t>(random() % kFewLaunches);
  switch (column.type) {
    case SideType::kText:
      return random() % 10 == 0 ? kNoValue : static_cast<int64_t>(random() % strings);
    case SideType::kReal:
      return random() % 5 == 0 ? static_cast<int64_t>(random())
                               : std::bit_cast<int64_t>(static_cast<double>(random() % 200));
    case SideType::kInteger:
      return static_cast<int64_t>(random() % (place < 4 ? 20 : 3));
  }
  return 0;
}

TEST(HostileReport, IsAnsweredOrRefused) {
  int answers = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    SampleTrace trace;
    SamplePart part(trace.NewPath());
    for (size_t i = 0; i < kQuantities; ++i) {
      part.StringNumber(std::string(WordsOf(static_cast<Quantity>(i)).names.front()));
    }
    for (const char* text : {"OPT", "WRN", "range", "@a:b:c@", "inst_executed", "smsp__pcsamp_warps_issue_stalled_wait",
                             "NVIDIA L4", "sm__ops_path_tensor_src_bf16_dst_fp32.sum", "gemm<int>(int*)", "\"\\\n"}) {
      part.StringNumber(text);
    }
    const auto strings = kQuantities + 10;
    uint32_t number = 0;
    for (const SideTable& table : {LaunchSideTable(), MetricSideTable(), TextMetricSideTable(), RuleSideTable(),
                                   InstanceSideTable(), InstructionSideTable(), SourceTextSideTable()}) {
      SideRows rows(table);
      const size_t count = 1 + random() % (table.name == "metric" ? 2'000 : 60);
      for (size_t row = 0; row < count; ++row) {
        std::vector<int64_t> values;
        for (size_t i = 0; i < table.columns.size(); ++i) {
          values.push_back(ReportValueFor(table.columns[i], i, strings, random));
        }
        rows.Add(values);
      }
      ASSERT_TRUE(part.writer().AddSideTable(number, table).ok());
      ASSERT_TRUE(part.writer().AddSideSegment(EncodeSideRows(number, rows, 0, rows.size())).ok());
      ++number;
    }
    trace.Take(part);
    for (const char* kind : {"roofline", "kernels", "source", "findings", "summary", "rounds"}) {
      std::map<std::string, std::string> options;
      if (kind == std::string_view("roofline"))
        options = {{"per-launch", "true"}, {"stages", R"({"gemm": {"bytes": 5}})"}};
      if (kind == std::string_view("kernels")) options = {{"per-launch", "true"}, {"metric", "s"}};
      const Result<NamedAnswer> answer = AskReport(kind, trace.part(0), options);
      EXPECT_TRUE(answer.ok() || answer.status().code() == ErrorCode::kStorageBroken)
          << kind << " " << seed << " " << answer.status().ToString();
      answers += answer.ok() ? 1 : 0;
    }
  }
  EXPECT_GT(answers, 0);
}

// The memory of an answer has a limit, and a report that would take more is refused.
TEST(HostileReport, MemoryIsAskedFor) {
  SampleTrace trace;
  SampleReport report(trace.NewPath());
  for (int i = 0; i < 5'000; ++i) report.AddLaunch("k", SolOf(1000, 50, 50));
  trace.Take(report.Finish());
  for (const char* name : {"roofline", "kernels", "source", "findings", "summary", "rounds"}) {
    const Result<const AnalysisKind*> kind = FindAnalysisKind(name);
    ASSERT_TRUE(kind.ok());
    const Result<AnalysisOptions> options = AnalysisOptions::Read("ask", (*kind)->options, {});
    const TakeMemory take = [left = int64_t{100'000}](int64_t bytes) mutable {
      left -= bytes;
      return left >= 0 ? OkStatus() : Fail(ErrorCode::kQueueFull, "take memory", "there is none");
    };
    const Result<AnalysisAnswer> answer = Analyze(**kind, AnalysisTraces({trace.part(0)}, {"r1"}, take), *options, {});
    EXPECT_FALSE(answer.ok()) << name;
  }
}

}  // namespace
}  // namespace kprof
