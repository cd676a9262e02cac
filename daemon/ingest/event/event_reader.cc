#include "daemon/ingest/event/event_reader.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/launch/given/json_text.h"
#include "storage/trace/format/event_tables.h"

namespace kprof {
namespace {

constexpr size_t kEventReadBytes = 1 << 20;      // at once
constexpr size_t kMostEventLineBytes = 8 << 10;  // one line of ours
constexpr std::string_view kEventMark = "{\"kprof_event\":";
constexpr const char* kReadAsEvent = "read it as the record of an event run";

std::optional<double> RealMember(const GivenJson& object, std::string_view name) {
  const GivenJson* value = object.Find(name);
  if (value == nullptr || (value->kind != GivenJson::Kind::kNumber && value->kind != GivenJson::Kind::kText)) {
    return std::nullopt;
  }
  double number = 0;
  const char* const end = value->text.data() + value->text.size();
  const auto [at, error] = std::from_chars(value->text.data(), end, number);
  return error == std::errc() && at == end && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> WholeMember(const GivenJson& object, std::string_view name) {
  const GivenJson* value = object.Find(name);
  if (value == nullptr) return std::nullopt;
  int64_t number = 0;
  const char* const end = value->text.data() + value->text.size();
  const auto [at, error] = std::from_chars(value->text.data(), end, number);
  return error == std::errc() && at == end && number != kNoValue ? std::optional(number) : std::nullopt;
}

std::string_view TextMember(const GivenJson& object, std::string_view name) {
  const GivenJson* value = object.Find(name);
  return value != nullptr && value->kind == GivenJson::Kind::kText ? std::string_view(value->text) : "";
}

class EventReading {
 public:
  EventReading(TextSource& text, BatchSink& sink) : text_(text), builder_(sink) {}

  Status Read() {
    std::string rest;
    std::string piece(kEventReadBytes, '\0');
    int64_t at = 0;
    while (true) {
      ASSIGN_OR_RETURN(const size_t size, text_.ReadAt(at, piece));
      at += static_cast<int64_t>(size);
      rest.append(piece, 0, size);
      const size_t whole = rest.rfind('\n') + 1;
      RETURN_IF_ERROR(ReadLines(std::string_view(rest).substr(0, whole)));
      rest.erase(0, whole);
      text_.Release(at);
      RETURN_IF_ERROR(builder_.sink().Progress(text_.SourceBytesAt(at), turns_ + samples_));
      if (size < piece.size()) break;
      if (rest.size() > kMostEventLineBytes) rest.resize(kMostEventLineBytes);  // it is none of ours
    }
    RETURN_IF_ERROR(ReadLines(rest));
    return Finish();
  }

 private:
  Status ReadLines(std::string_view lines) {
    while (!lines.empty()) {
      const std::string_view line = lines.substr(0, lines.find('\n'));
      lines.remove_prefix(std::min(lines.size(), line.size() + 1));
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      if (!ReadLine(line)) ++odd_;
      RETURN_IF_ERROR(status_);
      RETURN_IF_ERROR(builder_.GiveFull());
    }
    return OkStatus();
  }

  bool ReadLine(std::string_view line) {
    if (line.size() > kMostEventLineBytes) return false;
    const Result<GivenJson> json = ReadJson(line, "a line");
    if (!json.ok() || json->kind != GivenJson::Kind::kObject) return false;
    if (json->Find("kprof_event") != nullptr) return ReadRun(*json);
    if (json->Find("turn") != nullptr) return ReadTurn(*json);
    return ReadSample(*json);
  }

  bool ReadRun(const GivenJson& run) {
    for (const char* name : {"delta", "seed", "samples", "looks", "compares", "floor_device", "floor_flop_per_ns",
                             "floor_byte_per_ns", "floor_cache_bytes"}) {
      const GivenJson* value = run.Find(name);
      if (value == nullptr || value->text.empty() || !status_.ok()) continue;
      status_ = builder_.sink().SetFact(std::string("event.") + name, value->text);
    }
    return true;
  }

  bool ReadTurn(const GivenJson& turn) {
    const std::optional<int64_t> number = WholeMember(turn, "turn");
    const std::string_view side = TextMember(turn, "side");
    if (!number || (side != "candidate" && side != "baseline")) return false;
    const auto whole = [&turn](const char* name) { return WholeMember(turn, name).value_or(kNoValue); };
    const std::string_view refuted = TextMember(turn, "refuted");
    turn_ = *number;
    side_ = builder_.Text(side);
    block_ = whole("block");
    builder_.AddSideRow(EventTurnTable(),
                        std::array<int64_t, 11>{
                            turn_, int64_t{side_}, block_, whole("asked_samples"), whole("began_unix_ns"),
                            whole("wall_ns"), whole("user_cpu_ns"), whole("system_cpu_ns"), whole("max_rss_bytes"),
                            whole("leftover_processes"), refuted.empty() ? kNoValue : int64_t{builder_.Text(refuted)}});
    AddSlice(side, whole("began_unix_ns"), whole("wall_ns"));
    ++turns_;
    sample_ = 0;
    return true;
  }

  // The processes of each side stand on a track of their own.
  void AddSlice(std::string_view side, int64_t began_ns, int64_t wall_ns) {
    if (began_ns == kNoValue || began_ns < 0 || wall_ns < 0) return;
    if (!base_unix_ns_) base_unix_ns_ = began_ns;
    const auto [found, is_new] = tracks_.try_emplace(std::string(side), 0);
    if (is_new) {
      TrackRow row{.kind = "other"};
      row.name = side == "candidate" ? "turns of the command" : "turns of the baseline";
      found->second = builder_.AddTrack({TrackKey::Family::kThread, 0, builder_.Text(side), 0, 0}, std::move(row));
    }
    const std::string name = (block_ == kNoValue ? "warm-up " : "turn ") + std::to_string(turn_);
    builder_.AddSlice({began_ns - *base_unix_ns_, found->second, builder_.Text(name), builder_.Text("turn"), {}},
                      wall_ns, kNoValue);
  }

  bool ReadSample(const GivenJson& sample) {
    const std::optional<double> ns = RealMember(sample, "ns");
    if (!ns || turns_ == 0) return false;
    const auto real = [&sample](const char* name) {
      const std::optional<double> value = RealMember(sample, name);
      return value ? std::bit_cast<int64_t>(*value) : kNoReal;
    };
    const std::string_view cache = TextMember(sample, "cache");
    builder_.AddSideRow(
        EventSampleTable(),
        std::array<int64_t, 11>{turn_, int64_t{side_}, block_, int64_t{builder_.Text(TextMember(sample, "case"))},
                                ++sample_, std::bit_cast<int64_t>(*ns), real("wall_ns"), real("cycles"), real("flops"),
                                real("bytes"), cache.empty() ? kNoValue : int64_t{builder_.Text(cache)}});
    ++samples_;
    return true;
  }

  Status Finish() {
    if (const std::optional<Status> cut = text_.WhyCut()) {
      if (turns_ == 0) return cut->In(kReadAsEvent);
      builder_.sink().Warn("it cannot be read to its end: " + cut->why() + "; what is whole before was kept");
    }
    if (turns_ == 0) {
      return Fail(ErrorCode::kBadInput, kReadAsEvent, "it has no turn", "give event_samples.jsonl as kprofd wrote it");
    }
    if (odd_ > 0) builder_.sink().Warn(std::to_string(odd_) + " lines are no turn and no sample: they were left out");
    if (base_unix_ns_) RETURN_IF_ERROR(builder_.sink().SetFact("base_unix_ns", *base_unix_ns_));
    RETURN_IF_ERROR(builder_.sink().SetFact("clock", base_unix_ns_ ? "unix" : "unknown"));
    return builder_.Give();
  }

  TextSource& text_;
  BatchBuilder builder_;
  Status status_;
  std::map<std::string, uint32_t> tracks_;  // by side
  std::optional<int64_t> base_unix_ns_;
  int64_t turn_ = kNoValue;
  uint32_t side_ = 0;
  int64_t block_ = kNoValue;
  int64_t sample_ = 0;  // of its turn, from 1
  int64_t turns_ = 0;
  int64_t samples_ = 0;
  int64_t odd_ = 0;
};

}  // namespace

Status ReadEventSamples(TextSource& text, BatchSink& sink) {
  return EventReading(text, sink).Read();
}

bool LooksLikeEventSamples(std::span<const char> first) {
  return std::string_view(first.data(), first.size()).starts_with(kEventMark);
}

}  // namespace kprof
