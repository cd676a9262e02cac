#include "daemon/analysis/sql/call_arguments.h"

#include <algorithm>
#include <string>

namespace kprof {
namespace {

constexpr int64_t kMostPixels = 65'536;
constexpr int64_t kPixelsByDefault = 1'000;

bool IsOfAllEvents(const EventFilter& filter) {
  return filter.names.empty() && filter.categories.empty() && !filter.accepts_name && !filter.accepts_category &&
         !filter.first_begin_ns && !filter.last_begin_ns && !filter.least_duration_ns && !filter.most_duration_ns &&
         filter.not_durations_ns.empty() && !filter.only_without_end;
}

}  // namespace

Result<int64_t> PixelsOf(const FunctionCall& call, const char* what) {
  ASSIGN_OR_RETURN(const int64_t pixels, NumberArgument(call, 0, "pixels", 1, kMostPixels, kPixelsByDefault));
  const EventFilter& filter = call.slices.filter();
  if (!IsOfAllEvents(filter)) {
    return FailCall(call.function,
                    std::string("what is drawn is all ") + what + " of a track, and WHERE leaves some out",
                    "choose by the columns of tracks, and by from_ns and to_ns");
  }
  if (filter.from_ns && filter.to_ns && *filter.from_ns >= *filter.to_ns) {
    return FailCall(call.function, "from_ns is not before to_ns", "give a stretch of time from_ns to to_ns");
  }
  return pixels;
}

std::optional<Viewport> ViewportOf(const TracePart& part, EventKind kind, const EventFilter& filter, int64_t pixels) {
  const std::span<const Segment> segments = part.reader->segments(kind);
  if (segments.empty()) return std::nullopt;
  Viewport viewport{.from_ns = segments[0].min_time_ns, .to_ns = segments[0].max_end_ns};
  for (const Segment& segment : segments) {
    viewport.from_ns = std::min(viewport.from_ns, segment.min_time_ns);
    viewport.to_ns = std::max(viewport.to_ns, segment.max_end_ns);
  }
  viewport.from_ns = filter.from_ns.value_or(viewport.from_ns);
  viewport.to_ns = filter.to_ns.value_or(std::max(viewport.to_ns, viewport.from_ns) + 1);
  if (viewport.from_ns >= viewport.to_ns) return std::nullopt;
  viewport.pixels = static_cast<int>(pixels);
  for (size_t track = 0; part.tracks != nullptr && track < part.tracks->size(); ++track) {
    if ((*part.tracks)[track] != 0) viewport.tracks.push_back(static_cast<uint32_t>(track));
  }
  return viewport;
}

}  // namespace kprof
