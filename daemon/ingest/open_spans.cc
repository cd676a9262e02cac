#include "daemon/ingest/open_spans.h"

#include <algorithm>
#include <string>
#include <utility>

#include "storage/trace/part_schema.h"

namespace kprof {
namespace {

bool IsSpanPhase(int64_t phase) {
  return phase == 'B' || phase == 'E' || phase == 'b' || phase == 'e' || phase == 'n';
}

}  // namespace

OpenSpans::OpenSpans(const std::vector<ArgShape>& shapes, Number number, size_t limit)
    : shapes_(shapes), number_(std::move(number)), limit_(limit) {}

Status OpenSpans::Take(EventRows& metadata, EventRows& slices, EventRows& instants) {
  const std::vector<int64_t>& phases = metadata.of(EventColumn::kPhase);
  if (std::none_of(phases.begin(), phases.end(), IsSpanPhase)) return OkStatus();
  const EventRows rows = std::exchange(metadata, {});
  std::vector<size_t> counts(rows.args.size());
  for (size_t row = 0; row < rows.size(); ++row) {
    Event event = Read(rows, row, counts);
    switch (event.phase) {
      case 'B':
      case 'b':
        if (++open_count_ > limit_) {
          return Fail(ErrorCode::kBadInput, "put begins and ends together",
                      "more than " + std::to_string(limit_) + " have begun and not ended");
        }
        open_[event.track].push_back(std::move(event));
        break;
      case 'E':
      case 'e':
        RETURN_IF_ERROR(End(event, metadata, slices));
        break;
      case 'n':
        Write(event, instants);
        break;
      default:
        Write(event, metadata);
        metadata.of(EventColumn::kPhase).push_back(event.phase);
    }
  }
  return OkStatus();
}

Status OpenSpans::TakeOpen(EventRows& slices) {
  for (auto& [track, events] : open_) {
    for (const Event& event : events) {
      Write(event, slices);
      slices.of(EventColumn::kDuration).push_back(kNoValue);
      slices.of(EventColumn::kCorrelation).push_back(kNoValue);
      ++begins_alone_;
    }
  }
  open_.clear();
  return OkStatus();
}

// The last one that began: on an async track of the same name, where there is one.
Status OpenSpans::End(const Event& end, EventRows& metadata, EventRows& slices) {
  std::vector<Event>& open = open_[end.track];
  if (open.empty()) {
    ++ends_alone_;
    Write(end, metadata);
    metadata.of(EventColumn::kPhase).push_back(end.phase);
    return OkStatus();
  }
  auto begin = open.end() - 1;
  if (end.phase == 'e') {
    const auto same = std::find_if(open.rbegin(), open.rend(), [&](const Event& e) { return e.name == end.name; });
    if (same != open.rend()) begin = same.base() - 1;
  }
  Event span = std::move(*begin);
  open.erase(begin);
  --open_count_;
  if (shapes_[span.shape].size() + shapes_[end.shape].size() > kMostShapeSlots) {  // those of the end stay with it
    Write(end, metadata);
    metadata.of(EventColumn::kPhase).push_back(end.phase);
  } else if (end.shape != kNoArgs) {
    ArgShape both = shapes_[span.shape];
    both.insert(both.end(), shapes_[end.shape].begin(), shapes_[end.shape].end());
    ASSIGN_OR_RETURN(span.shape, number_(both));
    span.args.insert(span.args.end(), end.args.begin(), end.args.end());
  }
  Write(span, slices);
  slices.of(EventColumn::kDuration).push_back(end.time >= span.time ? end.time - span.time : kNoValue);
  slices.of(EventColumn::kCorrelation).push_back(kNoValue);
  return OkStatus();
}

OpenSpans::Event OpenSpans::Read(const EventRows& rows, size_t row, std::vector<size_t>& counts) const {
  Event event;
  event.time = rows.of(EventColumn::kTime)[row];
  event.track = rows.of(EventColumn::kTrack)[row];
  event.name = rows.of(EventColumn::kName)[row];
  event.category = rows.of(EventColumn::kCategory)[row];
  event.phase = rows.of(EventColumn::kPhase)[row];
  event.shape = static_cast<uint32_t>(rows.of(EventColumn::kShape)[row]);
  if (event.shape == kNoArgs) return event;
  const size_t arg_row = counts[event.shape]++;
  for (const std::vector<int64_t>& slot : rows.args[event.shape]) {
    event.args.push_back(arg_row < slot.size() ? slot[arg_row] : 0);
  }
  return event;
}

void OpenSpans::Write(const Event& event, EventRows& rows) const {
  rows.of(EventColumn::kTime).push_back(event.time);
  rows.of(EventColumn::kTrack).push_back(event.track);
  rows.of(EventColumn::kName).push_back(event.name);
  rows.of(EventColumn::kCategory).push_back(event.category);
  rows.of(EventColumn::kShape).push_back(event.shape);
  if (event.shape == kNoArgs) return;
  if (rows.args.size() <= event.shape) rows.args.resize(event.shape + 1);
  const ArgShape& shape = shapes_[event.shape];
  std::vector<std::vector<int64_t>>& slots = rows.args[event.shape];
  slots.resize(shape.size());
  for (size_t slot = 0; slot < shape.size(); ++slot) {
    if (HasColumn(shape[slot].type)) slots[slot].push_back(event.args[slot]);
  }
}

}  // namespace kprof
