#include "daemon/ingest/assemble/trace_assembler.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <utility>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/source/source_formats.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/event_time.h"
#include "storage/trace/format/flow_rules.h"

namespace kprof {

std::vector<std::string> DepthWarnings(const MadeDepths& made) {
  std::vector<std::string> warnings;
  if (made.crowded > 0) {
    warnings.push_back(std::to_string(made.crowded) +
                       " slices are in more others than are kept open at once: what is in them is drawn beside them");
  }
  if (made.without > 0) {
    warnings.push_back(
        std::to_string(made.without) +
        " slices have no depth, and are drawn in no overview: their track has too many in no order of time");
  }
  return warnings;
}

namespace {

constexpr EventColumn kStringColumns[] = {EventColumn::kName, EventColumn::kCategory};

// `is_most`: with all the memory that counts (ReadingLimits).
Status TooMuch(const char* what, std::string why, bool is_most) {
  return Fail(ErrorCode::kBadInput, what, std::move(why),
              is_most ? "import it in parts: no setting allows more"
                      : "raise [import] memory_megabytes, of which up to " + std::to_string(kMemoryForAllLimits >> 20) +
                            " count");
}

void AppendTo(std::vector<int64_t>& to, std::vector<int64_t>& from) {
  if (to.empty()) {
    to.swap(from);
  } else {
    to.insert(to.end(), from.begin(), from.end());
  }
}

void AppendTo(EventRows& to, EventRows& from, size_t most_rows) {
  for (size_t column = 0; column < kEventColumns; ++column) {
    if (!from.columns[column].empty()) to.columns[column].reserve(most_rows);
    to.columns[column].insert(to.columns[column].end(), from.columns[column].begin(), from.columns[column].end());
  }
  if (to.args.size() < from.args.size()) to.args.resize(from.args.size());
  for (size_t shape = 0; shape < from.args.size(); ++shape) {
    if (to.args[shape].size() < from.args[shape].size()) to.args[shape].resize(from.args[shape].size());
    for (size_t slot = 0; slot < from.args[shape].size(); ++slot) {
      AppendTo(to.args[shape][slot], from.args[shape][slot]);
    }
  }
}

}  // namespace

TraceAssembler::TraceAssembler(PartSink& part, WorkerPool& pool, const AssemblerLimits& limits)
    : part_(part),
      pool_(pool),
      limits_(limits),
      shapes_(1),
      facts_(strings_, shapes_, tracks_),
      spans_(
          shapes_, [this](const ArgShape& shape) { return Shape(shape); }, limits.open_spans),
      levels_(
          [this](const EncodedSegment& segment) { return part_.AddSegment(segment); },
          [this](const std::function<void()>& first, const std::function<void()>& second) { Beside(first, second); }),
      totals_([this](const EncodedSegment& segment) {
        totals_made_.push_back(segment);
        return OkStatus();
      }),
      side_(part, pool) {
  shape_numbers_.emplace(ArgShape(), kNoArgs);
}

TraceAssembler::~TraceAssembler() = default;

Status TraceAssembler::Begin() {
  if (std::exchange(began_, true)) return OkStatus();
  return part_.AddString(0, "");
}

Status TraceAssembler::AddNumbersOf(const TraceBatch& batch) {
  RETURN_IF_ERROR(Begin());
  Source& source = sources_[batch.source];
  for (const std::string& text : batch.strings) {
    ASSIGN_OR_RETURN(const uint32_t number, String(TextOfBatch(text)));
    source.strings.push_back(number);
  }
  const auto key_here = [&](const TrackKey& key) {
    return TrackKey{key.family, source.strings[key.pid], source.strings[key.tid], source.strings[key.name],
                    source.strings[key.series]};
  };
  for (const TrackKey& key : batch.tracks) {
    ASSIGN_OR_RETURN(const uint32_t number, Track(key_here(key)));
    source.tracks.push_back(number);
  }
  for (ArgShape shape : batch.shapes) {
    for (ArgSlot& slot : shape) slot.key = source.strings[slot.key];
    ASSIGN_OR_RETURN(const uint32_t number, Shape(shape));
    source.shapes.push_back(number);
  }
  for (TrackRow track : batch.known_tracks) {
    track.id = source.tracks[track.id];
    facts_.SeeKnown(track);
  }
  for (const ToldTrack& told : batch.told_tracks) facts_.SeeTold({key_here(told.key), told.row});
  for (ToldName told : batch.told_names) {
    told.thread = key_here(told.thread);
    told.what = source.strings[told.what];
    told.name = source.strings[told.name];
    facts_.SeeTold(told);
  }
  return OkStatus();
}

void TraceAssembler::CountFrom(int64_t base_ns) {
  if (!base_ns_ && base_ns > -kMostTimeNs / 2 && base_ns < kMostTimeNs / 2) base_ns_ = base_ns;
}

Status TraceAssembler::Add(TraceBatch batch) {
  RETURN_IF_ERROR(AddNumbersOf(batch));
  const Source& source = sources_[batch.source];
  CountFromBase(batch.rows);
  for (EventRows& rows : batch.rows) RETURN_IF_ERROR(Renumber(source, rows));
  facts_.SeeMetadata(batch.of(EventKind::kMetadata));
  RETURN_IF_ERROR(
      spans_.Take(batch.of(EventKind::kMetadata), batch.of(EventKind::kSlice), batch.of(EventKind::kInstant)));
  facts_.SeeSlices(batch.of(EventKind::kSlice));
  for (size_t kind = 0; kind < kEventKinds; ++kind) AppendTo(rows_[kind], batch.rows[kind], limits_.rows_at_once);
  for (SideRows& rows : batch.side) RETURN_IF_ERROR(AddSide(source, std::move(rows)));
  RETURN_IF_ERROR(side_.Flush());
  return FlushFull(limits_.rows_at_once);
}

Status TraceAssembler::Finish() {
  RETURN_IF_ERROR(Begin());
  RETURN_IF_ERROR(spans_.TakeOpen(rows_[IndexOf(EventKind::kSlice)]));
  RETURN_IF_ERROR(FlushFull(1));
  RETURN_IF_ERROR(side_.Finish());
  if (nests_here_) RETURN_IF_ERROR(levels_.Finish());
  RETURN_IF_ERROR(totals_.Finish());
  for (const EncodedSegment& segment : totals_made_) RETURN_IF_ERROR(part_.AddSegment(segment));
  if (crowded_slices() > 0) RETURN_IF_ERROR(part_.SetFact("slices_too_deep", crowded_slices()));
  for (uint32_t track = 0; track < tracks_.size(); ++track) RETURN_IF_ERROR(part_.AddTrack(facts_.Describe(track)));
  return OkStatus();
}

Status TraceAssembler::AddSide(const Source& source, SideRows rows) {
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    if (rows.table.columns[i].type != SideType::kText) continue;
    for (int64_t& value : rows.columns[i]) {
      if (value != kNoValue) value = source.strings[static_cast<size_t>(value)];
    }
  }
  return side_.Add(std::move(rows));
}

Result<uint32_t> TraceAssembler::String(std::string_view text) {
  const uint32_t size = strings_.size();
  const uint32_t number = strings_.Add(text);
  if (number < size) return number;
  if (strings_.size_bytes() > limits_.text_bytes) {
    return TooMuch("keep its texts",
                   "its different names and texts are more than " + std::to_string(limits_.text_bytes >> 20) + " MiB",
                   limits_.text_bytes >= ReadingLimits().text_bytes);
  }
  RETURN_IF_ERROR(part_.AddString(number, text));
  return number;
}

Result<uint32_t> TraceAssembler::Shape(const ArgShape& shape) {
  const auto [found, is_new] = shape_numbers_.try_emplace(shape, static_cast<uint32_t>(shapes_.size()));
  if (is_new) {
    if (shapes_.size() >= limits_.shapes) {
      return TooMuch("keep its arguments",
                     "it has more than " + std::to_string(limits_.shapes) + " kinds of argument lists",
                     limits_.shapes >= ReadingLimits().shapes);
    }
    shapes_.push_back(shape);
    RETURN_IF_ERROR(part_.AddShape(found->second, shape));
  }
  return found->second;
}

Result<uint32_t> TraceAssembler::Track(const TrackKey& key) {
  const auto [found, is_new] = track_numbers_.try_emplace(key, static_cast<uint32_t>(tracks_.size()));
  if (is_new) {
    if (tracks_.size() >= limits_.tracks) {
      return TooMuch("keep its tracks",
                     "it has more than " + std::to_string(limits_.tracks) +
                         " tracks, which each thread, counter and id of async events is",
                     limits_.tracks >= ReadingLimits().tracks);
    }
    tracks_.push_back(key);
  }
  return found->second;
}

// What tells of tracks may be of no time, which is 0 in its source, and here.
void TraceAssembler::CountFromBase(std::array<EventRows, kEventKinds>& rows) {
  const auto has_time = [](const EventRows& of_kind, size_t row) {
    const std::vector<int64_t>& phases = of_kind.of(EventColumn::kPhase);
    return of_kind.of(EventColumn::kTime)[row] != 0 || phases.empty() || phases[row] != 'M';
  };
  if (!base_ns_) {
    for (const EventRows& of_kind : rows) {
      for (size_t row = 0; row < of_kind.size(); ++row) {
        const int64_t time = of_kind.of(EventColumn::kTime)[row];
        if (has_time(of_kind, row) && (!base_ns_ || time < *base_ns_)) base_ns_ = time;
      }
    }
  }
  const int64_t base = base_ns_.value_or(0);
  for (EventRows& of_kind : rows) {
    for (size_t row = 0; row < of_kind.size(); ++row) {
      if (has_time(of_kind, row)) of_kind.of(EventColumn::kTime)[row] -= base;
    }
  }
}

Status TraceAssembler::Renumber(const Source& source, EventRows& rows) {
  for (const EventColumn column : kStringColumns) {
    for (int64_t& value : rows.of(column)) value = source.strings[static_cast<size_t>(value)];
  }
  for (int64_t& value : rows.of(EventColumn::kFlowId)) {
    if (!IsNumberedFlow(value)) value = source.strings[static_cast<size_t>(value)];
  }
  for (int64_t& value : rows.of(EventColumn::kTrack)) value = source.tracks[static_cast<size_t>(value)];
  for (int64_t& value : rows.of(EventColumn::kShape)) value = source.shapes[static_cast<size_t>(value)];
  std::vector<std::vector<std::vector<int64_t>>> args;
  for (size_t shape = 0; shape < rows.args.size(); ++shape) {
    if (rows.args[shape].empty()) continue;
    const uint32_t number = source.shapes[shape];
    for (size_t slot = 0; slot < rows.args[shape].size(); ++slot) {
      if (!IsStringNumber(shapes_[number][slot].type)) continue;
      for (int64_t& value : rows.args[shape][slot]) value = source.strings[static_cast<size_t>(value)];
    }
    if (args.size() <= number) args.resize(number + 1);
    args[number] = std::move(rows.args[shape]);
  }
  rows.args = std::move(args);
  return OkStatus();
}

// Rows of a kind on their way to the part: the pool encodes them, as long as this is there.
struct TraceAssembler::Flushing {
  Flushing(EventKind of, EventRows taken)
      : kind(of), rows(std::move(taken)), maker(of, rows), segments(maker.segments()) {}

  // Once, each.
  EncodedSegment Wait(size_t i) {
    std::unique_lock lock(mu);
    encoded.wait(lock, [&] { return segments[i].has_value(); });
    return *std::move(segments[i]);
  }

  const EventKind kind;
  EventRows rows;
  SegmentMaker maker;
  std::vector<uint32_t> order;  // by time: the maker's changes while it encodes
  std::mutex mu;
  std::condition_variable encoded;
  std::vector<std::optional<EncodedSegment>> segments;
};

Status TraceAssembler::FlushFull(size_t least_rows) {
  std::vector<std::unique_ptr<Flushing>> all;
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    if (rows_[kind].size() >= least_rows) all.push_back(StartFlush(static_cast<EventKind>(kind + 1)));
  }
  Status status;
  for (const std::unique_ptr<Flushing>& flushing : all) status = FinishFlush(*flushing, std::move(status));
  return status;
}

std::unique_ptr<TraceAssembler::Flushing> TraceAssembler::StartFlush(EventKind kind) {
  auto flushing = std::make_unique<Flushing>(kind, std::exchange(rows_[IndexOf(kind)], {}));
  const std::span<const uint32_t> order = flushing->maker.order();
  flushing->order.assign(order.begin(), order.end());
  for (size_t i = 0; i < flushing->segments.size(); ++i) {
    auto encode = [&into = *flushing, i] {
      EncodedSegment segment = into.maker.Encode(i);
      const std::scoped_lock lock(into.mu);
      into.segments[i] = std::move(segment);
      into.encoded.notify_one();
    };
    if (!pool_.Submit(encode).ok()) encode();  // its queue is full: then here
  }
  return flushing;
}

// All of it is waited for, also after a failure before: the pool works on what is in it.
Status TraceAssembler::FinishFlush(Flushing& flushing, Status status) {
  EventRows& rows = flushing.rows;
  if (status.ok() && flushing.kind == EventKind::kSlice) {  // while others encode
    Status totals;
    Beside([&] { status = AddDepths(rows, flushing.order); }, [&] { totals = totals_.Add(rows); });
    for (const EncodedSegment& segment : std::exchange(totals_made_, {})) {
      if (totals.ok()) totals = part_.AddSegment(segment);
    }
    if (status.ok()) status = std::move(totals);
  }
  std::vector<EncodedSegment> segments;
  for (size_t i = 0; i < flushing.segments.size(); ++i) segments.push_back(flushing.Wait(i));
  if (status.ok() && flushing.kind == EventKind::kSlice && nests_here_) {
    const auto encode_depths = [&](size_t first) {
      for (size_t i = first; i < segments.size(); i += 2) {
        flushing.maker.EncodeAlso(i, EventColumn::kDepth, segments[i]);
      }
    };
    Beside([&] { encode_depths(0); }, [&] { encode_depths(1); });
  }
  for (const EncodedSegment& segment : segments) {
    if (status.ok()) status = part_.AddSegment(segment);
  }
  return status;
}

// As long as each track goes on where it ended, and the levels go for what comes.
Status TraceAssembler::AddDepths(EventRows& rows, const std::vector<uint32_t>& order) {
  if (!nests_here_) return OkStatus();
  const std::vector<int64_t>& times = rows.of(EventColumn::kTime);
  const std::vector<int64_t>& durations = rows.of(EventColumn::kDuration);
  const std::vector<int64_t>& tracks = rows.of(EventColumn::kTrack);
  const std::vector<int64_t>& names = rows.of(EventColumn::kName);
  last_slices_.resize(tracks_.size());
  for (size_t row = 0; row < rows.size() && nests_here_; ++row) {
    const LastSlice& last = last_slices_[static_cast<size_t>(tracks[row])];
    nests_here_ = times[row] > last.time || (times[row] == last.time && durations[row] <= last.duration);
  }
  if (!nests_here_) return OkStatus();
  std::vector<int64_t>& depths = rows.of(EventColumn::kDepth);
  depths.resize(rows.size());
  for (const uint32_t row : order) {
    last_slices_[static_cast<size_t>(tracks[row])] = {times[row], durations[row]};
    depths[row] = nesting_.Add(times[row], durations[row], tracks[row]);
  }
  RETURN_IF_ERROR(levels_.Add(order, [&](uint32_t row) {
    return DetailSlice{times[row], durations[row], tracks[row], depths[row], names[row]};
  }));
  nests_here_ = !levels_.IsTooCoarse();
  return OkStatus();
}

// The second on the pool, if it takes it.
void TraceAssembler::Beside(const std::function<void()>& first, const std::function<void()>& second) {
  const auto done =
      std::make_shared<std::promise<void>>();  // outlasts both: who waits may go before it has been set whole
  const auto run = [&second, done] {
    second();
    done->set_value();
  };
  if (!pool_.Submit(run).ok()) run();
  first();
  done->get_future().wait();
}

}  // namespace kprof
