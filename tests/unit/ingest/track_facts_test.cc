#include "daemon/ingest/assemble/track_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kprof {
namespace {

class TrackFactsTest : public testing::Test {
 protected:
  using Args = std::vector<std::pair<std::string, std::variant<int64_t, std::string>>>;

  int64_t Track(const TrackKey& key) {
    tracks_.push_back(key);
    return static_cast<int64_t>(tracks_.size()) - 1;
  }
  int64_t Thread(const std::string& pid, const std::string& tid) {
    return Track({TrackKey::Family::kThread, strings_.Add(pid), strings_.Add(tid), 0, 0});
  }
  EventRows Row(int64_t track, const std::string& name, const std::string& category, int64_t phase, const Args& args,
                bool of_event = false) {
    EventRows rows;
    rows.of(EventColumn::kTime).push_back(0);
    rows.of(EventColumn::kTrack).push_back(track);
    rows.of(EventColumn::kName).push_back(strings_.Add(name));
    rows.of(EventColumn::kCategory).push_back(strings_.Add(category));
    rows.of(EventColumn::kPhase).push_back(phase);
    ArgShape shape;
    std::vector<std::vector<int64_t>> values;
    for (const auto& [key, value] : args) {
      const bool is_text = std::holds_alternative<std::string>(value);
      shape.push_back({strings_.Add(key), is_text ? ArgType::kString : ArgType::kInteger, of_event});
      values.push_back({is_text ? strings_.Add(std::get<std::string>(value)) : std::get<int64_t>(value)});
    }
    rows.of(EventColumn::kShape).push_back(static_cast<int64_t>(shapes_.size()));
    shapes_.push_back(shape);
    rows.args.resize(shapes_.size());
    rows.args.back() = values;
    return rows;
  }
  void Slice(int64_t track, const std::string& category, const Args& args = {}) {
    facts_.SeeSlices(Row(track, "slice", category, 0, args));
  }
  void Metadata(int64_t track, const std::string& name, const Args& args) {
    facts_.SeeMetadata(Row(track, name, "", 'M', args));
  }
  TrackRow Describe(int64_t track) { return facts_.Describe(static_cast<uint32_t>(track)); }

  StringTable strings_;
  std::vector<ArgShape> shapes_{{}};
  std::vector<TrackKey> tracks_;
  TrackFacts facts_{strings_, shapes_, tracks_};
};

TEST_F(TrackFactsTest, AThreadIsWhatItsIdsSay) {
  const int64_t thread = Thread("12", "34");
  Slice(thread, "cpu_op");
  const TrackRow row = Describe(thread);
  EXPECT_EQ(row.kind, "cpu_thread");
  EXPECT_EQ(row.pid, "12");
  EXPECT_EQ(row.tid, "34");
  EXPECT_EQ(row.name, "34");
  EXPECT_FALSE(row.process || row.device || row.stream || row.sort_index);
}

TEST_F(TrackFactsTest, NamesAreThoseThatMetadataSays) {
  const int64_t thread = Thread("12", "34");
  const int64_t other = Thread("12", "35");
  const int64_t elsewhere = Thread("13", "34");
  Metadata(other, "process_name", {{"name", "python"}});
  Metadata(thread, "thread_name", {{"name", "main"}});
  Metadata(thread, "thread_sort_index", {{"sort_index", 7}});
  EXPECT_EQ(Describe(thread).name, "main");
  EXPECT_EQ(Describe(thread).process, "python");
  EXPECT_EQ(Describe(thread).sort_index, 7);
  EXPECT_EQ(Describe(other).name, "35");
  EXPECT_EQ(Describe(other).process, "python");
  EXPECT_FALSE(Describe(elsewhere).process);
}

TEST_F(TrackFactsTest, ProcessesAreSortedAndThreadsWithinThem) {
  const int64_t thread = Thread("12", "34");
  const int64_t sibling = Thread("12", "35");
  const int64_t elsewhere = Thread("13", "34");
  const int64_t nowhere = Thread("14", "34");
  Metadata(sibling, "process_sort_index", {{"sort_index", 2}});
  Metadata(elsewhere, "process_sort_index", {{"sort_index", "1"}});
  Metadata(thread, "thread_sort_index", {{"sort_index", "-7"}});
  Metadata(elsewhere, "thread_sort_index", {{"sort_index", int64_t{1} << 40}});
  EXPECT_EQ(Describe(thread).sort_index, (int64_t{2} << 32) - 7);
  EXPECT_EQ(Describe(sibling).sort_index, int64_t{2} << 32);
  EXPECT_EQ(Describe(elsewhere).sort_index, (int64_t{1} << 32) + INT32_MAX);
  EXPECT_FALSE(Describe(nowhere).sort_index);
}

TEST_F(TrackFactsTest, MetadataThatSaysNothingIsPassedBy) {
  const int64_t thread = Thread("12", "34");
  Metadata(thread, "thread_name", {});
  Metadata(thread, "thread_name", {{"name", 5}});
  Metadata(thread, "thread_sort_index", {{"sort_index", "first"}});
  Metadata(thread, "process_name", {{"label", "x"}});
  facts_.SeeMetadata(Row(thread, "thread_name", "", 'E', {{"name", "wrong phase"}}));
  facts_.SeeMetadata(Row(thread, "thread_name", "", 'M', {{"name", "beside"}}, true));
  EXPECT_EQ(Describe(thread).name, "34");
  EXPECT_FALSE(Describe(thread).process || Describe(thread).sort_index);
}

TEST_F(TrackFactsTest, ATrackOfDeviceEventsIsAStream) {
  for (const char* category : {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "gpu_user_annotation"}) {
    const int64_t stream = Thread("0", std::string("stream ") + category);
    Slice(stream, category, {{"device", 1}, {"stream", 7}});
    EXPECT_EQ(Describe(stream).kind, "gpu_stream") << category;
    EXPECT_EQ(Describe(stream).device, 1);
    EXPECT_EQ(Describe(stream).stream, 7);
    EXPECT_EQ(Describe(stream).name, "stream 7");
  }
}

TEST_F(TrackFactsTest, AStreamThatItsEventsDoNotSayIsThatOfItsIds) {
  const int64_t stream = Thread("2", "20");
  Slice(stream, "kernel");
  EXPECT_EQ(Describe(stream).device, 2);
  EXPECT_EQ(Describe(stream).stream, 20);
  const int64_t unknown = Thread("GPU", "compute");
  Slice(unknown, "kernel");
  EXPECT_EQ(Describe(unknown).kind, "gpu_stream");
  EXPECT_FALSE(Describe(unknown).device || Describe(unknown).stream);
  EXPECT_EQ(Describe(unknown).name, "compute");
}

TEST_F(TrackFactsTest, TheFirstEventWithACategoryTells) {
  const int64_t track = Thread("0", "7");
  Slice(track, "");
  Slice(track, "kernel");
  Slice(track, "cpu_op");
  EXPECT_EQ(Describe(track).kind, "gpu_stream");
}

TEST_F(TrackFactsTest, AsyncTracksAndCountersHaveTheirNames) {
  const uint32_t pid = strings_.Add("1");
  const uint32_t name = strings_.Add("memory");
  const uint32_t series = strings_.Add("used");
  const int64_t counter = Track({TrackKey::Family::kCounter, pid, 0, name, series});
  const int64_t async = Track({TrackKey::Family::kAsync, pid, 0, name, 0});
  EXPECT_EQ(Describe(counter).kind, "counter");
  EXPECT_EQ(Describe(counter).name, "memory used");
  EXPECT_FALSE(Describe(counter).tid);
  EXPECT_EQ(Describe(async).kind, "async");
  EXPECT_EQ(Describe(async).name, "memory");
}

TEST_F(TrackFactsTest, WhatAReaderKnowsStandsAboveWhatEventsSay) {
  const int64_t track = Thread("0", "7");
  Slice(track, "kernel");
  TrackRow known;
  known.id = static_cast<uint32_t>(track);
  known.kind = "nc_engine";
  known.name = "tensor";
  facts_.SeeKnown(known);
  Metadata(track, "thread_name", {{"name", "other"}});
  EXPECT_EQ(Describe(track), known);
}

TEST_F(TrackFactsTest, ATrackWithoutEventsIsDescribedToo) {
  Thread("1", "1");
  const int64_t late = Thread("1", "2");
  EXPECT_EQ(Describe(late).kind, "cpu_thread");
}

}  // namespace
}  // namespace kprof
