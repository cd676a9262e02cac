#include "storage/catalog/device_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_table.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/sample_runs.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

CeilingRow Bandwidth(const std::string& device, double value) {
  return {device, "memory_bandwidth", "", "", "GB/s", value, "01run", 1000, 7, "lock", ""};
}

class CeilingTableTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeCatalog(db_).ok()); }

  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite});
};

TEST_F(CeilingTableTest, KeepsTheLastOfEachQuantity) {
  const CeilingRow rate{"GPU-1", "dense_rate", "bf16", "fp32", "TFLOP/s",       780.5,
                        "02run", 1000,         8,      "none", "device_shared", "NVIDIA H200"};
  ASSERT_TRUE(PutCeiling(db_, Bandwidth("GPU-1", 3000)).ok());
  ASSERT_TRUE(PutCeiling(db_, rate).ok());
  CeilingRow later = Bandwidth("GPU-1", 3021.5);
  later.run_id = "03run";
  later.uid = UINT32_MAX;
  later.time_ns = 9;
  ASSERT_TRUE(PutCeiling(db_, later).ok());
  EXPECT_THAT(*ReadCeilings(db_), ElementsAre(rate, later));
}

TEST_F(CeilingTableTest, KnowsWhoTheDevicesOfRunsAre) {
  RunRow run = SampleRun("01a");
  run.devices = {"3", "5", "6"};
  RunRow other = SampleRun("01b");
  other.devices = {"cpu"};
  RunRow none = SampleRun("01c");
  none.devices.clear();
  for (const RunRow& row : {run, other, none}) ASSERT_TRUE(InsertRun(db_, row).ok());
  const std::vector<std::string> runs = {"01a", "01b", "01c", "01d"};
  const std::vector<std::string> keys = {"GPU-3", "", "GPU-6"};
  ASSERT_TRUE(PutDeviceKeys(db_, "01a", keys).ok());
  EXPECT_THAT(ReadKnownCeilings(db_, runs)->devices_of_runs, IsEmpty()) << "nobody needs them without a ceiling";
  ASSERT_TRUE(PutCeiling(db_, Bandwidth("GPU-3", 3000)).ok());
  const KnownCeilings known = *ReadKnownCeilings(db_, runs);
  EXPECT_THAT(known.rows, ElementsAre(Bandwidth("GPU-3", 3000)));
  EXPECT_THAT(known.devices_of_runs, ElementsAre(Pair("01a", keys), Pair("01b", ElementsAre(""))));
}

TEST_F(CeilingTableTest, DropsThoseOfOneDevice) {
  ASSERT_TRUE(PutCeiling(db_, Bandwidth("GPU-1", 3000)).ok());
  ASSERT_TRUE(PutCeiling(db_, Bandwidth("GPU-2", 3001)).ok());
  ASSERT_TRUE(DropCeilings(db_, "GPU-1").ok());
  ASSERT_TRUE(DropCeilings(db_, "GPU-3").ok());
  EXPECT_THAT(*ReadCeilings(db_), ElementsAre(Bandwidth("GPU-2", 3001)));
  ASSERT_TRUE(DropCeilings(db_, "GPU-2").ok());
  EXPECT_THAT(*ReadCeilings(db_), IsEmpty());
}

}  // namespace
}  // namespace kprof
