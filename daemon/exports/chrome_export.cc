#include "daemon/exports/chrome_export.h"

#include <bit>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/exports/chrome_event.h"
#include "daemon/exports/chrome_export_facts.h"
#include "daemon/exports/json_bytes.h"
#include "daemon/exports/segment_rows.h"
#include "daemon/exports/track_places.h"
#include "daemon/ingest/text/environment_text.h"
#include "storage/trace/format/event_time.h"
#include "storage/trace/format/flow_rules.h"

namespace kprof {
namespace {

constexpr std::string_view kSourceFact = "source.";
// So that ids of all parts are different, and integers of JavaScript.
constexpr int64_t kIdsOfPart = int64_t{1} << 40;
constexpr size_t kMostNumberedParts = 1 << 12;
constexpr std::string_view kNoCategory = ",\"cat\":\"\"";
constexpr EventKind kKinds[] = {EventKind::kMetadata, EventKind::kSlice, EventKind::kInstant, EventKind::kCounter,
                                EventKind::kFlow};

std::string AsMember(std::string_view key, std::string_view value) {
  std::string out;
  AppendJsonText(out, key);
  out += ':';
  const bool is_text = value.size() > 1 && value.front() == '"' && value.back() == '"';
  const std::string without = WithoutEnvironment(value, EnvironmentKept::kNone);
  if (is_text) {
    out += without;
  } else {
    AppendRawJson(out, without);
  }
  return out;
}

// One part into a list of events that has begun.
class PartEvents {
 public:
  PartEvents(PartReader& part, std::vector<TrackPlace> places, int64_t zero_ns, std::optional<size_t> number,
             bool& is_first, std::set<std::string>& told_processes, ExportOutput& output)
      : part_(part),
        places_(std::move(places)),
        zero_ns_(zero_ns),
        number_(number),
        is_first_(is_first),
        told_processes_(told_processes),
        output_(output),
        texts_(part),
        listing_(part.tracks(), places_),
        counters_(places_) {
    for (const TrackPlace& place : places_) {
      std::string json;
      if (!place.pid.empty()) {
        json += ",\"pid\":";
        AppendNumberOrText(json, place.pid);
      }
      if (place.family == TrackPlace::Family::kThread && !place.tid.empty()) {
        json += ",\"tid\":";
        AppendNumberOrText(json, place.tid);
      }
      place_json_.push_back(std::move(json));
    }
  }

  // What tells of tracks comes first, and with it the ends that have no begin: so that they find none.
  Status Write() {
    for (const EventKind kind : kKinds) {
      for (const Segment& segment : part_.segments(kind)) {
        ASSIGN_OR_RETURN(SegmentRows rows, SegmentRows::Read(part_, segment));
        if (kind == EventKind::kCounter) {
          RETURN_IF_ERROR(WriteCounters(rows));
          continue;
        }
        for (size_t row = 0; row < rows.size(); ++row) {
          RETURN_IF_ERROR(WriteRow(kind, rows, row));
          RETURN_IF_ERROR(output_.Step());
          texts_.Trim();
        }
      }
      if (kind == EventKind::kMetadata) WriteNames();
    }
    return OkStatus();
  }

  // What its events do not say of its tracks; once they are written.
  std::string TrackList() const { return listing_.Json(); }

 private:
  std::string& out() { return output_.bytes(); }

  void BeginEvent(char phase) {
    out() += std::exchange(is_first_, false) ? "\n{\"ph\":" : ",\n{\"ph\":";
    AppendJsonText(out(), std::string_view(&phase, 1));
  }

  Result<const ChromeShape*> ShapeOf(uint32_t number) {
    const auto found = shapes_.find(number);
    if (found != shapes_.end()) return &found->second;
    ASSIGN_OR_RETURN(ChromeShape shape, ChromeShapeOf(part_.shapes()[number], texts_));
    const ChromeShape* made = &shapes_.emplace(number, std::move(shape)).first->second;
    return made;
  }

  // An empty one, too: there are readers that ask for it. But not where something that is none stands beside under its
  // key.
  Status AppendText(std::string_view key, int64_t id, std::span<const SegmentRows::Arg> args) {
    for (const SegmentRows::Arg& arg : args) {
      if (id != 0 || !arg.slot.of_event) continue;
      ASSIGN_OR_RETURN(const std::string_view beside, texts_.plain.Text(arg.slot.key));
      if (beside == key) return OkStatus();
    }
    ASSIGN_OR_RETURN(const std::string_view text, texts_.quoted.Text(id));
    out() += ",\"";
    out() += key;
    out() += "\":";
    out() += text;
    return OkStatus();
  }

  void AppendTime(std::string_view key, int64_t nanos) {
    out() += ",\"";
    out() += key;
    out() += "\":";
    AppendMicros(out(), nanos);
  }

  // Its id is more than one value, which stand beside it. Of several parts only what they are together does: then it
  // differs from those of the others.
  bool HasOwnId(const SegmentRows& rows, size_t row, const ChromeShape& shape, size_t from, size_t to) const {
    return !number_ && (IsAsync(rows, row) || rows.Of(EventColumn::kFlowId, row) != kNoValue) && shape.HasId(from, to);
  }
  // Of an async event: its process goes with its id.
  void AppendPlace(uint32_t track, bool has_own_id) {
    if (!has_own_id || places_[track].family != TrackPlace::Family::kAsync) out() += place_json_[track];
  }

  // Whom an event on an async track belongs to.
  Status AppendId(uint32_t track, int64_t category) {
    const TrackPlace& place = places_[track];
    ASSIGN_OR_RETURN(const std::string_view text, texts_.plain.Text(category));
    const std::string_view id = place.IdOf(text);
    if (!id.empty()) AppendDistinctId(id);
    return OkStatus();
  }

  Status SeeAsync(uint32_t track, int64_t category, std::span<const SegmentRows::Arg> args) {
    ASSIGN_OR_RETURN(const std::string_view text, texts_.plain.Text(category));
    if (number_ || !listing_.IsNewAsync(track, text)) return OkStatus();
    const std::string of(text);
    ASSIGN_OR_RETURN(AsyncId id, AsyncIdOf(args, texts_));
    listing_.AddAsync(track, of, std::move(id));
    return OkStatus();
  }

  // Ids are the part's own.
  void AppendDistinctId(std::string_view id) {
    out() += ",\"id\":";
    if (!number_ || *number_ == 0) return AppendNumberOrText(out(), id);
    int64_t value = -1;
    if (IsPlainInteger(id)) std::from_chars(id.data(), id.data() + id.size(), value);
    if (value >= 0 && value < kIdsOfPart && *number_ < kMostNumberedParts) {
      AppendInteger(out(), static_cast<int64_t>(*number_) * kIdsOfPart + value);
    } else {
      AppendJsonText(out(), "part " + std::to_string(*number_) + ": " + std::string(id));
    }
  }

  Status WriteRow(EventKind kind, SegmentRows& rows, size_t row) {
    switch (kind) {
      case EventKind::kSlice:
        return WriteSlice(rows, row);
      case EventKind::kInstant:
        return WriteEvent(IsAsync(rows, row) ? 'n' : 'i', rows, row);
      default: {
        const int64_t phase = rows.Of(EventColumn::kPhase, row);
        const auto letter = static_cast<char>(phase);
        return letter == 'M' ? WriteTold(rows, row) : WriteEvent(letter, rows, row);
      }
    }
  }

  bool IsAsync(const SegmentRows& rows, size_t row) const {
    return places_[rows.track(row)].family == TrackPlace::Family::kAsync;
  }

  // What tells of a process or a thread. Names of processes are said anew where they have a rank.
  Status WriteTold(SegmentRows& rows, size_t row) {
    ASSIGN_OR_RETURN(const std::string_view what, texts_.plain.Text(rows.Of(EventColumn::kName, row)));
    const TrackPlace& place = places_[rows.track(row)];
    if (what == "process_name") {
      if (number_) return OkStatus();
      told_processes_.insert(place.pid);
    }
    if (what == "thread_name") told_threads_.insert({place.pid, place.tid});
    return WriteEvent('M', rows, row);
  }

  // All but slices that have an end, and counters.
  Status WriteEvent(char phase, SegmentRows& rows, size_t row) {
    const std::span<const SegmentRows::Arg> args = rows.Args(row);
    ASSIGN_OR_RETURN(const ChromeShape* shape, ShapeOf(rows.shape(row)));
    ASSIGN_OR_RETURN(const bool is_untimed, IsUntimed(phase, args));
    RETURN_IF_ERROR(BeginRow(phase, rows, row, args, HasOwnId(rows, row, *shape, 0, args.size()), is_untimed));
    RETURN_IF_ERROR(
        AppendArgs(out(), args, *shape, is_untimed ? 1 : 0, args.size(), kNoValue, texts_, ArgsOf(rows, row)));
    out() += '}';
    return OkStatus();
  }

  // An event of another phase that had no time is metadata whose first argument, beside the others, is its phase.
  Result<bool> IsUntimed(char phase, std::span<const SegmentRows::Arg> args) {
    if (phase != 'M' || args.empty() || !args[0].slot.of_event || args[0].slot.type != ArgType::kString) return false;
    ASSIGN_OR_RETURN(const std::string_view key, texts_.plain.Text(args[0].slot.key));
    return key == "ph";
  }

  // Of several parts, ids are made.
  ChromeArgsOf ArgsOf(const SegmentRows& rows, size_t row) const {
    const bool is_async = IsAsync(rows, row);
    const bool has_id = is_async || rows.Of(EventColumn::kFlowId, row) != kNoValue;
    return {.without_id = number_ && has_id, .on_thread = !is_async};
  }

  Status BeginRow(char phase, SegmentRows& rows, size_t row, std::span<const SegmentRows::Arg> args, bool has_own_id,
                  bool is_untimed = false) {
    const uint32_t track = rows.track(row);
    const int64_t time_ns = rows.Of(EventColumn::kTime, row);
    const int64_t category = rows.Of(EventColumn::kCategory, row);
    if (phase == '\0') {
      out() += std::exchange(is_first_, false) ? "\n{\"ts\":" : ",\n{\"ts\":";  // what it has for a phase stands beside
      AppendMicros(out(), zero_ns_ + time_ns);
    } else if (is_untimed) {
      ASSIGN_OR_RETURN(const std::string_view text, texts_.quoted.Text(args[0].value));
      out() += std::exchange(is_first_, false) ? "\n{\"ph\":" : ",\n{\"ph\":";
      out() += text;
    } else {
      BeginEvent(phase);
    }
    RETURN_IF_ERROR(AppendText("name", rows.Of(EventColumn::kName, row), args));
    RETURN_IF_ERROR(AppendText("cat", category, args));
    AppendPlace(track, has_own_id);
    if (places_[track].family == TrackPlace::Family::kAsync) RETURN_IF_ERROR(SeeAsync(track, category, args));
    if (phase != '\0' && (phase != 'M' || time_ns != 0)) AppendTime("ts", zero_ns_ + time_ns);
    if (has_own_id) return OkStatus();
    const TrackPlace& place = places_[track];
    if (place.family == TrackPlace::Family::kAsync) return AppendId(track, category);
    const int64_t flow = rows.Of(EventColumn::kFlowId, row);
    if (flow == kNoValue || flow == 0) return OkStatus();
    if (IsNumberedFlow(flow)) {
      AppendDistinctId(NumberedFlowText(flow));
    } else {
      ASSIGN_OR_RETURN(const std::string_view id, texts_.plain.Text(flow));
      AppendDistinctId(id);
    }
    return OkStatus();
  }

  // In one event where that reads back as the same; else as its begin and its end, one behind the other.
  Status WriteSlice(SegmentRows& rows, size_t row) {
    const std::span<const SegmentRows::Arg> args = rows.Args(row);
    ASSIGN_OR_RETURN(const ChromeShape* shape, ShapeOf(rows.shape(row)));
    const int64_t time_ns = rows.Of(EventColumn::kTime, row);
    const int64_t duration_ns = rows.Of(EventColumn::kDuration, row);
    const int64_t of_row = rows.Of(EventColumn::kCorrelation, row);
    const int64_t correlation = shape->adds_correlation ? of_row : kNoValue;
    const bool is_async = IsAsync(rows, row);
    const bool is_whole = shape->is_correlated || of_row != kNoValue || (duration_ns != kNoValue && !shape->needs_two);
    if (!is_async && is_whole) {
      RETURN_IF_ERROR(BeginRow('X', rows, row, args, false));
      if (duration_ns != kNoValue) AppendTime("dur", duration_ns);
      RETURN_IF_ERROR(AppendArgs(out(), args, *shape, 0, args.size(), correlation, texts_));
      if (correlation != kNoValue) out() += shape->said_correlation;
      out() += '}';
      return OkStatus();
    }
    const bool has_end = duration_ns != kNoValue;
    const size_t in_begin = has_end ? shape->in_first : args.size();
    const ChromeArgsOf args_of = ArgsOf(rows, row);
    const bool begin_has_id = HasOwnId(rows, row, *shape, 0, in_begin);
    RETURN_IF_ERROR(BeginRow(is_async ? 'b' : 'B', rows, row, args, begin_has_id));
    RETURN_IF_ERROR(AppendArgs(out(), args, *shape, 0, in_begin, correlation, texts_, args_of));
    out() += '}';
    if (!has_end) return OkStatus();
    BeginEvent(is_async ? 'e' : 'E');
    RETURN_IF_ERROR(AppendText("name", rows.Of(EventColumn::kName, row), {}));
    RETURN_IF_ERROR(AppendText("cat", rows.Of(EventColumn::kCategory, row), {}));
    const bool end_has_id = HasOwnId(rows, row, *shape, in_begin, args.size());
    AppendPlace(rows.track(row), end_has_id);
    AppendTime("ts", zero_ns_ + EndOf(time_ns, duration_ns));
    if (is_async && !end_has_id) {
      RETURN_IF_ERROR(AppendId(rows.track(row), rows.Of(EventColumn::kCategory, row)));
    }
    RETURN_IF_ERROR(AppendArgs(out(), args, *shape, in_begin, args.size(), kNoValue, texts_, args_of));
    out() += '}';
    return OkStatus();
  }

  Status WriteCounters(SegmentRows& rows) {
    for (const std::vector<size_t>& event : counters_.Of(rows)) {
      RETURN_IF_ERROR(WriteCounter(rows, event));
      RETURN_IF_ERROR(output_.Step());
      texts_.Trim();
    }
    return OkStatus();
  }

  // The samples of its series at one time.
  Status WriteCounter(SegmentRows& rows, std::span<const size_t> samples) {
    const uint32_t track = rows.track(samples[0]);
    BeginEvent('C');
    out() += ",\"name\":";
    AppendJsonText(out(), places_[track].name);
    out() += kNoCategory;
    out() += place_json_[track];
    AppendTime("ts", zero_ns_ + rows.Of(EventColumn::kTime, samples[0]));
    out() += ",\"args\":";
    for (const size_t row : samples) {
      out() += row == samples[0] ? '{' : ',';
      AppendJsonText(out(), places_[rows.track(row)].series);
      out() += ':';
      if (const std::span<const SegmentRows::Arg> written = rows.Args(row); !written.empty()) {
        RETURN_IF_ERROR(AppendValue(out(), written[0], texts_));
      } else {
        AppendSample(out(), std::bit_cast<double>(rows.Of(EventColumn::kValue, row)));
      }
    }
    out() += "}}";
    return OkStatus();
  }

  // Of tracks that no event of the source told of.
  void WriteNames() {
    for (size_t track = 0; track < places_.size(); ++track) {
      const TrackPlace& place = places_[track];
      if (!place.process.empty() && told_processes_.insert(place.pid).second) {
        WriteName("process_name", track, place.process);
      }
      if (place.family != TrackPlace::Family::kThread || !place.is_named) continue;
      if (!told_threads_.insert({place.pid, place.tid}).second) continue;
      WriteName("thread_name", track, place.name);
      if (!place.sort_index) continue;
      BeginName("thread_sort_index", track);
      out() += "\"sort_index\":";
      AppendInteger(out(), static_cast<int32_t>(*place.sort_index));  // above that is its process's
      out() += "}}";
    }
  }

  void WriteName(std::string_view what, size_t track, std::string_view name) {
    BeginName(what, track);
    out() += "\"name\":";
    AppendJsonText(out(), name);
    out() += "}}";
  }

  void BeginName(std::string_view what, size_t track) {
    BeginEvent('M');
    out() += ",\"name\":\"";
    out() += what;
    out() += '"';
    out() += kNoCategory;
    out() += place_json_[track];
    if (!number_) out() += ",\"kprofAdded\":1";  // of several parts in one file they are what the source says
    out() += ",\"args\":{";
  }

  PartReader& part_;
  const std::vector<TrackPlace> places_;
  const int64_t zero_ns_;
  const std::optional<size_t> number_;  // of the part among several
  bool& is_first_;
  std::set<std::string>& told_processes_;  // by all parts so far: the tables of a device profile share processes
  ExportOutput& output_;
  ChromeTexts texts_;
  TrackListing listing_;
  CounterEvents counters_;
  std::vector<std::string> place_json_;
  std::unordered_map<uint32_t, ChromeShape> shapes_;
  std::set<std::pair<std::string, std::string>> told_threads_;
};

// What stands beside the events: what the source said of itself, where there are several what all of them say.
void AppendMembers(std::string& out, std::span<const ExportPart> parts, const ChromeClock& clock) {
  const PartReader& first = *parts[0].reader;
  bool has_distribution = parts.size() > 1;
  if (parts.size() == 1) {
    out += "\n\"kprofTimeZeroNs\":";
    AppendInteger(out, clock.zero_ns[0]);
    out += ',';
  }
  for (const auto& [name, value] : first.facts()) {
    if (!name.starts_with(kSourceFact)) continue;
    const std::string_view key = std::string_view(name).substr(kSourceFact.size());
    bool is_left_out = key == "traceEvents" || key == "kprofTimeZeroNs" || key == "kprofTracks";
    is_left_out |= HasEnvironmentWord(key) && !KeptOfEnvironment(key, value, EnvironmentKept::kNone);
    is_left_out |= parts.size() > 1 && (key == "baseTimeNanoseconds" || key == "distributedInfo");
    for (const auto& [part, rank] : parts) is_left_out |= part->TextFact(name) != value;
    if (is_left_out) continue;
    const bool is_distribution = key == "distributedInfo";
    has_distribution |= is_distribution;
    out += '\n' + AsMember(key, is_distribution ? DistributedInfoOf(value, parts[0].rank()) : value) + ',';
  }
  if (clock.base_unix_ns) {
    out += "\n\"baseTimeNanoseconds\":";
    AppendInteger(out, *clock.base_unix_ns);
    out += ',';
  }
  if (const std::optional<int64_t> rank = parts[0].rank(); rank && !has_distribution) {
    out += "\n\"distributedInfo\":{\"rank\":";
    AppendInteger(out, *rank);
    if (const std::optional<int64_t> world = first.IntegerFact("world_size")) {
      out += ",\"world_size\":";
      AppendInteger(out, *world);
    }
    out += "},";
  }
}

}  // namespace

Status ExportChrome(std::span<const ExportPart> parts, const ExportSink& sink, const ExportWatch& watch) {
  if (parts.empty()) return Fail(ErrorCode::kNotFound, "export it", "it has no trace");
  int64_t rows = 0;
  for (const auto& [part, rank] : parts) {
    for (const EventKind kind : kKinds) rows += part->rows(kind);
  }
  ExportOutput output(sink, watch, rows);
  const ChromeClock clock = ChromeClockOf(parts);
  output.bytes() += '{';
  AppendMembers(output.bytes(), parts, clock);
  output.bytes() += "\n\"traceEvents\":[";
  bool is_first = true;
  std::set<std::string> told_processes;
  std::string tracks;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::optional<size_t> number = parts.size() > 1 ? std::optional(i) : std::nullopt;
    ASSIGN_OR_RETURN(std::vector<TrackPlace> places, PlacesOf(parts[i], number));
    PartEvents events(*parts[i].reader, std::move(places), clock.zero_ns[i], number, is_first, told_processes, output);
    RETURN_IF_ERROR(events.Write());
    if (!number) tracks = events.TrackList();
  }
  output.bytes() += "\n]";
  if (!tracks.empty()) output.bytes() += ",\n\"kprofTracks\":" + tracks;
  output.bytes() += "}\n";
  return output.Flush();
}

}  // namespace kprof
