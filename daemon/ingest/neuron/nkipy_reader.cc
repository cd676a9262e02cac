#include "daemon/ingest/neuron/nkipy_reader.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/neuron/neuron_event_rows.h"
#include "daemon/ingest/neuron/system_event_scan.h"
#include "daemon/ingest/neuron/system_trace_reader.h"
#include "daemon/ingest/neuron/text_cursor.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr const char* kReadAsNkipy = "read it as an nkipy kernel profile";
constexpr int kMostCallNesting = 16;

int64_t CallTime(std::string_view value) {
  constexpr int64_t kMostCallNs = int64_t{1} << 61;
  const std::optional<int64_t> time_ns = WholeNumberIn(value);
  return time_ns && *time_ns > -kMostCallNs && *time_ns < kMostCallNs ? *time_ns : kNoValue;
}

class NkipyReading {
 public:
  NkipyReading(TextSource& text, BatchSink& sink, size_t most_event_bytes)
      : text_(text), sink_(sink), most_event_bytes_(most_event_bytes), cursor_(text, most_event_bytes), rows_(sink) {}

  Status Read() {
    ASSIGN_OR_RETURN(const char first, cursor_.Next());
    if (first == '{') {
      RETURN_IF_ERROR(ReadObject());
    }
    const std::optional<Status> cut = text_.WhyCut();
    if (!has_calls_ && !has_events_) {
      if (cut) return cut->In(kReadAsNkipy);
      const ErrorCode code = is_cut_ && first == '{' ? ErrorCode::kBadInput : ErrorCode::kNotFound;
      return Fail(code, kReadAsNkipy,
                  is_cut_
                      ? "it ends at byte " + std::to_string(cursor_.offset_bytes()) + ", before its calls and events"
                      : "it has neither \"kernel_calls\" nor \"events_json\"",
                  "give the kernel_profile.json that the profiler wrote");
    }
    if (is_cut_ || cut) {
      sink_.Warn("it ends at byte " + std::to_string(cursor_.offset_bytes()) +
                 ", in the middle: what is whole before was kept" + (cut ? "; " + cut->why() : ""));
      RETURN_IF_ERROR(sink_.SetFact("neuron.is_cut", 1));
    }
    return Finish();
  }

 private:
  Status ReadObject() {
    cursor_.MoveTo(cursor_.at() + 1);
    while (!is_cut_) {
      ASSIGN_OR_RETURN(char next, cursor_.Next());
      if (next == '}') return cursor_.MoveTo(cursor_.at() + 1), OkStatus();
      if (next == ',') {
        cursor_.MoveTo(cursor_.at() + 1);
        continue;
      }
      if (next != '"') return Cut();
      ASSIGN_OR_RETURN(const std::optional<std::string_view> quoted, cursor_.Value());
      if (!quoted) return Cut();
      const std::string key(quoted->substr(1, quoted->size() - 2));
      ASSIGN_OR_RETURN(next, cursor_.Next());
      if (next != ':') return Cut();
      cursor_.MoveTo(cursor_.at() + 1);
      ASSIGN_OR_RETURN(next, cursor_.Next());
      RETURN_IF_ERROR(ReadMember(key, next));
    }
    return OkStatus();
  }

  Status ReadMember(const std::string& key, char first) {
    if (key == "kernel_calls" && first == '[') {
      has_calls_ = true;
      return ReadCalls();
    }
    if (key == "events_json" && first == '"') {
      has_events_ = true;
      return ReadEventText();
    }
    if (key == "events_json" && (first == '{' || first == '[')) {
      has_events_ = true;
      return ReadEvents(cursor_, text_);
    }
    const bool is_plain = first != '{' && first != '[';
    if (key == "troubles" && first == '[') {
      ASSIGN_OR_RETURN(const std::optional<std::string_view> list, cursor_.Value());
      if (!list) return Cut();
      WarnOfTroubles(*list);
      return OkStatus();
    }
    if (!is_plain) {
      ASSIGN_OR_RETURN(const bool is_whole, cursor_.SkipValue());
      return is_whole ? OkStatus() : Cut();
    }
    ASSIGN_OR_RETURN(const std::optional<std::string_view> value, cursor_.Value());
    if (!value) return Cut();
    sink_.SeeJob(key, *value);
    if (key == "program" && value->size() > 2 && value->front() == '"') {
      return sink_.SetFact("neuron.program", ReadableText(UnescapeJson(value->substr(1, value->size() - 2))));
    }
    if (key == "wall_start_ns") wall_start_ns_ = CallTime(*value);
    if (key == "wall_stop_ns") wall_stop_ns_ = CallTime(*value);
    if (key == "dropped_events") dropped_ = std::max<int64_t>(CallTime(*value), 0);
    if (key == "rank" || key == "world_size") {
      constexpr int64_t kMostRank = 1 << 24;
      const std::optional<int64_t> number = WholeNumberIn(*value);
      if (number && *number >= 0 && *number < kMostRank) return sink_.SetFact(key, *number);
    }
    return OkStatus();
  }

  Status Cut() {
    is_cut_ = true;
    return OkStatus();
  }

  // What went wrong while it was recorded, as the recorder says it: a list of texts.
  void WarnOfTroubles(std::string_view list) {
    constexpr int kMostTroubles = 20;
    int told = 0;
    for (size_t at = list.find('"'); at != list.npos && told < kMostTroubles; at = list.find('"', at + 1), ++told) {
      const char* const end = FindStringEnd(list.data() + at + 1, list.data() + list.size());
      if (end == nullptr) return;
      const size_t text_end = static_cast<size_t>(end - list.data());
      sink_.Warn("its recorder says: " + ReadableText(UnescapeJson(list.substr(at + 1, text_end - at - 1))));
      at = text_end;
    }
  }

  Status ReadCalls() {
    cursor_.MoveTo(cursor_.at() + 1);
    while (true) {
      ASSIGN_OR_RETURN(const char next, cursor_.Next());
      if (next == ']') return cursor_.MoveTo(cursor_.at() + 1), OkStatus();
      if (next == ',') {
        cursor_.MoveTo(cursor_.at() + 1);
        continue;
      }
      ASSIGN_OR_RETURN(const std::optional<std::string_view> value, cursor_.Value());
      if (!value) return Cut();
      if (value->empty()) return Cut();
      RETURN_IF_ERROR(ReadCall(*value));
    }
  }

  Status ReadCall(std::string_view object) {
    NeuronCall call;
    const auto set = [](int64_t& field, std::string_view value) { field = WholeNumberIn(value).value_or(kNoValue); };
    const bool is_whole = ForEachMember(
        object.data(), object.data() + object.size(),
        [&](std::string_view key, std::string_view value) {
          // The recorder's word for a call whose place it did not find.
          const bool is_nowhere = value == "\"<unknown>\"";
          if ((key == "filename" || key == "file") && !is_nowhere) call.file = rows_.TextOfValue(value);
          if (key == "kernel_name" || key == "kernel") call.kernel = rows_.TextOfValue(value);
          if (key == "lineno" || key == "line") set(call.line, value);
          if (key == "call_index") set(call.call_index, value);
          if (key == "thread_id" || key == "thread") set(call.thread, value);
          if (key == "nc_idx" || key == "nc") set(call.nc, value);
          if (key == "nrta_seq_id" || key == "seq_id") set(call.seq_id, value);
          if (key == "exec_id") set(call.exec_id, value);
          if (key == "start_ns") call.start_ns = CallTime(value);
          if (key == "end_ns" || key == "stop_ns") call.end_ns = CallTime(value);
          return true;
        },
        kMostCallNesting);
    if (!is_whole || (call.file == 0 && call.kernel == 0)) {
      ++odd_calls_;
      return OkStatus();
    }
    if (call.line != kNoValue && (call.line < 0 || call.file == 0)) call.line = kNoValue;
    if (call.end_ns != kNoValue && call.start_ns != kNoValue && call.end_ns < call.start_ns) call.end_ns = kNoValue;
    ++calls_;
    return rows_.Write(call);
  }

  Status ReadEventText() {
    cursor_.MoveTo(cursor_.at() + 1);
    QuotedText events(cursor_, text_);
    TextCursor within(events, most_event_bytes_);
    ASSIGN_OR_RETURN(const char first, within.Next());
    // Without a trace of the runtime it is an empty text.
    if (first != '\0') RETURN_IF_ERROR(ReadEvents(within, events));
    ASSIGN_OR_RETURN(const bool is_closed, events.Close());
    return is_closed ? OkStatus() : Cut();
  }

  Status ReadEvents(TextCursor& cursor, TextSource& text) {
    ASSIGN_OR_RETURN(const SystemTraceText read, ReadSystemTraceText(cursor, text, rows_));
    if (read.is_cut) {
      sink_.Warn("its list of events ends in the middle; the " + std::to_string(read.events) +
                 " events before were kept");
      RETURN_IF_ERROR(sink_.SetFact("neuron.is_cut", 1));
    } else if (!read.has_list) {
      sink_.Warn("its \"events_json\" has no list of events");
    }
    return OkStatus();
  }

  Status Finish() {
    if (odd_calls_ > 0) {
      sink_.Warn(std::to_string(odd_calls_) + " calls name neither a file nor a kernel: they were left out");
    }
    RETURN_IF_ERROR(sink_.SetFact("neuron.calls", calls_));
    // Zero where a profile is older than these two.
    const bool has_wall = wall_start_ns_ > 0 && wall_stop_ns_ > wall_start_ns_;
    if (has_wall) {
      RETURN_IF_ERROR(sink_.SetFact("neuron.wall_start_ns", wall_start_ns_));
      RETURN_IF_ERROR(sink_.SetFact("neuron.wall_stop_ns", wall_stop_ns_));
    }
    if (dropped_ > 0) {
      sink_.Warn(std::to_string(dropped_) + " events were dropped during the capture, as it says itself");
      RETURN_IF_ERROR(sink_.SetFact("neuron.dropped_events", dropped_));
    }
    RETURN_IF_ERROR(rows_.Finish());
    return sink_.Progress(text_.SourceBytesAt(cursor_.offset_bytes()), rows_.events() + calls_);
  }

  TextSource& text_;
  BatchSink& sink_;
  const size_t most_event_bytes_;
  TextCursor cursor_;
  NeuronEventRows rows_;
  bool is_cut_ = false;
  bool has_calls_ = false;
  bool has_events_ = false;
  int64_t calls_ = 0;
  int64_t odd_calls_ = 0;
  int64_t dropped_ = 0;
  int64_t wall_start_ns_ = kNoValue;
  int64_t wall_stop_ns_ = kNoValue;
};

}  // namespace

Status ReadNkipy(TextSource& text, BatchSink& sink, int64_t most_event_bytes) {
  return NkipyReading(text, sink, static_cast<size_t>(std::max<int64_t>(most_event_bytes, 1))).Read();
}

bool LooksLikeNkipy(std::span<const char> first) {
  const std::string_view text(first.data(), first.size());
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos || text[begin] != '{') return false;
  return text.find("\"kernel_calls\"") != text.npos || text.find("\"events_json\"") != text.npos;
}

}  // namespace kprof
