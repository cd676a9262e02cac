#include "daemon/ingest/assemble/batch_builder.h"

#include <bit>
#include <optional>
#include <utility>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/text/environment_text.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/flow_rules.h"

namespace kprof {
namespace {

// A shape is columns of its own in every segment. Real sources have some tens; one that has more than this was made to,
// and its further arguments are kept as one text each.
constexpr size_t kMostBatchShapes = 4096;

}  // namespace

BatchBuilder::BatchBuilder(BatchSink& sink) : sink_(sink) {}

uint32_t BatchBuilder::Text(std::string_view text) {
  const uint32_t id = texts_.Add(text);
  if (id < of_texts_.size()) return of_texts_[id];
  of_texts_.push_back(0);
  if (const std::optional<std::string> without = TextWithoutEnvironment(text)) {
    ++changed_texts_;
    const uint32_t number = Text(*without);
    of_texts_[id] = number;
  } else {
    of_texts_[id] = NewString(kPlainText, text, {false, id});
  }
  return of_texts_[id];
}

uint32_t BatchBuilder::Json(std::string_view json) {
  const uint32_t id = jsons_.Add(json);
  if (id == of_jsons_.size()) of_jsons_.push_back(NewString(kJsonText, json, {true, id}));
  return of_jsons_[id];
}

uint32_t BatchBuilder::NewString(char prefix, std::string_view text, Place place) {
  std::string& added = batch_.strings.emplace_back(1, prefix);
  added += text;
  text_bytes_ += added.size();
  places_.push_back(place);
  return static_cast<uint32_t>(places_.size() - 1);
}

uint32_t BatchBuilder::AddTrack(const TrackKey& key, TrackRow row) {
  row.id = tracks_;
  batch_.tracks.push_back(key);
  batch_.known_tracks.push_back(std::move(row));
  return tracks_++;
}

void BatchBuilder::AddSlice(const Event& event, int64_t duration_ns, int64_t correlation) {
  EventRows& rows = AddRow(EventKind::kSlice, event);
  rows.of(EventColumn::kDuration).push_back(duration_ns);
  rows.of(EventColumn::kCorrelation).push_back(correlation);
}

void BatchBuilder::AddInstant(const Event& event) {
  AddRow(EventKind::kInstant, event);
}

void BatchBuilder::AddMetadata(const Event& event) {
  AddRow(EventKind::kMetadata, event).of(EventColumn::kPhase).push_back('M');
}

void BatchBuilder::AddCounter(int64_t time_ns, uint32_t track, double value, std::span<const EventArg> written) {
  EventRows& rows = batch_.of(EventKind::kCounter);
  rows.of(EventColumn::kTime).push_back(time_ns);
  rows.of(EventColumn::kTrack).push_back(track);
  rows.of(EventColumn::kValue).push_back(std::bit_cast<int64_t>(value));
  AddArgs(rows, written);
  ++rows_;
  ++events_;
}

void BatchBuilder::AddFlow(const Event& event, uint64_t id, char phase) {
  const std::string text = std::to_string(id);
  const std::optional<int64_t> numbered = NumberedFlowId(text);
  const int64_t flow_id = numbered ? *numbered : int64_t{Text(text)};
  // An end without a word touches the next slice.
  const EventArg enclosing{Text("bp"), ArgType::kString, int64_t{Text("e")}, true};
  Event point = event;
  if (phase == 'f') point.args = std::span(&enclosing, 1);
  EventRows& rows = AddRow(EventKind::kFlow, point);
  rows.of(EventColumn::kFlowId).push_back(flow_id);
  rows.of(EventColumn::kPhase).push_back(phase);
}

void BatchBuilder::AddSideRow(const SideTable& table, std::span<const int64_t> values) {
  // Comparing all columns of a table for each of its rows takes longer than to keep the row.
  if (&table != last_table_) {
    last_side_ = static_cast<size_t>(&batch_.of(table) - batch_.side.data());
    last_table_ = &table;
  }
  batch_.side[last_side_].Add(values);
  ++rows_;
}

EventRows& BatchBuilder::AddRow(EventKind kind, const Event& event) {
  EventRows& rows = batch_.of(kind);
  rows.of(EventColumn::kTime).push_back(event.time_ns);
  rows.of(EventColumn::kTrack).push_back(event.track);
  rows.of(EventColumn::kName).push_back(event.name);
  rows.of(EventColumn::kCategory).push_back(event.category);
  AddArgs(rows, event.args);
  ++rows_;
  ++events_;
  return rows;
}

void BatchBuilder::AddArgs(EventRows& rows, std::span<const EventArg> args) {
  if (args.empty()) {
    rows.of(EventColumn::kShape).push_back(kNoArgs);
    return;
  }
  EventArg json;
  if (shapes_.size() > kMostBatchShapes) {
    json = AsJson(args);
    args = std::span(&json, 1);
  }
  const uint32_t shape = ShapeOf(args);
  rows.of(EventColumn::kShape).push_back(shape);
  if (shape != kNoArgs) {
    if (rows.args.size() <= shape) rows.args.resize(shape + 1);
    std::vector<std::vector<int64_t>>& columns = rows.args[shape];
    columns.resize(args.size());
    for (size_t i = 0; i < args.size(); ++i) {
      if (HasColumn(args[i].type)) columns[i].push_back(args[i].value);
    }
  }
}

uint32_t BatchBuilder::ShapeOf(std::span<const EventArg> args) {
  bool is_last = shape_.size() == args.size();
  for (size_t i = 0; is_last && i < args.size(); ++i) {
    is_last = shape_[i].key == args[i].key && shape_[i].type == args[i].type && shape_[i].of_event == args[i].of_event;
  }
  if (is_last) return shape_number_;
  shape_.clear();
  for (const EventArg& arg : args) shape_.push_back({arg.key, arg.type, arg.of_event});
  const auto [found, is_new] = shapes_.try_emplace(shape_, static_cast<uint32_t>(shapes_.size()));
  if (is_new) batch_.shapes.push_back(shape_);
  return shape_number_ = found->second;
}

std::string_view BatchBuilder::TextOf(uint32_t number) const {
  const Place& place = places_[number];
  return place.is_json ? jsons_.Text(place.id) : texts_.Text(place.id);
}

EventArg BatchBuilder::AsJson(std::span<const EventArg> args) {
  std::string json = "{";
  for (const EventArg& arg : args) {
    if (json.size() > 1) json += ',';
    AppendJsonString(json, TextOf(arg.key));
    json += ':';
    switch (arg.type) {
      case ArgType::kNull:
        json += "null";
        break;
      case ArgType::kFalse:
        json += "false";
        break;
      case ArgType::kTrue:
        json += "true";
        break;
      case ArgType::kInteger:
      case ArgType::kCorrelation:
        json += std::to_string(arg.value);
        break;
      case ArgType::kDecimal: {
        const ArgDecimal decimal = UnpackDecimal(arg.value);
        json += std::to_string(decimal.digits) + "e-" + std::to_string(decimal.places);
        break;
      }
      case ArgType::kString:
        AppendJsonString(json, TextOf(static_cast<uint32_t>(arg.value)));
        break;
      case ArgType::kNumber:
      case ArgType::kJson:
        json += TextOf(static_cast<uint32_t>(arg.value));
        break;
    }
  }
  return {Text("args"), ArgType::kJson, Json(json + "}")};
}

Status BatchBuilder::Give() {
  rows_ = 0;
  text_bytes_ = 0;
  last_table_ = nullptr;
  return sink_.Take(std::exchange(batch_, TraceBatch()));
}

}  // namespace kprof
