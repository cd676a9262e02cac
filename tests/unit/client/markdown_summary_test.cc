#include "client/cli/views/markdown_summary.h"

#include <gtest/gtest.h>

#include "tests/unit/client/sample_run.h"

namespace kprof::cli {
namespace {

void AddMetric(v1::Run& run, const char* name, double value, const char* kernel = "") {
  v1::Metric& metric = *run.add_metrics();
  metric.set_name(name);
  metric.set_value(value);
  metric.set_kernel(kernel);
}

v1::Run JudgedRun() {
  v1::Run run;
  run.set_id("1m");
  run.set_state(v1::RUN_STATE_DONE);
  run.set_tool("event");
  for (const char* word : {"./bench", "a|b`c"}) run.add_argv(word);
  run.add_devices("0");
  run.set_started_unix_ns(1'000'000'000);
  run.set_ended_unix_ns(2'500'000'000);
  AddMetric(run, "median_ns", 5, "some_kernel");
  AddMetric(run, "median_ns", 12'342'000);
  AddMetric(run, "noise_percent", 0.81);
  AddMetric(run, "samples", 14);
  AddMetric(run, "baseline_median_ns", 13'534'000);
  v1::RunVerdict& verdict = *run.mutable_verdict();
  verdict.set_name("FASTER");
  verdict.set_ratio(0.91192);
  verdict.set_ci_low(0.905);
  verdict.set_ci_high(0.919);
  verdict.add_reasons("bimodal");
  verdict.add_reasons("drift");
  return run;
}

TEST(MarkdownSummary, OfAVerdictBeginsWithIt) {
  v1::Run run = JudgedRun();
  v1::TrustReason& reason = *run.add_trust();
  reason.set_code("host_busy");
  reason.set_message("others used 1.9 of 2 CPUs [*], <b>");
  EXPECT_EQ(MarkdownOf(run),
            "**FASTER**: 0.9119 of the baseline's time (95 %: 0.905 to 0.919); `bimodal`, `drift`\n"
            "\n"
            "| | median | noise | samples |\n"
            "|---|---:|---:|---:|\n"
            "| this | 12.342 ms | 0.8 % | 14 |\n"
            "| baseline | 13.534 ms | - | - |\n"
            "\n"
            "Run `1m`, `./bench 'a\\|b'c'`, tool event on 0, took 1.500 s\n"
            "\n"
            "- `host_busy`: others used 1.9 of 2 CPUs \\[\\*\\], \\<b\\>\n"
            "\n");
}

TEST(MarkdownSummary, OfAVerdictWithoutNumbersHasNone) {
  v1::Run run;
  run.set_id("1m");
  run.set_state(v1::RUN_STATE_DONE);
  run.set_tool("event");
  run.mutable_verdict()->set_name("INCONCLUSIVE");
  run.mutable_verdict()->add_reasons("values_impossible");
  EXPECT_TRUE(MarkdownOf(run).starts_with("**INCONCLUSIVE**; `values_impossible`\n\nRun `1m`, tool event on none"));
}

TEST(MarkdownSummary, OfAFailureSaysWhatFailed) {
  const std::string text = MarkdownOf(SampleRun());
  EXPECT_TRUE(text.starts_with("**failed**: `command_failed` the command exited with 3\n\nRun `01jd")) << text;
  EXPECT_NE(text.find("- `processes_left`: 2 processes outlived the command\n"), std::string::npos) << text;
}

v1::AnalysisColumn Column(const std::string& name, v1::AnalysisType type) {
  v1::AnalysisColumn column;
  column.set_name(name);
  column.set_type(type);
  return column;
}

void AddText(v1::ColumnData& column, const std::string& text) {
  column.add_kinds(v1::ColumnData::KIND_TEXT);
  column.add_texts(text);
}

// Of a comparison of runs a and b, with this many kernels.
ReceivedAnalysis Comparison(int kernels) {
  v1::AnalyzeResponse head;
  v1::AnalyzeResponse::Header& header = *head.mutable_header();
  header.set_kind("compare");
  header.add_run_ids("a");
  header.add_run_ids("b");
  for (const char* name : {"verdict", "reasons", "differences"}) {
    *header.add_facts() = Column(name, v1::ANALYSIS_TYPE_TEXT);
  }
  *header.add_facts() = Column("ratio", v1::ANALYSIS_TYPE_REAL);
  v1::AnalysisTable& table = *header.add_tables();
  table.set_name("kernels");
  *table.add_columns() = Column("name", v1::ANALYSIS_TYPE_TEXT);
  *table.add_columns() = Column("before_ns", v1::ANALYSIS_TYPE_INTEGER);
  *table.add_columns() = Column("after_ns", v1::ANALYSIS_TYPE_INTEGER);
  *table.add_columns() = Column("delta_percent", v1::ANALYSIS_TYPE_REAL);
  v1::AnalyzeResponse facts;
  AddText(*facts.mutable_facts()->add_values(), "INCONCLUSIVE");
  AddText(*facts.mutable_facts()->add_values(), R"(["too_few_samples"])");
  AddText(*facts.mutable_facts()->add_values(), R"(["devices: H100, now H200"])");
  v1::ColumnData& ratio = *facts.mutable_facts()->add_values();
  ratio.add_kinds(v1::ColumnData::KIND_REAL);
  ratio.add_reals(1.25);
  v1::AnalyzeResponse rows;
  v1::AnalyzeResponse::Batch& batch = *rows.mutable_batch();
  batch.set_rows(kernels);
  for (int i = 0; i < 4; ++i) batch.add_columns();
  for (int i = 0; i < kernels; ++i) {
    AddText(*batch.mutable_columns(0), "gemm<" + std::to_string(i) + ">");
    for (int side : {1, 2}) {
      batch.mutable_columns(side)->add_kinds(v1::ColumnData::KIND_INTEGER);
      batch.mutable_columns(side)->add_integers(1000 * side);
    }
    batch.mutable_columns(3)->add_kinds(v1::ColumnData::KIND_REAL);
    batch.mutable_columns(3)->add_reals(100);
  }
  v1::AnalyzeResponse end;
  end.mutable_end();
  ReceivedAnalysis answer;
  for (const v1::AnalyzeResponse& message : {head, facts, rows, end}) {
    const Status added = answer.Add(message);
    EXPECT_TRUE(added.ok()) << added.ToString();
  }
  return answer;
}

TEST(MarkdownSummary, OfAComparisonHasTheKernelsThatChangedMost) {
  EXPECT_EQ(MarkdownOf(Comparison(1)),
            "**INCONCLUSIVE**: 1.25 of the baseline's time; `too_few_samples`\n"
            "\n"
            "- devices: H100, now H200\n"
            "\n"
            "| kernel | before | after | change |\n"
            "|---|---:|---:|---:|\n"
            "| `gemm<0>` | 1.000 us | 2.000 us | +100.0 % |\n"
            "\n"
            "Runs `a` `b`\n"
            "\n");
  const std::string many = MarkdownOf(Comparison(30));
  EXPECT_NE(many.find("`gemm<9>`"), std::string::npos) << many;
  EXPECT_EQ(many.find("`gemm<10>`"), std::string::npos) << many;
  EXPECT_NE(many.find("\nand 20 more\n"), std::string::npos) << many;
}

}  // namespace
}  // namespace kprof::cli
