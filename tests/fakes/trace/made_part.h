// A part of a trace made by hand, for tests: events with names instead of numbers. Needs storage/trace and nothing
// else.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/files.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/flow_rules.h"
#include "storage/trace/write/part_writer.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

struct MadeArg {
  std::string key;
  ArgType type = ArgType::kInteger;
  int64_t number = 0;  // of kInteger and kDecimal
  std::string text;    // of kString, kNumber and kJson
  bool of_event = false;
};
inline MadeArg IntegerArg(std::string key, int64_t value) {
  return {std::move(key), ArgType::kInteger, value, {}};
}
inline MadeArg TextArg(std::string key, std::string value) {
  return {std::move(key), ArgType::kString, 0, std::move(value)};
}

struct MadeEvent {
  int64_t time_ns = 0;
  int64_t duration_ns = kNoValue;
  int64_t track = 0;
  std::string name{};
  std::string category{};
  int64_t correlation = kNoValue;
  std::vector<MadeArg> args{};
  double value = 0;    // of a counter
  std::string flow{};  // the id of a flow
  char phase = 's';    // of a flow, and of metadata
};

class MadePart {
 public:
  explicit MadePart(size_t segment_rows = 64) : segment_rows_(segment_rows) { Number(""); }

  int64_t AddTrack(TrackRow track) {
    track.id = static_cast<uint32_t>(tracks_.size());
    tracks_.push_back(std::move(track));
    return tracks_.back().id;
  }
  void Add(EventKind kind, const MadeEvent& event) {
    EventRows& rows = batch_[kind];
    const auto add = [&](EventColumn column, int64_t value) { rows.of(column).push_back(value); };
    for (const EventColumn column : ColumnsOf(kind)) {
      switch (column) {
        case EventColumn::kTime:
          add(column, event.time_ns);
          break;
        case EventColumn::kDuration:
          add(column, event.duration_ns);
          break;
        case EventColumn::kTrack:
          add(column, event.track);
          break;
        case EventColumn::kName:
          add(column, Number(event.name));
          break;
        case EventColumn::kCategory:
          add(column, Number(event.category));
          break;
        case EventColumn::kCorrelation:
          add(column, event.correlation);
          break;
        case EventColumn::kValue:
          add(column, std::bit_cast<int64_t>(event.value));
          break;
        case EventColumn::kFlowId:
          add(column, FlowId(event.flow));
          break;
        case EventColumn::kPhase:
          add(column, event.phase);
          break;
        case EventColumn::kShape:
          add(column, AddArgs(rows, event.args));
          break;
        default:
          break;
      }
    }
  }
  // What was added so far becomes segments of its own, which those of later events may overlap.
  void Cut() { batches_.push_back(std::exchange(batch_, {})); }
  void SetFact(const std::string& name, const std::string& value) { facts_[name] = value; }

  void Write(const std::string& path) {
    Cut();
    const std::unique_ptr<Files> files = MakePosixFiles();
    auto writer = PartWriter::Create(*files, path);
    ASSERT_TRUE(writer.ok()) << writer.status().ToString();
    PartWriter& part = **writer;
    const auto expect = [](const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); };
    for (const auto& [text, number] : strings_) expect(part.AddString(static_cast<uint32_t>(number), text));
    for (const TrackRow& track : tracks_) expect(part.AddTrack(track));
    for (size_t i = 1; i < shapes_.size(); ++i) expect(part.AddShape(static_cast<uint32_t>(i), shapes_[i]));
    for (const auto& batch : batches_) {
      for (const auto& [kind, rows] : batch) {
        SegmentMaker maker(kind, rows, segment_rows_);
        for (size_t i = 0; i < maker.segments(); ++i) expect(part.AddSegment(maker.Encode(i)));
      }
    }
    for (const auto& [name, value] : facts_) expect(part.SetFact(name, value));
    const Result<int64_t> size = part.Finish({});
    EXPECT_TRUE(size.ok()) << size.status().ToString();
  }

 private:
  int64_t Number(const std::string& text) {
    return strings_.try_emplace(text, static_cast<int64_t>(strings_.size())).first->second;
  }
  int64_t FlowId(const std::string& text) {
    const std::optional<int64_t> numbered = NumberedFlowId(text);
    return numbered ? *numbered : Number(text);
  }
  int64_t AddArgs(EventRows& rows, const std::vector<MadeArg>& args) {
    if (args.empty()) return kNoArgs;
    ArgShape shape;
    for (const MadeArg& arg : args) shape.push_back({static_cast<uint32_t>(Number(arg.key)), arg.type, arg.of_event});
    const auto id = static_cast<size_t>(numbers_.try_emplace(shape, shapes_.size()).first->second);
    if (id == shapes_.size()) shapes_.push_back(shape);
    if (rows.args.size() <= id) rows.args.resize(id + 1);
    rows.args[id].resize(shape.size());
    for (size_t slot = 0; slot < args.size(); ++slot) {
      if (!HasColumn(args[slot].type)) continue;
      rows.args[id][slot].push_back(IsStringNumber(args[slot].type) ? Number(args[slot].text) : args[slot].number);
    }
    return static_cast<int64_t>(id);
  }

  const size_t segment_rows_;
  std::map<std::string, int64_t> strings_;
  std::vector<TrackRow> tracks_;
  std::vector<ArgShape> shapes_ = std::vector<ArgShape>(1);
  std::map<ArgShape, size_t> numbers_;
  std::map<EventKind, EventRows> batch_;
  std::vector<std::map<EventKind, EventRows>> batches_;
  std::map<std::string, std::string> facts_;
};

}  // namespace kprof
