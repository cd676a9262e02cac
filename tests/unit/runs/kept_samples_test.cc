#include "daemon/runs/command/device_watch.h"

#include <gmock/gmock.h>

#include <bit>
#include <chrono>
#include <filesystem>
#include <thread>

#include "daemon/clocks/device_counters.h"
#include "storage/trace/read/part_reader.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using Finished = Result<std::optional<TracePartRow>>;

const std::vector<std::string> kNvidia(kSampleCounters.begin(), kSampleCounters.end());

class KeptSamplesTest : public RunsFixture, public testing::Test {
 protected:
  void SetUp() override {
    const Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    std::filesystem::create_directories(layout().RunFolder(kRun));
  }

  std::shared_ptr<KeptSamples> Begin() {
    const RunContext parts{*loop_,    clock_,     *workers_, *workers_, *workers_, disk_.files,
                           *catalog_, *launcher_, devices_,  output_,   observer_};
    return std::make_shared<KeptSamples>(
        parts, kRun, std::vector<KeptSamples::WatchedDevice>{{"0", "H200", kNvidia}, {"left", "", kNvidia}});
  }
  Finished Finish(KeptSamples& part) {
    std::optional<Finished> answer;
    part.Finish([&](Finished finished) { answer = std::move(finished); });
    EXPECT_FALSE(answer) << "never from inside";
    EXPECT_TRUE(Until([&] { return answer.has_value(); }));
    return *answer;
  }
  std::string path() { return layout().TracePartPath(kRun, kSamplePart); }
  bool IsThere(const std::string& what) { return std::filesystem::exists(what); }
  bool HasNothing() { return std::filesystem::is_empty(layout().RunFolder(kRun)); }

  static constexpr const char* kRun = "1jxt22xm01mp0rt0";
  ColumnCache cache_{1 << 20};
};

TEST_F(KeptSamplesTest, HasACounterForEachThingOfEachDevice) {
  const std::shared_ptr<KeptSamples> part = Begin();
  const int64_t begun_unix_ns = clock_.unix_ns();
  const int64_t begun_mono_ns = clock_.mono_ns();
  part->Add(0, 3, begun_mono_ns + 100, 699.5);
  part->Add(1, 0, begun_mono_ns + 200, 1365);
  part->Add(0, 3, begun_mono_ns + 300, 700);
  const Finished finished = Finish(*part);
  ASSERT_TRUE(finished.ok()) << finished.status().ToString();
  ASSERT_TRUE(finished->has_value());
  const TracePartRow& row = **finished;
  EXPECT_EQ(row.name, "samples");
  EXPECT_EQ(row.source_format, "samples");
  EXPECT_EQ(row.counters, 3);
  EXPECT_EQ(row.tracks, static_cast<int64_t>(2 * kSampleCounters.size()));
  EXPECT_EQ(static_cast<uintmax_t>(row.bytes), std::filesystem::file_size(path()));

  const std::unique_ptr<PartReader> reader = *PartReader::Open(path(), cache_);
  EXPECT_EQ(reader->IntegerFact("base_unix_ns"), begun_unix_ns);
  EXPECT_EQ(reader->tracks()[3].name, "power_w");
  EXPECT_EQ(reader->tracks()[3].process, "device 0 (H200)");
  EXPECT_EQ(reader->tracks()[3].device, 0);
  EXPECT_EQ(reader->tracks()[9].process, "device left");
  EXPECT_FALSE(reader->tracks()[9].device.has_value());
  ASSERT_EQ(reader->segments(EventKind::kCounter).size(), 1u);
  const Segment& segment = reader->segments(EventKind::kCounter)[0];
  const DecodedColumn times = *reader->Read(segment, EventColumn::kTime);
  const DecodedColumn values = *reader->Read(segment, EventColumn::kValue);
  EXPECT_THAT(std::vector<int64_t>(times->begin(), times->end()), testing::ElementsAre(100, 300, 200));
  EXPECT_EQ(std::bit_cast<double>((*values)[0]), 699.5);
}

TEST_F(KeptSamplesTest, OfNoSamplesThereIsNoPart) {
  const std::shared_ptr<KeptSamples> part = Begin();
  const Finished finished = Finish(*part);
  ASSERT_TRUE(finished.ok());
  EXPECT_FALSE(finished->has_value());
  EXPECT_TRUE(HasNothing());
}

TEST_F(KeptSamplesTest, IsWrittenAsItComes) {
  const std::shared_ptr<KeptSamples> part = Begin();
  for (int i = 0; i < 100'000; ++i) part->Add(0, static_cast<size_t>(i) % 8, clock_.mono_ns() + i, i);
  loop_->RunUntilIdle();
  EXPECT_TRUE(IsThere(path() + ".partial"));
  EXPECT_FALSE(IsThere(path()));
  const Finished finished = Finish(*part);
  ASSERT_TRUE(finished.ok());
  EXPECT_EQ((*finished)->counters, 100'000);
  EXPECT_TRUE(IsThere(path()));
  EXPECT_FALSE(IsThere(path() + ".partial"));
}

TEST_F(KeptSamplesTest, OneThatIsLetGoOfLeavesNothing) {
  std::shared_ptr<KeptSamples> part = Begin();
  for (int i = 0; i < 50'000; ++i) part->Add(0, 0, clock_.mono_ns() + i, i);
  loop_->RunUntilIdle();
  EXPECT_FALSE(HasNothing());
  part.reset();
  loop_->RunUntilIdle();
  EXPECT_TRUE(HasNothing());
}

TEST_F(KeptSamplesTest, WhateverTheDiskRefusesIsToldAndLeavesNothing) {
  // A second after it was made the catalog moves what it has from its log into its file, through the same door: once
  // that is done, what fails is the part's.
  disk_.plan.Heal();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  for (int at = 1;; ++at) {
    std::shared_ptr<KeptSamples> part = Begin();
    disk_.plan.FailAt(at, Fault::kNoSpace);
    for (int i = 0; i < 40'000; ++i) part->Add(0, 0, clock_.mono_ns() + i, i);
    loop_->RunUntilIdle();
    const Finished finished = Finish(*part);
    const bool has_failed = disk_.plan.has_failed();
    disk_.plan.Heal();
    if (!has_failed) {
      EXPECT_TRUE(finished.ok());
      EXPECT_GT(at, 5) << "it does more than so much";
      break;
    }
    ASSERT_FALSE(finished.ok()) << at;
    EXPECT_EQ(finished.status().code(), ErrorCode::kStorageFull) << at << " " << finished.status().ToString();
    // What has its name already is removed by who collects the run.
    EXPECT_TRUE(RemoveSamplePart(disk_.files, layout(), kRun).ok());
    EXPECT_TRUE(HasNothing()) << at;
    // What it still does on the disk as it goes is not to be counted as the next one's.
    part.reset();
    loop_->RunUntilIdle();
  }
}

}  // namespace
}  // namespace kprof
