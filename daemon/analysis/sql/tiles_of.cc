// tiles(1000) and instant_tiles(1000): what to draw of slices, and of instants, in so many pixels, track by track
// (event_tiles.h).
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/event_tiles.h"
#include "daemon/analysis/sql/call_arguments.h"
#include "daemon/analysis/sql/keyed_rows.h"

namespace kprof {
namespace {

enum Column { kDepth, kBegin, kEnd, kCount, kBusy, kEvent, kLevel };

constexpr SliceField kShown[] = {SliceField::kRun, SliceField::kRank, SliceField::kTrackId, SliceField::kName};
constexpr SliceField kOfTrack[] = {SliceField::kRun, SliceField::kPart, SliceField::kRank, SliceField::kTrackId};
constexpr FunctionColumn kColumns[] = {
    {.name = "depth", .type = "INTEGER", .which = kDepth},  {.name = "begin_ns", .type = "INTEGER", .which = kBegin},
    {.name = "end_ns", .type = "INTEGER", .which = kEnd},   {.name = "count", .type = "INTEGER", .which = kCount},
    {.name = "busy_ns", .type = "INTEGER", .which = kBusy}, {.name = "slice_id", .type = "INTEGER", .which = kEvent},
    {.name = "level", .type = "INTEGER", .which = kLevel},
};
constexpr FunctionColumn kInstantColumns[] = {
    {.name = "begin_ns", .type = "INTEGER", .which = kBegin},
    {.name = "end_ns", .type = "INTEGER", .which = kEnd},
    {.name = "count", .type = "INTEGER", .which = kCount},
    {.name = "instant_id", .type = "INTEGER", .which = kEvent},
    {.name = "level", .type = "INTEGER", .which = kLevel},
};
constexpr const char* kArguments[] = {"pixels"};

class Tiles final : public FunctionAnswer {
 public:
  explicit Tiles(TraceSet& set) : tracks_(set, {std::begin(kOfTrack), std::end(kOfTrack)}) {}

  Status Add(OpenPart& part, const EventTiles& tiles) {
    std::map<int64_t, size_t> places;  // of its names
    for (const TileBox& box : tiles.boxes) {
      const int64_t track = part.IdOf(box.track);
      if (boxes_.empty() || last_track_ != track) AddTrack(part, track);
      const auto [place, is_new] = places.try_emplace(box.name, names_.size());
      if (is_new) {
        ASSIGN_OR_RETURN(const PartText text, part.ReadText(box.name));
        names_.emplace_back(text.view());
        name_bytes_ += static_cast<int64_t>(sizeof(std::string) + text.size);
      }
      const int64_t event = box.row == kNoValue ? kNoValue : part.IdOf(box.row);
      boxes_.push_back({box, tracks_.size() - 1, place->second, event, tiles.level});
    }
    return OkStatus();
  }

  size_t size() const override { return boxes_.size(); }
  int64_t size_bytes() const override {
    return tracks_.size_bytes() + name_bytes_ + static_cast<int64_t>(boxes_.size() * sizeof(Box));
  }
  bool FieldResult(size_t row, SliceField field, sqlite3_context* out) const override {
    const Box& box = boxes_[row];
    if (field != SliceField::kName) return tracks_.Field(box.track, field, out);
    ResultGroupValue(names_[box.name], out);
    return true;
  }
  void Result(size_t row, int which, sqlite3_context* out) const override {
    const Box& box = boxes_[row];
    if (which == kDepth) return sqlite3_result_int64(out, box.tile.depth);
    if (which == kBegin) return sqlite3_result_int64(out, box.tile.begin_ns);
    if (which == kEnd) return sqlite3_result_int64(out, box.tile.end_ns);
    if (which == kCount) return sqlite3_result_int64(out, box.tile.count);
    if (which == kBusy) return sqlite3_result_int64(out, box.tile.busy_ns);
    if (which == kLevel) return sqlite3_result_int64(out, box.level);
    if (box.event != kNoValue) sqlite3_result_int64(out, box.event);
  }

 private:
  struct Box {
    TileBox tile;
    size_t track = 0;  // its row
    size_t name = 0;
    int64_t event = kNoValue;
    int level = 0;
  };

  void AddTrack(const OpenPart& part, int64_t track) {
    GroupKey values;
    values.emplace_back(part.place().run);
    values.emplace_back(part.place().part);
    part.rank() ? values.emplace_back(*part.rank()) : values.emplace_back();
    values.emplace_back(track);
    tracks_.Add(std::move(values));
    last_track_ = track;
  }

  KeyedRows tracks_;
  int64_t last_track_ = 0;
  std::vector<std::string> names_;
  int64_t name_bytes_ = 0;
  std::vector<Box> boxes_;
};

using TileMaker = Result<EventTiles> (&)(PartReader&, const Viewport&, const StopSignal&, const TileLimits&);

// Of all chosen parts, up to the boxes of one.
Result<std::unique_ptr<FunctionAnswer>> Draw(const FunctionCall& call, EventKind kind, const char* what,
                                             TileMaker make) {
  ASSIGN_OR_RETURN(const int64_t pixels, PixelsOf(call, what));
  const ChosenParts& chosen = call.slices.all();
  TileLimits left;
  auto all = std::make_unique<Tiles>(call.set);
  for (size_t i = 0; i < chosen.parts.size(); ++i) {
    const std::optional<Viewport> viewport = ViewportOf(chosen.parts[i], kind, call.slices.filter(), pixels);
    if (!viewport) continue;
    ASSIGN_OR_RETURN(const EventTiles tiles, make(*chosen.parts[i].reader, *viewport, call.stop, left));
    if (!tiles.is_complete) {
      return FailCall(call.function, "there is more to draw than " + std::to_string(TileLimits().most_boxes) + " boxes",
                      "take fewer pixels, or fewer tracks: WHERE track_kind = 'gpu_stream'");
    }
    left.most_boxes -= tiles.boxes.size();
    RETURN_IF_ERROR(all->Add(*chosen.open[i], tiles));
  }
  return std::unique_ptr<FunctionAnswer>(std::move(all));
}

bool IsOfTracksOrName(FunctionArguments, SliceField field) {
  return field <= SliceField::kName;
}

}  // namespace

TraceFunction TilesOf() {
  return {"tiles", std::size(kArguments), ColumnsOf(kShown, kColumns, kArguments),
          [](const FunctionCall& call) { return Draw(call, EventKind::kSlice, "slices", MakeSliceTiles); },
          IsOfTracksOrName};
}

TraceFunction InstantTilesOf() {
  return {"instant_tiles", std::size(kArguments), ColumnsOf(kShown, kInstantColumns, kArguments),
          [](const FunctionCall& call) { return Draw(call, EventKind::kInstant, "instants", MakeInstantTiles); },
          IsOfTracksOrName};
}

}  // namespace kprof
