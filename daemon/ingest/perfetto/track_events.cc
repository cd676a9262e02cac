#include "daemon/ingest/perfetto/track_events.h"

#include "daemon/ingest/source/proto_fields.h"

namespace kprof {
namespace {

template <typename Value>
void AddBounded(std::vector<Value>& to, Value value) {
  if (to.size() < PerfettoTrackEvent::kMostOfEach) to.push_back(value);
}

// As Chrome wrote its own events before there were types.
void ReadLegacyEvent(std::string_view bytes, PerfettoTrackEvent& event) {
  ProtoFields fields(bytes);
  uint64_t phase = 0;
  while (fields.Next()) {
    if (fields.number() == 1 && fields.is_number() && !event.name_iid) event.name_iid = fields.value();
    if (fields.number() == 2) phase = fields.value();
    if (fields.number() == 3 && fields.is_number()) event.duration_us = fields.integer();
  }
  if (event.type != TrackEventType::kUnknown) return;
  if (phase == 'B') event.type = TrackEventType::kBegin;
  if (phase == 'E') event.type = TrackEventType::kEnd;
  if (phase == 'X') event.type = TrackEventType::kComplete;
  if (phase == 'I' || phase == 'i' || phase == 'R') event.type = TrackEventType::kInstant;
}

}  // namespace

void PerfettoTrackEvent::Read(std::string_view bytes) {
  type = TrackEventType::kUnknown;
  track.reset();
  name_iid.reset();
  name = {};
  category_iid.reset();
  category = {};
  duration_us.reset();
  count.reset();
  value.reset();
  annotations.clear();
  flows.clear();
  last_flows.clear();
  launched_events.clear();
  correlation.reset();
  counter_tracks.clear();
  counts.clear();
  value_tracks.clear();
  values.clear();
  std::string_view legacy;
  ProtoFields fields(bytes);
  while (fields.Next()) {
    switch (fields.number()) {
      case 3:
        fields.ForEachNumber(ProtoFields::kVarint, [&](uint64_t iid) {
          if (!category_iid) category_iid = iid;
        });
        break;
      case 4:
        AddBounded(annotations, fields.bytes());
        break;
      case 6:
        legacy = fields.bytes();
        break;
      case 9:
        if (fields.value() <= static_cast<uint64_t>(TrackEventType::kCounter)) {
          type = static_cast<TrackEventType>(fields.value());
        }
        break;
      case 10:
        name_iid = fields.value();
        break;
      case 11:
        track = fields.value();
        break;
      case 12:
        fields.ForEachNumber(ProtoFields::kVarint,
                             [&](uint64_t number) { AddBounded(counts, static_cast<int64_t>(number)); });
        break;
      case 22:
        if (category.empty()) category = fields.bytes();
        break;
      case 23:
        name = fields.bytes();
        break;
      case 30:
        count = fields.integer();
        break;
      case 31:
        fields.ForEachNumber(ProtoFields::kVarint, [&](uint64_t uuid) { AddBounded(counter_tracks, uuid); });
        break;
      case 36:
        fields.ForEachNumber(ProtoFields::kVarint, [&](uint64_t id) { AddBounded(flows, id); });
        break;
      case 42:
        fields.ForEachNumber(ProtoFields::kVarint, [&](uint64_t id) { AddBounded(last_flows, id); });
        break;
      case 44:
        value = fields.real();
        break;
      case 45:
        fields.ForEachNumber(ProtoFields::kVarint, [&](uint64_t uuid) { AddBounded(value_tracks, uuid); });
        break;
      case 46:
        fields.ForEachNumber(ProtoFields::kFixed64,
                             [&](uint64_t bits) { AddBounded(values, std::bit_cast<double>(bits)); });
        break;
      case 47:
        fields.ForEachNumber(ProtoFields::kFixed64, [&](uint64_t id) { AddBounded(flows, id); });
        break;
      case 48:
        fields.ForEachNumber(ProtoFields::kFixed64, [&](uint64_t id) { AddBounded(last_flows, id); });
        break;
      case 52:
        correlation = fields.value();
        break;
      case 3000: {
        ProtoFields launched(fields.bytes());
        while (launched.Next()) {
          if (launched.number() != 1) continue;
          launched.ForEachNumber(ProtoFields::kVarint, [&](uint64_t id) { AddBounded(launched_events, id); });
        }
        break;
      }
      default:
        break;
    }
  }
  if (!legacy.empty()) ReadLegacyEvent(legacy, *this);
}

PerfettoArg ReadAnnotation(std::string_view bytes) {
  using enum PerfettoArg::Type;
  PerfettoArg arg;
  ProtoFields fields(bytes);
  const auto set = [&](PerfettoArg::Type type) {
    arg.type = type;
    arg.bits = fields.value();
    arg.real = fields.real();
    arg.text = fields.bytes();
  };
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        arg.name_iid = fields.value();
        break;
      case 10:
        arg.name = fields.bytes();
        break;
      case 2:
        set(kBool);
        break;
      case 3:
      case 7:
        set(kUnsigned);
        break;
      case 4:
        set(kInteger);
        break;
      case 5:
        set(kReal);
        break;
      case 6:
        set(kText);
        break;
      case 17:
        set(kTextIid);
        break;
      case 9:
        set(kJson);
        break;
      case 8:
      case 11:
      case 12:
        arg.type = kNested;
        arg.message = bytes;
        break;
      default:
        break;
    }
  }
  return arg;
}

PerfettoArg ReadComputeArg(std::string_view bytes) {
  using enum PerfettoArg::Type;
  PerfettoArg arg;
  ProtoFields fields(bytes);
  while (fields.Next()) {
    constexpr PerfettoArg::Type kTypes[] = {kNothing, kNothing, kNothing, kInteger, kUnsigned, kReal, kText, kTextIid};
    if (fields.number() == 1) arg.name_iid = fields.value();
    if (fields.number() == 2) arg.name = fields.bytes();
    if (fields.number() < 3 || fields.number() > 7) continue;
    arg.type = kTypes[fields.number()];
    arg.bits = fields.value();
    arg.real = fields.real();
    arg.text = fields.bytes();
  }
  return arg;
}

PerfettoArg ReadExtraData(std::string_view bytes) {
  PerfettoArg arg;
  ProtoFields fields(bytes);
  while (fields.Next()) {
    if (fields.number() == 1) arg.name = fields.bytes();
    if (fields.number() != 2) continue;
    arg.type = PerfettoArg::Type::kText;
    arg.text = fields.bytes();
  }
  return arg;
}

}  // namespace kprof
