#include "daemon/exports/chrome_event.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/exports/json_bytes.h"
#include "daemon/ingest/text/environment_text.h"

namespace kprof {
namespace {

struct Sample {
  uint32_t counter = 0;
  int64_t time_ns = 0;
  size_t nth = 0;    // of its track at that time
  size_t alone = 0;  // another number for each that stands alone; 0: it does not
  uint32_t track = 0;
  size_t row = 0;

  auto event() const { return std::tuple(counter, time_ns, nth, alone); }
  bool operator<(const Sample& other) const {
    return std::tuple(event(), track, row) < std::tuple(other.event(), other.track, other.row);
  }
};

}  // namespace

CounterEvents::CounterEvents(std::span<const TrackPlace> places) {
  // A series that a counter has twice is another counter's of that name.
  std::map<std::tuple<std::string_view, std::string_view, uint32_t>, uint32_t> counters;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, uint32_t> same;
  for (const TrackPlace& place : places) {
    const uint32_t before = same[{place.pid, place.name, place.series}]++;
    const auto number = static_cast<uint32_t>(counters.size());
    counters_.push_back(counters.try_emplace({place.pid, place.name, before}, number).first->second);
  }
}

std::vector<std::vector<size_t>> CounterEvents::Of(SegmentRows& rows) const {
  std::vector<Sample> samples;
  samples.reserve(rows.size());
  std::map<std::pair<uint32_t, int64_t>, size_t> seen;
  for (size_t row = 0; row < rows.size(); ++row) {
    const uint32_t track = rows.track(row);
    const int64_t time_ns = rows.Of(EventColumn::kTime, row);
    const std::span<const SegmentRows::Arg> written = rows.Args(row);
    const bool is_text = !written.empty() && written[0].slot.type == ArgType::kString;
    samples.push_back({counters_[track], time_ns, seen[{track, time_ns}]++, is_text ? row + 1 : 0, track, row});
  }
  std::sort(samples.begin(), samples.end());
  std::vector<std::vector<size_t>> events;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (i == 0 || samples[i].event() != samples[i - 1].event()) events.emplace_back();
    events.back().push_back(samples[i].row);
  }
  return events;
}

namespace {

// Beside the arguments an import takes these for what they say, where they are texts or numbers.
constexpr std::array<std::string_view, 8> kEventKeys = {"ph", "name", "cat", "ts", "dur", "pid", "tid", "id"};

constexpr std::string_view kCorrelationKey = "correlation";

std::string Quoted(std::string_view text) {
  std::string out;
  const std::optional<std::string> without = TextWithoutEnvironment(text, EnvironmentKept::kNone);
  AppendJsonText(out, without ? *without : text);
  return out;
}

std::string Raw(std::string_view text) {
  std::string out;
  AppendRawJson(
      out, text.starts_with('{') || text.starts_with('[') ? WithoutEnvironment(text, EnvironmentKept::kNone) : text);
  return out;
}

bool IsWord(ArgType type) {
  return type == ArgType::kNull || type == ArgType::kTrue || type == ArgType::kFalse || type == ArgType::kJson;
}

// With its first letter escaped: the same key for readers, but not for an import, which takes such keys as they stand.
void AppendDisguised(std::string& out, std::string_view quoted) {
  constexpr char kHex[] = "0123456789abcdef";
  const auto first = static_cast<unsigned char>(quoted[1]);
  out += "\"\\u00";
  out += {kHex[first >> 4], kHex[first & 15]};
  out += quoted.substr(2);
}

Status AppendMember(std::string& out, const SegmentRows::Arg& arg, bool is_disguised, ChromeTexts& texts) {
  ASSIGN_OR_RETURN(const std::string_view key, texts.quoted.Text(arg.slot.key));
  if (is_disguised) {
    AppendDisguised(out, key);
  } else {
    out += key;
  }
  out += ':';
  return AppendValue(out, arg, texts);
}

void AppendCorrelation(std::string& out, int64_t correlation) {
  out += "\"correlation\":";
  AppendInteger(out, correlation);
}

}  // namespace

ChromeTexts::ChromeTexts(PartReader& part)
    : quoted(part, Quoted),
      raw(part, Raw),
      plain(part, [](std::string_view text) { return std::string(text); }),
      left_out(part) {}

void ChromeTexts::Trim() {
  quoted.Trim();
  raw.Trim();
  plain.Trim();
  left_out.Trim();
}

Status AppendValue(std::string& out, const SegmentRows::Arg& arg, ChromeTexts& texts) {
  switch (arg.slot.type) {
    case ArgType::kNull:
      out += "null";
      break;
    case ArgType::kFalse:
      out += "false";
      break;
    case ArgType::kTrue:
      out += "true";
      break;
    case ArgType::kInteger:
    case ArgType::kCorrelation:
      AppendInteger(out, arg.value);
      break;
    case ArgType::kDecimal:
      AppendDecimal(out, arg.value);
      break;
    case ArgType::kNumber:
    case ArgType::kJson: {
      ASSIGN_OR_RETURN(const std::string_view text, texts.raw.Text(arg.value));
      out += text;
      break;
    }
    case ArgType::kString: {
      ASSIGN_OR_RETURN(const std::string_view text, texts.quoted.Text(arg.value));
      out += text;
      break;
    }
  }
  return OkStatus();
}

Result<ChromeShape> ChromeShapeOf(const ArgShape& shape, ChromeTexts& texts) {
  ChromeShape of;
  of.in_first = shape.size();
  bool says_correlation = false;
  bool says_in_words = false;
  size_t said = shape.size();  // the slot that is the correlation
  bool args_ended = false;
  bool has_args = false;
  bool has_id2 = false;
  bool has_scope = false;
  for (const ArgSlot& slot : shape) {
    ASSIGN_OR_RETURN(const std::string_view key, texts.plain.Text(slot.key));
    has_id2 |= slot.of_event && slot.type == ArgType::kJson && key == "id2";
    has_scope |= slot.of_event && slot.type == ArgType::kString && key == "scope";
  }
  std::set<std::pair<bool, uint32_t>> keys;
  for (size_t i = 0; i < shape.size(); ++i) {
    const ArgSlot& slot = shape[i];
    ASSIGN_OR_RETURN(const std::string_view key, texts.plain.Text(slot.key));
    const bool is_of_event = std::find(kEventKeys.begin(), kEventKeys.end(), key) != kEventKeys.end();
    const bool is_taken = slot.of_event && is_of_event && !IsWord(slot.type);
    ASSIGN_OR_RETURN(const bool may_be_left_out, texts.left_out.MayBe(slot.key));
    of.may_be_left_out.push_back(may_be_left_out);
    const bool is_id = slot.of_event && ((key == "id" && is_taken && (has_id2 || has_scope)) ||
                                         (key == "id2" && slot.type == ArgType::kJson) || (key == "pid" && has_id2));
    of.is_of_id.push_back(is_id);
    of.is_disguised.push_back(is_taken && !is_id && key != "dur" && key != "id" && key != "ph");
    of.is_thread.push_back(key == "tid");
    of.needs_two |= is_taken && key == "dur";
    const bool names_correlation = !slot.of_event && key == kCorrelationKey;
    says_in_words |= names_correlation && (slot.type == ArgType::kString || slot.type == ArgType::kDecimal);
    if (!slot.of_event && slot.type == ArgType::kCorrelation) said = i;
    of.is_correlated |= names_correlation && slot.type == ArgType::kCorrelation;
    // As an argument of an X an import would take it for the event's.
    says_correlation |= names_correlation && (slot.type == ArgType::kInteger || slot.type == ArgType::kString ||
                                              slot.type == ArgType::kDecimal);
    if (slot.of_event) {
      args_ended = has_args;
    } else {
      has_args = true;
    }
    const bool is_second = (!slot.of_event && args_ended) || !keys.emplace(slot.of_event, slot.key).second;
    if (is_second && of.in_first == shape.size()) of.in_first = i;
  }
  of.needs_two |= says_correlation || of.in_first < shape.size();
  of.adds_correlation = !of.is_correlated && !says_in_words;
  of.said_correlation = ",\"kprofCorrelation\":";
  ASSIGN_OR_RETURN(const std::string_view said_key, texts.quoted.Text(said == shape.size() ? 0 : shape[said].key));
  of.said_correlation += said_key;
  if (of.is_correlated) {
    of.needs_two = false;
    of.in_first = shape.size();
  }
  return of;
}

Status AppendArgs(std::string& out, std::span<const SegmentRows::Arg> args, const ChromeShape& shape, size_t from,
                  size_t to, int64_t correlation, ChromeTexts& texts, const ChromeArgsOf& of) {
  bool in_args = false;
  auto close = [&] {
    if (in_args) out += '}';
    in_args = false;
  };
  for (size_t i = from; i < to; ++i) {
    if (of.without_id && shape.is_of_id[i]) continue;
    if (shape.may_be_left_out[i]) {
      ASSIGN_OR_RETURN(const bool is_left_out, texts.left_out.Is(args[i]));
      if (is_left_out) continue;
    }
    if (args[i].slot.of_event) close();
    out += args[i].slot.of_event || in_args ? "," : ",\"args\":{";
    in_args = !args[i].slot.of_event;
    const bool is_disguised = shape.is_disguised[i] && (of.on_thread || !shape.is_thread[i]);
    RETURN_IF_ERROR(AppendMember(out, args[i], is_disguised, texts));
  }
  if (correlation != kNoValue) {
    out += in_args ? "," : ",\"args\":{";
    AppendCorrelation(out, correlation);
    in_args = true;
  }
  close();
  return OkStatus();
}

Status AppendArgsObject(std::string& out, std::span<const SegmentRows::Arg> args, bool of_event, ChromeTexts& texts) {
  bool has_some = false;
  for (const SegmentRows::Arg& arg : args) {
    if (arg.slot.of_event != of_event) continue;
    ASSIGN_OR_RETURN(const bool is_left_out, texts.left_out.Is(arg));
    if (is_left_out) continue;
    out += std::exchange(has_some, true) ? ',' : '{';
    RETURN_IF_ERROR(AppendMember(out, arg, false, texts));
  }
  if (has_some) out += '}';
  return OkStatus();
}

}  // namespace kprof
