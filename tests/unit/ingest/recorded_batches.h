// A BatchSink for tests: keeps what a reader gave it as events that can be looked at one by one, with their strings and
// tracks in the places of their numbers. Batches are held against what they promise: columns of one size, numbers that
// were given before.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/ingest/assemble/batch_sink.h"
#include "storage/trace/format/event_args.h"

namespace kprof {

struct RecordedEvent {
  EventKind kind = EventKind::kSlice;
  int64_t time_ns = 0;
  int64_t duration_ns = kNoValue;
  TrackRow track;
  std::string name;
  std::string category;
  int64_t correlation = kNoValue;
  double value = 0;
  std::map<std::string, std::string> args;  // decimals with their point, correlations as their numbers

  bool Has(const std::string& key) const { return args.contains(key); }
  std::string Arg(const std::string& key) const {
    const auto found = args.find(key);
    return found == args.end() ? "(none)" : found->second;
  }
};

class RecordedBatches : public BatchSink {
 public:
  Status Take(TraceBatch batch) override {
    ++batches;
    if (batches == fail_at_batch) return Fail(ErrorCode::kCancelled, "take a batch", "the test says so");
    strings_.insert(strings_.end(), batch.strings.begin(), batch.strings.end());
    shapes_.insert(shapes_.end(), batch.shapes.begin(), batch.shapes.end());
    keys.insert(keys.end(), batch.tracks.begin(), batch.tracks.end());
    for (const TrackRow& row : batch.known_tracks) {
      EXPECT_LT(row.id, keys.size());
      if (tracks.size() <= row.id) tracks.resize(row.id + 1);
      tracks[row.id] = row;
    }
    for (SideRows& rows : batch.side) side.push_back(std::move(rows));
    size_t rows = 0;
    for (size_t index = 0; index < kEventKinds; ++index) rows += Keep(static_cast<EventKind>(index + 1), batch);
    EXPECT_LE(rows, most_rows);
    return OkStatus();
  }
  Status SetFact(std::string_view name, std::string_view text) override {
    facts[std::string(name)] = text;
    return OkStatus();
  }
  Status SetFact(std::string_view name, int64_t value) override {
    facts[std::string(name)] = std::to_string(value);
    return OkStatus();
  }
  void Warn(std::string what) override { warnings.push_back(std::move(what)); }
  Status Progress(int64_t bytes, int64_t all_events) override {
    EXPECT_GE(bytes, progress_bytes);
    progress_bytes = bytes;
    progress_events = all_events;
    return OkStatus();
  }

  std::vector<RecordedEvent> Of(std::string_view category) const {
    std::vector<RecordedEvent> found;
    for (const RecordedEvent& event : events) {
      if (event.category == category) found.push_back(event);
    }
    return found;
  }
  // Everything that was given, for looking whether something is in it.
  std::string AllText() const {
    std::string all;
    for (const std::string& text : strings_) all += text + '\n';
    for (const auto& [name, text] : facts) all += name + '=' + text + '\n';
    for (const std::string& warning : warnings) all += warning + '\n';
    for (const TrackRow& row : tracks) all += row.name + '\n' + row.process.value_or("") + '\n' + row.tid.value_or("");
    return all;
  }

  std::vector<RecordedEvent> events;
  std::vector<SideRows> side;  // of each batch
  std::vector<TrackRow> tracks;
  std::vector<TrackKey> keys;
  std::map<std::string, std::string> facts;
  std::vector<std::string> warnings;
  int64_t progress_bytes = 0;
  int64_t progress_events = 0;
  int batches = 0;
  int fail_at_batch = 0;
  size_t most_rows = 65'536 + 512;

 private:
  std::string Text(int64_t number) const {
    EXPECT_GE(number, 0);
    EXPECT_LT(static_cast<size_t>(number), strings_.size());
    return number == 0 ? "" : strings_[static_cast<size_t>(number)].substr(1);
  }

  std::string ArgText(ArgType type, int64_t value, int64_t correlation) const {
    switch (type) {
      case ArgType::kNull:
        return "null";
      case ArgType::kFalse:
        return "false";
      case ArgType::kTrue:
        return "true";
      case ArgType::kInteger:
        return std::to_string(value);
      case ArgType::kDecimal: {
        const ArgDecimal decimal = UnpackDecimal(value);
        const auto places = static_cast<size_t>(decimal.places);
        std::string digits = std::to_string(decimal.digits < 0 ? -decimal.digits : decimal.digits);
        if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
        digits.insert(digits.size() - places, ".");
        return decimal.digits < 0 ? "-" + digits : digits;
      }
      case ArgType::kCorrelation:
        return std::to_string(correlation);
      default:
        return Text(value);
    }
  }

  size_t Keep(EventKind kind, const TraceBatch& batch) {
    const EventRows& rows = batch.rows[IndexOf(kind)];
    for (const EventColumn column : ColumnsOf(kind)) EXPECT_EQ(rows.of(column).size(), rows.size());
    std::map<uint32_t, size_t> of_shape;
    for (size_t i = 0; i < rows.size(); ++i) {
      RecordedEvent event;
      event.kind = kind;
      event.time_ns = rows.of(EventColumn::kTime)[i];
      event.track = tracks.at(static_cast<size_t>(rows.of(EventColumn::kTrack)[i]));
      if (kind == EventKind::kCounter) {
        event.value = std::bit_cast<double>(rows.of(EventColumn::kValue)[i]);
        events.push_back(event);
        continue;
      }
      event.name = Text(rows.of(EventColumn::kName)[i]);
      event.category = Text(rows.of(EventColumn::kCategory)[i]);
      if (kind == EventKind::kSlice) {
        event.duration_ns = rows.of(EventColumn::kDuration)[i];
        event.correlation = rows.of(EventColumn::kCorrelation)[i];
      }
      const auto shape = static_cast<uint32_t>(rows.of(EventColumn::kShape)[i]);
      const size_t row = of_shape[shape]++;
      for (size_t slot = 0; slot < shapes_.at(shape).size(); ++slot) {
        const ArgSlot& of = shapes_[shape][slot];
        const int64_t value = HasColumn(of.type) ? rows.args.at(shape).at(slot).at(row) : 0;
        EXPECT_TRUE(event.args.emplace(Text(of.key), ArgText(of.type, value, event.correlation)).second);
      }
      events.push_back(event);
    }
    return rows.size();
  }

  std::vector<std::string> strings_{""};
  std::vector<ArgShape> shapes_{ArgShape()};
};

}  // namespace kprof
