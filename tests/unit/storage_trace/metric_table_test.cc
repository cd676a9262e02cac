#include "storage/trace/read/metric_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "storage/trace/write/part_writer.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class MetricTableTest : public testing::Test {
 protected:
  struct Row {
    int64_t kernel;
    int64_t launch;
    int64_t name;
    double value;
    int64_t unit = 0;
  };
  // Strings are "", "s1", "s2", ...
  KernelMetrics Sum(const std::vector<Row>& rows, const KernelMetricBounds& bounds = {},
                    const SideTable& table = MetricSideTable()) {
    const std::string path = folder_ / "a.trace.db";
    const std::unique_ptr<PartWriter> writer = *PartWriter::Create(*files_, path);
    for (uint32_t id = 0; id < 200; ++id) {
      EXPECT_TRUE(writer->AddString(id, id == 0 ? "" : "s" + std::to_string(id)).ok());
    }
    SideRows side(table);
    for (const Row& row : rows) {
      const int64_t values[] = {row.kernel, row.launch, row.name, std::bit_cast<int64_t>(row.value), row.unit};
      side.Add(values);
    }
    EXPECT_TRUE(writer->AddSideTable(0, table).ok());
    for (size_t first = 0; first < rows.size(); first += 3) {
      const size_t count = std::min<size_t>(3, rows.size() - first);
      EXPECT_TRUE(writer->AddSideSegment(EncodeSideRows(0, side, first, count)).ok());
    }
    EXPECT_TRUE(writer->Finish({}).ok());
    const std::unique_ptr<PartReader> reader = *PartReader::Open(path, cache_);
    return *SumKernelMetrics(*reader, bounds);
  }

  TemporaryFolder folder_;
  std::unique_ptr<Files> files_ = MakePosixFiles();
  ColumnCache cache_{1 << 20};
};

TEST_F(MetricTableTest, SumsUpOverLaunches) {
  const KernelMetrics all = Sum({{1, 0, 5, 2.0, 7}, {1, 0, 6, 1.0}, {2, 1, 5, 9.0, 7}, {1, 2, 5, 4.0, 7}});
  EXPECT_EQ(all.rows, 4);
  EXPECT_EQ(all.left_out, 0);
  ASSERT_EQ(all.metrics.size(), 3u);
  EXPECT_EQ(all.metrics[0].kernel + all.metrics[0].name + all.metrics[0].unit, "s1s5s7");
  EXPECT_EQ(all.metrics[0].mean, 3.0);
  EXPECT_EQ(all.metrics[0].launches, 2);
  EXPECT_EQ(all.metrics[2].kernel, "s2");
}

TEST_F(MetricTableTest, WhatIsNoNumberIsInNoMean) {
  const KernelMetrics all = Sum({{1, 0, 5, NAN}, {1, 1, 5, 3.0}, {2, 2, 5, NAN}});
  ASSERT_EQ(all.metrics.size(), 2u);
  EXPECT_EQ(all.metrics[0].mean, 3.0);
  EXPECT_EQ(all.metrics[0].launches, 2);
  EXPECT_TRUE(std::isnan(all.metrics[1].mean));
}

TEST_F(MetricTableTest, CountsWhatIsBeyondTheBounds) {
  std::vector<Row> rows;
  for (int64_t kernel = 1; kernel <= 5; ++kernel) {
    for (int64_t launch = 0; launch < 2; ++launch) {
      for (int64_t name = 10; name < 14; ++name) rows.push_back({kernel, launch, name, 1.0});
    }
  }
  const KernelMetrics all = Sum(rows, {.most_kernels = 3, .most_names = 2});
  EXPECT_EQ(all.metrics.size(), 6u);
  EXPECT_EQ(all.left_out, 5 * 4 - 6);
  EXPECT_EQ(all.rows, 40);
}

TEST_F(MetricTableTest, LongTextsAreLeftOut) {
  const KernelMetrics all = Sum({{1, 0, 100, 1.0}, {1, 0, 9, 1.0}}, {.most_text_bytes = 3});
  ASSERT_EQ(all.metrics.size(), 1u);
  EXPECT_EQ(all.metrics[0].name, "s9");
  EXPECT_EQ(all.left_out, 1);
}

TEST_F(MetricTableTest, OneOfOtherColumnsIsAnothers) {
  SideTable other = MetricSideTable();
  other.columns[0].name = "operator";
  EXPECT_EQ(Sum({{1, 0, 5, 2.0}}, {}, other).rows, 0);
}

TEST_F(MetricTableTest, APartWithoutOneHasNone) {
  const std::string path = folder_ / "b.trace.db";
  ASSERT_TRUE((*PartWriter::Create(*files_, path))->Finish({}).ok());
  EXPECT_EQ(SumKernelMetrics(**PartReader::Open(path, cache_), {})->rows, 0);
}

}  // namespace
}  // namespace kprof
