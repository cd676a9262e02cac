#include "daemon/exports/perfetto_packets.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "daemon/exports/json_bytes.h"
#include "daemon/ingest/text/environment_text.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr uint32_t kPacket = 1;
constexpr uint32_t kClockSnapshot = 6;
constexpr uint32_t kTimestamp = 8;
constexpr uint32_t kSequence = 10;
constexpr uint32_t kTrackEvent = 11;
constexpr uint32_t kInternedData = 12;
constexpr uint32_t kSequenceFlags = 13;
constexpr uint32_t kTrackDescriptor = 60;

constexpr uint64_t kStateCleared = 1;
constexpr uint64_t kNeedsState = 2;

constexpr uint32_t kCategoryIids = 3;
constexpr uint32_t kDebugAnnotations = 4;
constexpr uint32_t kType = 9;
constexpr uint32_t kNameIid = 10;
constexpr uint32_t kTrackUuid = 11;
constexpr uint32_t kDoubleCounterValue = 44;
constexpr uint32_t kFlowIds = 47;
constexpr uint32_t kTerminatingFlowIds = 48;

constexpr uint32_t kInternedCategories = 1;
constexpr uint32_t kInternedNames = 2;
constexpr uint32_t kInternedKeys = 3;

constexpr uint32_t kKeyIid = 1;
constexpr uint32_t kBool = 2;
constexpr uint32_t kUint = 3;
constexpr uint32_t kInt = 4;
constexpr uint32_t kDouble = 5;
constexpr uint32_t kString = 6;
constexpr uint32_t kJson = 9;
constexpr uint32_t kKey = 10;

constexpr uint64_t kRealtime = 1;
constexpr uint64_t kBoottime = 6;

constexpr std::string_view kCorrelationAnnotation = "correlation";
constexpr size_t kMostInterned = 1 << 20;

double DoubleOf(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : std::nan("");
}

// Nothing where the text is more than an integer of that type.
template <typename Integer>
std::optional<Integer> Whole(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

double DecimalOf(int64_t packed) {
  std::string text;
  AppendDecimal(text, packed);
  return DoubleOf(text);
}

}  // namespace

PerfettoPackets::PerfettoPackets(PartReader& part, uint32_t sequence, ExportOutput& output)
    : sequence_(sequence),
      output_(output),
      texts_(part,
             [](std::string_view text) {
               const std::optional<std::string> without = TextWithoutEnvironment(text, EnvironmentKept::kNone);
               return ReadableText(without ? *without : text);
             }),
      values_(part,
              [](std::string_view text) { return ReadableText(WithoutEnvironment(text, EnvironmentKept::kNone)); }),
      left_out_(part) {}

void PerfettoPackets::ClearState() {
  names_.clear();
  categories_.clear();
  keys_.clear();
  packet_.Clear();
  SendPacket(packet_, kStateCleared);
}

void PerfettoPackets::AddDescriptor(const ProtoBytes& descriptor) {
  packet_.Clear();
  packet_.Message(kTrackDescriptor, descriptor);
  SendPacket(packet_, 0);
}

void PerfettoPackets::AddClocks(uint64_t trace_ns, uint64_t unix_ns) {
  ProtoBytes snapshot;
  for (const auto& [clock, time] : {std::pair(kBoottime, trace_ns), std::pair(kRealtime, unix_ns)}) {
    piece_.Clear();
    piece_.Varint(1, clock);
    piece_.Varint(2, time);
    snapshot.Message(1, piece_);
  }
  snapshot.Varint(2, kBoottime);
  packet_.Clear();
  packet_.Message(kClockSnapshot, snapshot);
  SendPacket(packet_, 0);
}

void PerfettoPackets::Begin(uint64_t time_ns, PerfettoEvent type, uint64_t track) {
  texts_.Trim();
  values_.Trim();
  left_out_.Trim();
  if (names_.size() + categories_.size() + keys_.size() > kMostInterned) ClearState();
  time_ns_ = time_ns;
  event_.Clear();
  interned_.Clear();
  event_.Varint(kType, static_cast<uint64_t>(type));
  event_.Varint(kTrackUuid, track);
}

// Numbers from 1 on.
uint64_t PerfettoPackets::Interned(std::unordered_set<int64_t>& sent, uint32_t field, int64_t id,
                                   std::string_view text) {
  const uint64_t iid = static_cast<uint64_t>(id) + 1;
  if (sent.insert(id).second) {
    ProtoBytes entry;
    entry.Varint(1, iid);
    entry.Bytes(2, text);
    interned_.Message(field, entry);
  }
  return iid;
}

Status PerfettoPackets::SetName(int64_t name) {
  ASSIGN_OR_RETURN(const std::string_view text, texts_.Text(name));
  event_.Varint(kNameIid, Interned(names_, kInternedNames, name, text));
  return OkStatus();
}

Status PerfettoPackets::SetCategory(int64_t category) {
  if (category == 0) return OkStatus();
  ASSIGN_OR_RETURN(const std::string_view text, texts_.Text(category));
  event_.Varint(kCategoryIids, Interned(categories_, kInternedCategories, category, text));
  return OkStatus();
}

void PerfettoPackets::SetCounter(double value) {
  event_.Double(kDoubleCounterValue, value);
}

void PerfettoPackets::AddFlow(uint64_t id, bool is_last) {
  event_.Fixed64(is_last ? kTerminatingFlowIds : kFlowIds, id);
}

Status PerfettoPackets::AddArgs(std::span<const SegmentRows::Arg> args, int64_t correlation) {
  for (const SegmentRows::Arg& arg : args) {
    ASSIGN_OR_RETURN(const bool is_left_out, left_out_.Is(arg));
    if (is_left_out) continue;
    ASSIGN_OR_RETURN(const std::string_view key, texts_.Text(arg.slot.key));
    if (key == kCorrelationAnnotation) correlation = kNoValue;
    piece_.Clear();
    piece_.Varint(kKeyIid, Interned(keys_, kInternedKeys, arg.slot.key, key));
    switch (arg.slot.type) {
      case ArgType::kNull:
        piece_.Bytes(kString, "null");
        break;
      case ArgType::kFalse:
      case ArgType::kTrue:
        piece_.Varint(kBool, arg.slot.type == ArgType::kTrue ? 1 : 0);
        break;
      case ArgType::kCorrelation:
      case ArgType::kInteger:
        piece_.Integer(kInt, arg.value);
        break;
      case ArgType::kDecimal:
        piece_.Double(kDouble, DecimalOf(arg.value));
        break;
      case ArgType::kNumber: {
        ASSIGN_OR_RETURN(const std::string_view text, texts_.Text(arg.value));
        SetNumber(text);
        break;
      }
      case ArgType::kString: {
        ASSIGN_OR_RETURN(const std::string_view text, texts_.Text(arg.value));
        piece_.Bytes(kString, text);
        break;
      }
      case ArgType::kJson: {
        ASSIGN_OR_RETURN(const std::string_view text, values_.Text(arg.value));
        piece_.Bytes(kJson, text);
        break;
      }
    }
    event_.Message(kDebugAnnotations, piece_);
  }
  if (correlation != kNoValue) AddNote(kCorrelationAnnotation, correlation);
  return OkStatus();
}

// What a part keeps as text: of more digits than it has integers for, with an exponent, or none of JSON.
void PerfettoPackets::SetNumber(std::string_view text) {
  if (const std::optional<int64_t> integer = Whole<int64_t>(text)) return piece_.Integer(kInt, *integer);
  if (const std::optional<uint64_t> large = Whole<uint64_t>(text)) return piece_.Varint(kUint, *large);
  const double value = DoubleOf(text);
  if (std::isfinite(value)) {
    piece_.Double(kDouble, value);
  } else {
    piece_.Bytes(kString, text);
  }
}

void PerfettoPackets::AddNote(std::string_view key, int64_t value) {
  piece_.Clear();
  piece_.Bytes(kKey, key);
  piece_.Integer(kInt, value);
  event_.Message(kDebugAnnotations, piece_);
}

void PerfettoPackets::AddNote(std::string_view key, std::string_view value) {
  piece_.Clear();
  piece_.Bytes(kKey, key);
  piece_.Bytes(kString, value);
  event_.Message(kDebugAnnotations, piece_);
}

void PerfettoPackets::Send() {
  packet_.Clear();
  packet_.Varint(kTimestamp, time_ns_);
  if (!interned_.empty()) packet_.Message(kInternedData, interned_);
  packet_.Message(kTrackEvent, event_);
  SendPacket(packet_, kNeedsState);
}

void PerfettoPackets::SendPacket(ProtoBytes& packet, uint64_t flags) {
  packet.Varint(kSequence, sequence_);
  if (flags != 0) packet.Varint(kSequenceFlags, flags);
  framed_.Clear();
  framed_.Message(kPacket, packet);
  output_.bytes() += framed_.bytes();
}

}  // namespace kprof
