// Trace parts for tests, written as parts are: from rows, in segments of a few of them. And their rows read back one by
// one, for the plain computations that operators are compared with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/files.h"
#include "storage/trace/read/part_reader.h"
#include "storage/trace/write/part_writer.h"
#include "storage/trace/write/segment_maker.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {

struct SampleSlice {
  int64_t time = 0;
  int64_t duration = 0;
  int64_t track = 0;
  std::string name;
  std::string category;
  int64_t correlation = kNoValue;
};

// A row as it was read back.
struct SampleRow {
  int64_t row = 0;
  SampleSlice slice;
  int64_t depth = 0;

  bool has_end() const { return slice.duration >= 0; }
  int64_t end() const { return has_end() ? slice.time + slice.duration : slice.time; }
};

class SamplePart {
 public:
  explicit SamplePart(const std::string& path) : path_(path), files_(MakePosixFiles()) {
    Result<std::unique_ptr<PartWriter>> writer = PartWriter::Create(*files_, path);
    EXPECT_TRUE(writer.ok()) << writer.status().ToString();
    writer_ = *std::move(writer);
    StringNumber("");
  }

  int64_t StringNumber(const std::string& text) {
    const auto [found, is_new] = strings_.try_emplace(text, static_cast<int64_t>(strings_.size()));
    if (is_new) {
      EXPECT_TRUE(writer_->AddString(static_cast<uint32_t>(found->second), text).ok());
    }
    return found->second;
  }
  void AddTrack(const std::string& kind, const std::string& name, std::optional<int64_t> device = {},
                std::optional<int64_t> stream = {}) {
    TrackRow track;
    track.id = static_cast<uint32_t>(tracks_++);
    track.kind = kind;
    track.name = name;
    track.device = device;
    track.stream = stream;
    EXPECT_TRUE(writer_->AddTrack(track).ok());
  }
  void AddRows(EventKind kind, const EventRows& rows, size_t segment_rows) {
    SegmentMaker maker(kind, rows, segment_rows);
    for (size_t i = 0; i < maker.segments(); ++i) {
      const Status added = writer_->AddSegment(maker.Encode(i));
      EXPECT_TRUE(added.ok()) << added.ToString();
    }
  }
  // Each call sorts and cuts what it is given by itself: segments of several calls may overlap in time.
  void AddSlices(const std::vector<SampleSlice>& slices, size_t segment_rows) {
    EventRows rows;
    for (const SampleSlice& slice : slices) {
      rows.of(EventColumn::kTime).push_back(slice.time);
      rows.of(EventColumn::kDuration).push_back(slice.duration);
      rows.of(EventColumn::kTrack).push_back(slice.track);
      rows.of(EventColumn::kName).push_back(StringNumber(slice.name));
      rows.of(EventColumn::kCategory).push_back(StringNumber(slice.category));
      rows.of(EventColumn::kShape).push_back(0);
      rows.of(EventColumn::kCorrelation).push_back(slice.correlation);
    }
    if (!slices.empty()) AddRows(EventKind::kSlice, rows, segment_rows);
  }
  PartWriter& writer() { return *writer_; }

  std::unique_ptr<PartReader> Finish(ColumnCache& cache) {
    const Result<int64_t> finished = writer_->Finish({});
    EXPECT_TRUE(finished.ok()) << finished.status().ToString();
    Result<std::unique_ptr<PartReader>> reader = PartReader::Open(path_, cache);
    EXPECT_TRUE(reader.ok()) << reader.status().ToString();
    return *std::move(reader);
  }

 private:
  const std::string path_;
  std::unique_ptr<Files> files_;
  std::unique_ptr<PartWriter> writer_;
  std::map<std::string, int64_t> strings_;
  int64_t tracks_ = 0;
};

// Tracks 0 to 5: two threads, two streams of each of two devices.
inline void AddSampleTracks(SamplePart& part) {
  part.AddTrack("cpu_thread", "main");
  part.AddTrack("cpu_thread", "worker 1");
  for (int64_t device = 0; device < 2; ++device) {
    part.AddTrack("gpu_stream", "stream 7", device, 7);
    part.AddTrack("gpu_stream", "stream 9", device, 9);
  }
}

// Many that are in each other, cross each other, begin together, have no length or no end.
inline std::vector<SampleSlice> RandomSlices(size_t count, uint64_t seed, int64_t last_time = 100'000) {
  std::mt19937_64 random(seed);
  const auto pick = [&](uint64_t choices) { return static_cast<int64_t>(random() % choices); };
  const char* categories[] = {"kernel", "cpu_op", "memcpy"};
  std::vector<SampleSlice> slices;
  for (size_t i = 0; i < count; ++i) {
    SampleSlice slice;
    slice.time = pick(static_cast<uint64_t>(last_time));
    slice.duration = pick(10) == 0 ? pick(20'000) : pick(300);
    if (pick(50) == 0) slice.duration = kNoValue;
    if (pick(30) == 0) slice.duration = 0;
    slice.track = pick(6);
    slice.name = "name " + std::to_string(pick(20));
    slice.category = pick(40) == 0 ? "rare" : categories[pick(3)];
    if (pick(4) == 0) slice.correlation = pick(count / 4 + 1);
    slices.push_back(slice);
  }
  return slices;
}

inline int64_t ValueAt(PartReader& reader, const Segment& segment, EventColumn column, uint32_t row) {
  const Result<DecodedColumn> values = reader.Read(segment, column);
  EXPECT_TRUE(values.ok()) << values.status().ToString();
  return (**values)[row];
}

// In the order of their numbers.
inline std::vector<SampleRow> RowsOf(PartReader& reader) {
  std::vector<SampleRow> rows;
  for (const Segment& segment : reader.segments(EventKind::kSlice)) {
    for (uint32_t row = 0; row < segment.rows; ++row) {
      SampleRow read;
      read.row = segment.first_row + row;
      read.slice.time = ValueAt(reader, segment, EventColumn::kTime, row);
      read.slice.duration = ValueAt(reader, segment, EventColumn::kDuration, row);
      read.slice.track = ValueAt(reader, segment, EventColumn::kTrack, row);
      read.slice.name = *reader.ReadString(ValueAt(reader, segment, EventColumn::kName, row));
      read.slice.category = *reader.ReadString(ValueAt(reader, segment, EventColumn::kCategory, row));
      read.slice.correlation = ValueAt(reader, segment, EventColumn::kCorrelation, row);
      read.depth = ValueAt(reader, segment, EventColumn::kDepth, row);
      rows.push_back(read);
    }
  }
  return rows;
}

// Those of a track, in the order of the trace: by time, and of one time the longest first.
inline std::vector<SampleRow> InOrder(std::vector<SampleRow> rows, int64_t track) {
  std::erase_if(rows, [&](const SampleRow& row) { return row.slice.track != track; });
  std::stable_sort(rows.begin(), rows.end(), [](const SampleRow& a, const SampleRow& b) {
    if (a.slice.time != b.slice.time) return a.slice.time < b.slice.time;
    return a.slice.duration > b.slice.duration;
  });
  return rows;
}

// A part of random slices, in a folder of its own.
class SampleTrace {
 public:
  // `batches` more than 1: segments overlap in time.
  PartReader& Add(const std::vector<SampleSlice>& slices, size_t segment_rows, size_t batches = 1,
                  std::optional<int64_t> rank = {}) {
    SamplePart part(folder_ / (std::to_string(readers_.size()) + ".trace.db"));
    // Numbers of strings differ from part to part.
    for (size_t i = 0; i < readers_.size(); ++i) part.StringNumber("only of part " + std::to_string(i));
    AddSampleTracks(part);
    for (size_t batch = 0; batch < batches; ++batch) {
      std::vector<SampleSlice> some;
      for (size_t i = batch; i < slices.size(); i += batches) some.push_back(slices[i]);
      part.AddSlices(some, segment_rows);
    }
    if (rank) {
      EXPECT_TRUE(part.writer().SetFact("rank", *rank).ok());
    }
    readers_.push_back(part.Finish(cache_));
    parts_.push_back(PartOf(*readers_.back()));
    return *readers_.back();
  }
  PartReader& Take(SamplePart& part) {
    readers_.push_back(part.Finish(cache_));
    parts_.push_back(PartOf(*readers_.back()));
    return *readers_.back();
  }
  std::string NewPath() const { return folder_ / (std::to_string(readers_.size()) + ".trace.db"); }

  TraceParts parts() const { return parts_; }
  const TracePart& part(size_t i) const { return parts_[i]; }

 private:
  TemporaryFolder folder_;
  ColumnCache cache_{16 << 20};
  std::vector<std::unique_ptr<PartReader>> readers_;
  std::vector<TracePart> parts_;
};

}  // namespace kprof
