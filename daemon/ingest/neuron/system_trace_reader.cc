#include "daemon/ingest/neuron/system_trace_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "daemon/ingest/neuron/events_ahead.h"
#include "daemon/ingest/neuron/system_event_pairing.h"
#include "daemon/ingest/neuron/system_event_scan.h"
#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

constexpr int64_t kEventsPerLook = 1 << 16;
constexpr size_t kMostLogBytes = 1 << 20;  // before the JSON, and behind it

bool IsEventList(std::string_view key) {
  return key == "events" || key == "trace_event" || key == "trace_events";
}

struct CounterList {
  std::string_view key;
  std::string_view of;      // the member that tells which one a sample is of; empty: there is one
  std::string_view prefix;  // of the counters' names
};
constexpr CounterList kCounterLists[] = {
    {"mem_usage", "", "host memory"},
    {"cpu_util", "cpu_id", "cpu"},
    {"device_mem_usage", "hbm_idx", "hbm"},
};

const CounterList* CounterListOf(std::string_view key) {
  for (const CounterList& list : kCounterLists) {
    if (list.key == key) return &list;
  }
  return nullptr;
}

std::string_view WithoutQuotes(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
}

class SystemTraceReading {
 public:
  SystemTraceReading(TextCursor& cursor, TextSource& text, NeuronEventRows& rows)
      : cursor_(cursor), text_(text), rows_(rows), pairing_(rows) {}

  Result<SystemTraceText> Read() {
    ASSIGN_OR_RETURN(const char first, cursor_.Next());
    if (first == '[') {
      read_.has_list = true;
      RETURN_IF_ERROR(ReadEvents());
    } else if (first == '{') {
      RETURN_IF_ERROR(ReadObject());
    }
    if (read_.has_list) RETURN_IF_ERROR(Finish());
    read_.events = pairing_.events();
    return read_;
  }

 private:
  Status ReadObject() {
    cursor_.MoveTo(cursor_.at() + 1);
    while (true) {
      ASSIGN_OR_RETURN(char next, cursor_.Next());
      if (next == ',') {
        cursor_.MoveTo(cursor_.at() + 1);
        continue;
      }
      if (next == '}') {
        cursor_.MoveTo(cursor_.at() + 1);
        return OkStatus();
      }
      if (next != '"') return Cut();
      ASSIGN_OR_RETURN(const std::optional<std::string_view> quoted, cursor_.Value());
      if (!quoted) return Cut();
      const std::string key(WithoutQuotes(*quoted));
      ASSIGN_OR_RETURN(next, cursor_.Next());
      if (next != ':') return Cut();
      cursor_.MoveTo(cursor_.at() + 1);
      ASSIGN_OR_RETURN(next, cursor_.Next());
      RETURN_IF_ERROR(ReadMember(key, next));
      if (read_.is_cut) return OkStatus();
    }
  }

  Status ReadMember(const std::string& key, char first) {
    if (first == '[' && IsEventList(key)) {
      read_.has_list = true;
      return ReadEvents();
    }
    if (const CounterList* list = CounterListOf(key); list != nullptr && first == '[') return ReadCounters(*list);
    if (first != '{' && first != '[' && (key == "data_version" || key.find("dropped") != key.npos)) {
      ASSIGN_OR_RETURN(const std::optional<std::string_view> value, cursor_.Value());
      if (!value) return Cut();
      const std::optional<int64_t> number = WholeNumberIn(*value);
      if (number && key == "data_version") return SeeVersion(*number);
      if (number && *number > 0) dropped_ += *number;
      return OkStatus();
    }
    ASSIGN_OR_RETURN(const bool is_whole, cursor_.SkipValue());
    return is_whole ? OkStatus() : Cut();
  }

  Status SeeVersion(int64_t version) {
    constexpr int64_t kKnownVersion = 2;
    if (version > kKnownVersion) {
      rows_.sink().Warn(std::string(kToolVersionUnknown) + "data_version " + std::to_string(version) +
                        " of a Neuron system trace");
    }
    return rows_.sink().SetFact("source.data_version", version);
  }

  Status Cut() {
    read_.is_cut = true;
    return OkStatus();
  }

  // `see` is called with the place of each object of the list, and returns the place behind it, or null; `take` once it
  // was seen and passed.
  template <typename See, typename Take>
  Status ReadList(const See& see, const Take& take) {
    cursor_.MoveTo(cursor_.at() + 1);
    while (true) {
      // Without a look behind each of them: as tools write lists.
      const char* at = cursor_.at();
      if (*at == ',') ++at;
      at = SkipSpace(at);
      if (at >= cursor_.end() || *at != '{') {
        ASSIGN_OR_RETURN(char next, cursor_.Next());
        while (next == ',') {
          cursor_.MoveTo(cursor_.at() + 1);
          ASSIGN_OR_RETURN(next, cursor_.Next());
        }
        if (next == ']') return cursor_.MoveTo(cursor_.at() + 1), OkStatus();
        if (next == '\0') return Cut();
        if (next != '{') {
          ++broken_;
          const int64_t before_bytes = cursor_.offset_bytes();
          ASSIGN_OR_RETURN(const bool is_whole, cursor_.SkipValue());
          if (!is_whole) return Cut();
          // What closes nothing is no value.
          if (cursor_.offset_bytes() == before_bytes) cursor_.MoveTo(cursor_.at() + 1);
          continue;
        }
        at = cursor_.at();
      }
      cursor_.MoveTo(at);
      const char* behind = see(at);
      while (behind == nullptr) {
        ASSIGN_OR_RETURN(const bool has_more, cursor_.More());
        if (!has_more) break;
        behind = see(cursor_.at());
      }
      if (behind == nullptr) {
        const bool was_at_end = cursor_.has_text_end() && FindNestEnd(cursor_.at(), cursor_.end()) == nullptr;
        ++broken_;
        RETURN_IF_ERROR(SkipBroken());
        if (read_.is_cut) {
          if (was_at_end && broken_ > 0) --broken_;
          return OkStatus();
        }
        continue;
      }
      cursor_.MoveTo(behind);
      RETURN_IF_ERROR(take());
    }
  }

  // Goes on at the next object that begins as an event does.
  Status SkipBroken() {
    while (true) {
      ASSIGN_OR_RETURN(const bool is_found, cursor_.Find("{"));
      if (!is_found) return Cut();
      ASSIGN_OR_RETURN(const bool has_more, cursor_.at() + kEventBeginBytes < cursor_.end() ? true : cursor_.More());
      (void)has_more;
      const std::string_view begin(cursor_.at(),
                                   std::min(kEventBeginBytes, static_cast<size_t>(cursor_.end() - cursor_.at())));
      for (const std::string_view key : {"\"event_type\"", "\"name\"", "\"timestamp\"", "\"id\""}) {
        const size_t found = begin.find(key);
        if (found != begin.npos && begin.substr(1, found - 1).find_first_not_of(" \n\r\t") == begin.npos) {
          return OkStatus();
        }
      }
    }
  }

  Status Take(const SystemEvent& event) {
    if (event.type.empty() && event.timestamp_ns == kNoValue) {
      ++not_events_;
      return OkStatus();
    }
    return pairing_.Take(event);
  }

  Status TellProgress(int64_t offset_bytes) {
    return rows_.sink().Progress(text_.SourceBytesAt(offset_bytes), rows_.events());
  }

  Status ReadEvents() {
    EventsAhead ahead;
    Status scanned;
    const auto scan = [&] {
      cursor_.KeepTextIn(&ahead);
      scanned = ReadList([&](const char* at) { return ScanSystemEvent(at, cursor_.end(), ahead.Place()); },
                         [&] {
                           ahead.Add(cursor_.offset_bytes());
                           return OkStatus();
                         });
      cursor_.KeepTextIn(nullptr);
    };
    if (!ahead.Start(scan)) return ReadEventsHere();
    Status taken;
    while (EventsAhead::Batch* const batch = ahead.Next()) {
      for (size_t i = 0; taken.ok() && i < batch->count; ++i) taken = Take(batch->events[i]);
      if (taken.ok() && batch->count > 0) taken = TellProgress(batch->offset_bytes);
      if (!taken.ok()) ahead.Stop();
      ahead.Return(batch);
    }
    ahead.Join();
    return taken.ok() ? scanned : taken;
  }

  // Where no thread can be had.
  Status ReadEventsHere() {
    SystemEvent event;
    int64_t events = 0;
    return ReadList([&](const char* at) { return ScanSystemEvent(at, cursor_.end(), event); },
                    [&] {
                      RETURN_IF_ERROR(Take(event));
                      return ++events % kEventsPerLook == 0 ? TellProgress(cursor_.offset_bytes()) : OkStatus();
                    });
  }

  Status ReadCounters(const CounterList& list) {
    Status status;
    const auto see = [&](const char* at) {
      const char* behind = FindNestEnd(at, cursor_.end(), kMostSystemEventNesting);
      if (behind != nullptr && status.ok()) {
        status = ReadSamples({at, static_cast<size_t>(behind - at)}, list);
      }
      return behind;
    };
    RETURN_IF_ERROR(ReadList(see, [] { return OkStatus(); }));
    return status;
  }

  Status ReadSamples(std::string_view object, const CounterList& list) {
    std::optional<int64_t> time_ns;
    std::string name(list.prefix);
    std::string group = "node";
    std::vector<std::pair<std::string_view, double>> values;
    const char* const end = object.data() + object.size();
    ForEachMember(object.data(), end, [&](std::string_view key, std::string_view value) {
      if (key == "timestamp") {
        time_ns = WholeNumberIn(value);
      } else if (!list.of.empty() && key == list.of) {
        name += ' ';
        name += WithoutQuotes(value);
      } else if (key == "instance_id") {
        const std::string instance = UnescapeJson(WithoutQuotes(value));
        if (!instance.empty() && instance != "null") group += " " + instance;
      } else if (key != "duration") {
        const std::string_view text = WithoutQuotes(value);
        double number = 0;
        const auto [number_end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool is_number = error == std::errc() && number_end == text.data() + text.size() && std::isfinite(number);
        if (is_number) values.emplace_back(key, number);
      }
      return true;
    });
    constexpr int64_t kMostCounterNs = int64_t{1} << 61;
    if (!time_ns || *time_ns <= -kMostCounterNs || *time_ns >= kMostCounterNs) {
      ++untimed_samples_;
      return OkStatus();
    }
    for (const auto& [key, value] : values) {
      std::string of = name;
      of += ' ';
      of += UnescapeJson(key);
      RETURN_IF_ERROR(rows_.WriteCounter(group, of, *time_ns, value));
    }
    return OkStatus();
  }

  Status Finish() {
    RETURN_IF_ERROR(pairing_.Finish());
    BatchSink& sink = rows_.sink();
    const auto warn = [&](int64_t count, const char* what) {
      if (count > 0) sink.Warn(std::to_string(count) + what);
    };
    warn(broken_, " places of its lists are no object that can be read, or one that is too large: they were left out");
    warn(not_events_, " objects of its events have neither a type nor a time: they were left out");
    warn(untimed_samples_, " samples of memory or processors have no time: they were left out");
    if (dropped_ == 0) return OkStatus();
    sink.Warn(std::to_string(dropped_) + " events were dropped during the capture, as it says itself");
    return sink.SetFact("neuron.dropped_events", dropped_);
  }

  static constexpr size_t kEventBeginBytes = 64;

  TextCursor& cursor_;
  TextSource& text_;
  NeuronEventRows& rows_;
  SystemEventPairing pairing_;
  SystemTraceText read_;
  int64_t dropped_ = 0;
  int64_t broken_ = 0;
  int64_t not_events_ = 0;
  int64_t untimed_samples_ = 0;
};

// Passes a tool's log, up to where the JSON begins: the first line that begins with a brace or a bracket, else the
// first brace. Adds its text to `log`.
Status PassLog(TextCursor& cursor, std::string& log) {
  while (true) {
    ASSIGN_OR_RETURN(const char first, cursor.Next());
    if (first == '\0' || first == '{') return OkStatus();
    if (first == '[') {
      // A list, or a line such as [INFO] or [2026-01-01 ...].
      const char* const next = SkipSpace(cursor.at() + 1);
      if (next >= cursor.end() || *next == '{' || *next == ']') return OkStatus();
    }
    const char* at = cursor.at();
    while (at < cursor.end() && *at != '\n' && *at != '{') ++at;
    if (log.size() < kMostLogBytes) log.append(cursor.at(), static_cast<size_t>(at - cursor.at()));
    // A line of a log may have braces in it; JSON has a quote or a line's end behind its own.
    if (at < cursor.end() && *at == '{') {
      const char* const next = SkipSpace(at + 1);
      if (next < cursor.end() && (*next == '"' || *next == '}')) return cursor.MoveTo(at), OkStatus();
      ++at;
    }
    log += '\n';
    cursor.MoveTo(at);
    if (at >= cursor.end()) {
      ASSIGN_OR_RETURN(const bool has_more, cursor.More());
      if (!has_more) return OkStatus();
    }
  }
}

}  // namespace

Result<SystemTraceText> ReadSystemTraceText(TextCursor& cursor, TextSource& text, NeuronEventRows& rows) {
  return SystemTraceReading(cursor, text, rows).Read();
}

int64_t DroppedEventsIn(std::string_view log) {
  constexpr std::string_view kWords = " trace events were dropped";
  int64_t dropped = 0;
  for (size_t at = log.find(kWords); at != log.npos; at = log.find(kWords, at + 1)) {
    size_t begin = at;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(log.data() + begin, log.data() + at, number);
    if (error == std::errc() && end == log.data() + at && begin < at) {
      if (__builtin_add_overflow(dropped, number, &dropped)) dropped = INT64_MAX;
    }
  }
  return dropped;
}

Status ReadNeuronSystem(TextSource& text, BatchSink& sink, int64_t most_event_bytes) {
  TextCursor cursor(text, static_cast<size_t>(std::max<int64_t>(most_event_bytes, 1)));
  NeuronEventRows rows(sink);
  std::string log;
  RETURN_IF_ERROR(PassLog(cursor, log));
  ASSIGN_OR_RETURN(const SystemTraceText read, ReadSystemTraceText(cursor, text, rows));
  const std::optional<Status> cut = text.WhyCut();
  if (!read.has_list) {
    if (cut) return cut->In(kReadAsNeuronSystem);
    return Fail(ErrorCode::kNotFound, kReadAsNeuronSystem,
                "it has no list of events (\"events\", \"trace_event\" or \"trace_events\")",
                "give what nrt_sys_trace_fetch_events gave, or neuron-profile's or neuron-explorer's system profile as "
                "JSON");
  }
  if (read.is_cut || cut) {
    const std::string where = "byte " + std::to_string(cursor.offset_bytes());
    if (read.events == 0) {
      return Fail(ErrorCode::kBadInput, kReadAsNeuronSystem, "it ends at " + where + ", before its first event",
                  "have its tool write it again");
    }
    sink.Warn("it ends at " + where + ", in the middle; the " + std::to_string(read.events) +
              " events before were kept" + (cut ? ": " + cut->why() : ""));
    RETURN_IF_ERROR(sink.SetFact("neuron.is_cut", 1));
  } else {
    // What a tool says behind its JSON.
    RETURN_IF_ERROR(PassLog(cursor, log));
  }
  if (const int64_t dropped = DroppedEventsIn(log); dropped > 0) {
    sink.Warn(std::to_string(dropped) + " events were dropped during the capture, as its tool says: the ring buffer " +
              "overwrote the oldest; NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC makes it larger");
    RETURN_IF_ERROR(sink.SetFact("neuron.dropped_events", dropped));
  }
  RETURN_IF_ERROR(rows.Finish());
  return sink.Progress(text.SourceBytesAt(cursor.offset_bytes()), rows.events());
}

bool LooksLikeNeuronSystem(std::span<const char> first) {
  const std::string_view text(first.data(), first.size());
  const auto has = [&](std::string_view word) { return text.find(word) != text.npos; };
  const size_t begin = text.find_first_of("{[");
  if (begin == text.npos || text.substr(0, begin).find('\0') != text.npos) return false;
  if (has("\"traceEvents\"") || has("\"kernel_calls\"") || has("\"events_json\"")) return false;
  if (has("\"trace_event\"") || has("\"trace_events\"") || has("\"system_profile_metadata\"")) return true;
  if (has("\"device_mem_usage\"") || (has("\"cpu_util\"") && has("\"cpu_id\""))) return true;
  return has("\"event_type\"") && (has("\"timestamp_ns\"") || has("\"phase\""));
}

}  // namespace kprof
