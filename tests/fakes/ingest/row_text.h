// Rows of events as text, for tests: what they say, without the numbers that strings, tracks and shapes have where the
// rows lie.
//
//   slice 12500+250 0:stream 7 gemm/kernel #42 {device=0, grid=[1,2,3], ok=true}
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/trace/format/event_args.h"
#include "storage/trace/format/flow_rules.h"
#include "storage/trace/format/part_schema.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/write/segment_maker.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

struct RowNumbers {
  std::function<std::string(int64_t)> string;
  std::function<std::string(int64_t)> track;
  std::function<const ArgShape&(int64_t)> shape;
};

inline std::string ValueText(ArgType type, int64_t value, const RowNumbers& of) {
  switch (type) {
    case ArgType::kNull:
      return "null";
    case ArgType::kFalse:
      return "false";
    case ArgType::kTrue:
      return "true";
    case ArgType::kInteger:
      return std::to_string(value);
    case ArgType::kDecimal:
      return std::to_string(UnpackDecimal(value).digits) + "e-" + std::to_string(UnpackDecimal(value).places);
    case ArgType::kNumber:
      return "number " + of.string(value);
    case ArgType::kString:
      return "'" + of.string(value) + "'";
    case ArgType::kJson:
      return of.string(value);
    case ArgType::kCorrelation:
      return "#";
  }
  return "?";
}

inline std::vector<std::string> TextsOf(EventKind kind, const EventRows& rows, const RowNumbers& of) {
  std::vector<size_t> next(rows.args.size());
  std::vector<std::string> texts;
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto has = [&](EventColumn column) { return row < rows.of(column).size(); };
    const auto value = [&](EventColumn column) { return has(column) ? rows.of(column)[row] : kNoValue; };
    std::string text = std::string(EventKindName(kind)) + " " + std::to_string(value(EventColumn::kTime));
    if (has(EventColumn::kDuration)) {
      const int64_t duration = value(EventColumn::kDuration);
      text += duration == kNoValue ? "+?" : "+" + std::to_string(duration);
    }
    text += " " + of.track(value(EventColumn::kTrack));
    if (has(EventColumn::kName)) text += " " + of.string(value(EventColumn::kName));
    if (has(EventColumn::kCategory)) text += "/" + of.string(value(EventColumn::kCategory));
    if (value(EventColumn::kCorrelation) != kNoValue) text += " #" + std::to_string(value(EventColumn::kCorrelation));
    if (has(EventColumn::kValue)) text += " " + std::to_string(std::bit_cast<double>(value(EventColumn::kValue)));
    if (has(EventColumn::kFlowId)) {
      const int64_t flow_id = value(EventColumn::kFlowId);
      text += " id " + (IsNumberedFlow(flow_id) ? NumberedFlowText(flow_id) : of.string(flow_id));
    }
    if (value(EventColumn::kPhase) > 0) text += std::string(" ") + static_cast<char>(value(EventColumn::kPhase));
    if (has(EventColumn::kShape) && value(EventColumn::kShape) != kNoArgs) {
      const auto shape = static_cast<size_t>(value(EventColumn::kShape));
      const ArgShape& slots = of.shape(value(EventColumn::kShape));
      const size_t arg_row = next.at(shape)++;
      text += " {";
      for (size_t slot = 0; slot < slots.size(); ++slot) {
        const int64_t arg = HasColumn(slots[slot].type) ? rows.args.at(shape).at(slot).at(arg_row) : 0;
        text += (slot == 0 ? "" : ", ") + std::string(slots[slot].of_event ? "*" : "") + of.string(slots[slot].key) +
                "=" + ValueText(slots[slot].type, arg, of);
      }
      text += "}";
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

// Of a track that has no row yet: "pid:tid", "async pid:category:id", "counter pid:name:series".
inline std::string KeyText(const TrackKey& key, const std::function<std::string(int64_t)>& string) {
  switch (key.family) {
    case TrackKey::Family::kThread:
      return string(key.pid) + ":" + string(key.tid);
    case TrackKey::Family::kAsync:
      return "async " + string(key.pid) + ":" + string(key.name) + ":" + string(key.series);
    case TrackKey::Family::kCounter:
      return "counter " + string(key.pid) + ":" + string(key.name) + ":" + string(key.series);
  }
  return "?";
}

}  // namespace kprof
