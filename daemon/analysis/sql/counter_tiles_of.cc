// counter_tiles(1000): what to draw of counters in so many pixels, track by track (counter_tiles.h).
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/counter_tiles.h"
#include "daemon/analysis/sql/call_arguments.h"
#include "daemon/analysis/sql/keyed_rows.h"

namespace kprof {
namespace {

enum Column { kBegin, kEnd, kCount, kLeast, kMost, kMean, kValue, kLevel };

constexpr SliceField kShown[] = {SliceField::kRun, SliceField::kRank, SliceField::kTrackId};
constexpr FunctionColumn kColumns[] = {
    {.name = "begin_ns", .type = "INTEGER", .which = kBegin}, {.name = "end_ns", .type = "INTEGER", .which = kEnd},
    {.name = "count", .type = "INTEGER", .which = kCount},    {.name = "least", .type = "REAL", .which = kLeast},
    {.name = "most", .type = "REAL", .which = kMost},         {.name = "mean", .type = "REAL", .which = kMean},
    {.name = "value", .type = "REAL", .which = kValue},       {.name = "level", .type = "INTEGER", .which = kLevel},
};
constexpr const char* kArguments[] = {"pixels"};

class Points final : public FunctionAnswer {
 public:
  void Add(const OpenPart& part, const CounterTiles& tiles, int64_t from_ns) {
    for (const CounterTrack& track : tiles.tracks) {
      // What it was at the begin stands for no sample.
      if (track.before) {
        CounterPoint before{.time_ns = from_ns, .last_ns = from_ns, .last = *track.before};
        points_.push_back({before, &part, track.track, tiles.level});
      }
      for (const CounterPoint& point : track.points) points_.push_back({point, &part, track.track, tiles.level});
    }
  }

  size_t size() const override { return points_.size(); }
  int64_t size_bytes() const override { return static_cast<int64_t>(points_.size() * sizeof(Point)); }
  bool FieldResult(size_t row, SliceField field, sqlite3_context* out) const override {
    return ResultOfTrack(*points_[row].part, points_[row].track, field, out);
  }
  void Result(size_t row, int which, sqlite3_context* out) const override {
    const CounterPoint& point = points_[row].point;
    if (which == kBegin) return sqlite3_result_int64(out, point.time_ns);
    if (which == kEnd) return sqlite3_result_int64(out, point.last_ns);
    if (which == kCount) return sqlite3_result_int64(out, point.count);
    if (which == kValue) return sqlite3_result_double(out, point.last);
    if (which == kLevel) return sqlite3_result_int64(out, points_[row].level);
    if (point.count > 0) {
      sqlite3_result_double(out, which == kLeast ? point.min : which == kMost ? point.max : point.mean);
    }
  }

 private:
  struct Point {
    CounterPoint point;
    const OpenPart* part = nullptr;
    uint32_t track = 0;
    int level = 0;
  };
  std::vector<Point> points_;
};

Result<std::unique_ptr<FunctionAnswer>> Call(const FunctionCall& call) {
  ASSIGN_OR_RETURN(const int64_t pixels, PixelsOf(call, "samples"));
  const ChosenParts& chosen = call.slices.all();
  CounterLimits left;
  auto all = std::make_unique<Points>();
  for (size_t i = 0; i < chosen.parts.size(); ++i) {
    const std::optional<Viewport> viewport =
        ViewportOf(chosen.parts[i], EventKind::kCounter, call.slices.filter(), pixels);
    if (!viewport) continue;
    ASSIGN_OR_RETURN(const CounterTiles tiles, MakeCounterTiles(*chosen.parts[i].reader, *viewport, call.stop, left));
    if (!tiles.is_complete) {
      return FailCall(call.function,
                      "there is more to draw than " + std::to_string(CounterLimits().most_points) + " points",
                      "take fewer pixels, or fewer tracks: WHERE track_name GLOB '*power*'");
    }
    for (const CounterTrack& track : tiles.tracks) left.most_points -= track.points.size();
    all->Add(*chosen.open[i], tiles, viewport->from_ns);
  }
  return std::unique_ptr<FunctionAnswer>(std::move(all));
}

}  // namespace

TraceFunction CounterTilesOf() {
  return {"counter_tiles", std::size(kArguments), ColumnsOf(kShown, kColumns, kArguments), Call,
          [](FunctionArguments, SliceField field) { return field <= SliceField::kProcess; }};
}

}  // namespace kprof
