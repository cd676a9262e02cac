#include "daemon/runs/imports/import_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "storage/trace/write/part_writer.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::ElementsAre;

class PartMetricsTest : public testing::Test {
 protected:
  struct Row {
    int64_t kernel;
    int64_t launch;
    double value;
  };
  // Kernels are "k1", "k2", ...; the metric is "m", in "u".
  std::string Write(const std::string& name, const std::vector<Row>& rows) {
    const std::string path = folder_ / (name + ".trace.db");
    const std::unique_ptr<PartWriter> writer = *PartWriter::Create(*files_, path);
    EXPECT_TRUE(writer->AddString(0, "").ok());
    for (uint32_t id = 1; id < 100; ++id) EXPECT_TRUE(writer->AddString(id, "k" + std::to_string(id)).ok());
    EXPECT_TRUE(writer->AddString(100, "m").ok() && writer->AddString(101, "u").ok());
    if (!rows.empty()) {
      SideRows side(MetricSideTable());
      for (const Row& row : rows) {
        side.Add(std::vector<int64_t>{row.kernel, row.launch, 100, std::bit_cast<int64_t>(row.value), 101});
      }
      EXPECT_TRUE(writer->AddSideTable(0, MetricSideTable()).ok());
      EXPECT_TRUE(writer->AddSideSegment(EncodeSideRows(0, side, 0, side.size())).ok());
    }
    EXPECT_TRUE(writer->Finish({}).ok());
    return path;
  }
  static std::vector<std::string> Texts(const std::vector<MetricRow>& metrics) {
    std::vector<std::string> texts;
    for (const MetricRow& metric : metrics) {
      EXPECT_FALSE(metric.launch);
      texts.push_back(metric.kernel + " " + metric.name + " " + std::to_string(metric.value) + " " + metric.unit);
    }
    return texts;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
  PartMetrics all_;
  std::vector<MetricRow> metrics_;
  std::vector<MetricRow> kernel_metrics_;
};

TEST_F(PartMetricsTest, PartsOfAJobAreOneMean) {
  ASSERT_TRUE(all_.Add(Write("rank0", {{1, 0, 2}, {1, 1, 4}, {2, 2, 10}})).ok());
  ASSERT_TRUE(all_.Add(Write("rank1", {{1, 0, 9}, {3, 1, 1}, {2, 2, 20}})).ok());
  all_.Finish(metrics_, kernel_metrics_);
  EXPECT_THAT(Texts(kernel_metrics_), ElementsAre("k1 m 5.000000 u", "k2 m 15.000000 u", "k3 m 1.000000 u"));
  EXPECT_THAT(Texts(metrics_), ElementsAre(" kernel_metric_rows 6.000000 count"));
}

TEST_F(PartMetricsTest, WithoutAnyThereAreNone) {
  ASSERT_TRUE(all_.Add(Write("a", {})).ok());
  all_.Finish(metrics_, kernel_metrics_);
  EXPECT_TRUE(metrics_.empty() && kernel_metrics_.empty());
}

TEST_F(PartMetricsTest, SaysHowManyKernelsAreLeftOut) {
  std::vector<Row> rows;
  for (int64_t kernel = 1; kernel < 100; ++kernel) rows.push_back({kernel, kernel, 1});
  ASSERT_TRUE(all_.Add(Write("a", rows)).ok());
  all_.Finish(metrics_, kernel_metrics_);
  EXPECT_EQ(kernel_metrics_.size(), 64u);
  EXPECT_THAT(Texts(metrics_),
              ElementsAre(" kernel_metric_rows 99.000000 count", " kernel_metrics_in_trace_alone 35.000000 count"));
}

TEST_F(PartMetricsTest, ABrokenPartFails) {
  EXPECT_EQ(all_.Add(folder_ / "none.trace.db").code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kprof
