#include "daemon/ingest/neuron/system_event_scan.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

#include "daemon/ingest/text/json_scan.h"

namespace kprof {
namespace {

static_assert(std::endian::native == std::endian::little);

// Eight digits at once, the first one lowest.
uint64_t EightDigits(uint64_t digits) {
  digits = digits * 10 + (digits >> 8);
  return ((digits & 0x0000'00ff'0000'00ff) * (100 + (uint64_t{1'000'000} << 32)) +
          ((digits >> 16) & 0x0000'00ff'0000'00ff) * (1 + (uint64_t{10'000} << 32))) >>
         32;
}

std::optional<int64_t> FractionIn(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr double kBeyond = 9.2e18;
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(std::abs(number) < kBeyond)) return std::nullopt;
  return static_cast<int64_t>(number);
}

enum class SystemField : uint8_t {
  kNone,
  kType,
  kPhase,
  kData,
  kIgnored,
  kTimestamp,
  kDuration,
  kUnit,
  kNc,
  kLogicalNc,
  kLocalNc,
  kCore,
  kTrackingId,
  kThread,
  kWorker,
  kSeqId,
  kExecId,
  kDeviceTime,
  kCpuTime,
  kSize,
  kModel,
  kModelId,
  kProcess,
  kInstance,
  kGroup,
};

struct SystemKey {
  std::string_view key;
  SystemField field;
};
constexpr SystemKey kSystemKeys[] = {
    {"id", SystemField::kIgnored},
    {"name", SystemField::kType},
    {"data", SystemField::kData},
    {"size", SystemField::kSize},
    {"phase", SystemField::kPhase},
    {"group", SystemField::kGroup},
    {"nc_idx", SystemField::kNc},
    {"lnc_idx", SystemField::kLogicalNc},
    {"exec_id", SystemField::kExecId},
    {"duration", SystemField::kDuration},
    {"model_id", SystemField::kModelId},
    {"timestamp", SystemField::kTimestamp},
    {"thread_id", SystemField::kThread},
    {"parent_id", SystemField::kNone},
    {"event_type", SystemField::kType},
    {"worker_gid", SystemField::kWorker},
    {"model_name", SystemField::kModel},
    {"process_id", SystemField::kProcess},
    {"nc_local_id", SystemField::kLocalNc},
    {"instance_id", SystemField::kInstance},
    {"tracking_id", SystemField::kTrackingId},
    {"nrta_seq_id", SystemField::kSeqId},
    {"timestamp_ns", SystemField::kTimestamp},
    {"timestamp_unit", SystemField::kUnit},
    {"nc_timestamp_ns", SystemField::kDeviceTime},
    {"device_core_idx", SystemField::kCore},
    {"cpu_timestamp_ns", SystemField::kCpuTime},
};
constexpr size_t kMostKeyBytes = 16;

constexpr size_t kWordBytes = sizeof(uint64_t);

// The first eight bytes of a text, those behind its end as zeros, and its last eight. Two texts of one length, at most
// kMostKeyBytes, are the same if these are.
struct KeyWords {
  uint64_t first = 0;
  uint64_t last = 0;
  bool operator==(const KeyWords&) const = default;
};

constexpr KeyWords WordsOf(std::string_view key) {
  KeyWords words;
  for (size_t i = 0; i < key.size() && i < kWordBytes; ++i) {
    words.first |= uint64_t{static_cast<unsigned char>(key[i])} << 8 * i;
    if (key.size() >= kWordBytes) {
      words.last |= uint64_t{static_cast<unsigned char>(key[key.size() - kWordBytes + i])} << 8 * i;
    }
  }
  return words;
}

// The same at once. REQUIRES: eight bytes behind `key` can be read.
KeyWords QuickWordsOf(std::string_view key) {
  KeyWords words;
  std::memcpy(&words.first, key.data(), kWordBytes);
  if (key.size() < kWordBytes) {
    words.first &= (uint64_t{1} << 8 * key.size()) - 1;
  } else {
    std::memcpy(&words.last, key.data() + key.size() - kWordBytes, kWordBytes);
  }
  return words;
}

constexpr size_t kSystemKeyCount = std::size(kSystemKeys);

// The keys of each length: [begin[length], begin[length + 1]) of kSystemKeys, and their words.
struct KeyTable {
  uint8_t begin[kMostKeyBytes + 2] = {};
  KeyWords words[kSystemKeyCount] = {};
};
constexpr KeyTable kKeyTable = [] {
  KeyTable table;
  for (size_t length = 0; length < kMostKeyBytes + 2; ++length) {
    for (const SystemKey& row : kSystemKeys) {
      if (row.key.size() < length) ++table.begin[length];
    }
  }
  for (size_t i = 0; i < kSystemKeyCount; ++i) table.words[i] = WordsOf(kSystemKeys[i].key);
  return table;
}();

SystemField FieldOf(std::string_view key) {
  if (key.size() > kMostKeyBytes) return SystemField::kNone;
  const KeyWords words = QuickWordsOf(key);
  for (size_t i = kKeyTable.begin[key.size()]; i < kKeyTable.begin[key.size() + 1]; ++i) {
    if (kKeyTable.words[i] == words) return kSystemKeys[i].field;
  }
  return SystemField::kNone;
}

std::string_view Unquoted(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
}

void Set(int64_t& field, std::string_view value) {
  if (const std::optional<int64_t> number = WholeNumberIn(value)) field = *number;
}

int64_t NsPerTick(std::string_view unit) {
  if (unit == "us") return 1'000;
  if (unit == "ms") return 1'000'000;
  if (unit == "s") return 1'000'000'000;
  return 1;
}

SystemEvent::Phase PhaseOf(std::string_view word) {
  using enum SystemEvent::Phase;
  if (word.size() >= kWordBytes) return kUnknown;
  const uint64_t first = QuickWordsOf(word).first;
  if (first == WordsOf("start").first) return kStart;
  if (first == WordsOf("stop").first) return kStop;
  return first == WordsOf("instant").first ? kInstant : kUnknown;
}

void Keep(SystemEvent& event, std::string_view key, std::string_view value) {
  if (event.members.size() >= kMostSystemEventArgs) {
    event.left_out = true;
    return;
  }
  event.members.push_back({key, value});
}

// `in_data`: a member of the event's data, of which all are kept, but for times.
void SetField(SystemEvent& event, std::string_view key, std::string_view value, bool in_data) {
  const SystemField field = FieldOf(key);
  switch (field) {
    case SystemField::kType:
      if (in_data) return Keep(event, key, value);
      event.type = Unquoted(value);
      return;
    case SystemField::kPhase:
      if (in_data) return Keep(event, key, value);
      event.phase = PhaseOf(Unquoted(value));
      return;
    case SystemField::kIgnored:
      if (in_data) Keep(event, key, value);
      return;
    case SystemField::kTimestamp:
      if (in_data) return Keep(event, key, value);
      return Set(event.timestamp_ns, value);
    case SystemField::kDuration:
      if (in_data) return Keep(event, key, value);
      return Set(event.duration_ns, value);
    case SystemField::kUnit:
      event.ns_per_tick = NsPerTick(Unquoted(value));
      return;
    case SystemField::kNc:
      return Set(event.nc, value);
    case SystemField::kLogicalNc:
      return Set(event.logical_nc, value);
    case SystemField::kLocalNc:
      return Set(event.local_nc, value);
    case SystemField::kCore:
      Set(event.core, value);
      return Keep(event, key, value);
    case SystemField::kTrackingId:
      return Set(event.tracking_id, value);
    case SystemField::kThread:
      return Set(event.thread, value);
    case SystemField::kWorker:
      return Set(event.worker, value);
    case SystemField::kSeqId:
      Set(event.seq_id, value);
      return Keep(event, key, value);
    case SystemField::kExecId:
      Set(event.exec_id, value);
      return Keep(event, key, value);
    case SystemField::kDeviceTime:
      return Set(event.device_ns, value);
    case SystemField::kCpuTime:
      return Set(event.cpu_sync_ns, value);
    case SystemField::kSize:
      Set(event.size_bytes, value);
      return Keep(event, key, value);
    case SystemField::kModel:
      event.model = value;
      return Keep(event, key, value);
    case SystemField::kModelId:
      event.model_id = value;
      return Keep(event, key, value);
    case SystemField::kProcess:
      event.process = value;
      return;
    case SystemField::kInstance:
      event.instance = value;
      return;
    case SystemField::kGroup:
      event.group = Unquoted(value);
      return Keep(event, key, value);
    case SystemField::kData:
    case SystemField::kNone:
      return Keep(event, key, value);
  }
}

const char* ScanMembersOf(const char* at, const char* end, SystemEvent& event, bool in_data) {
  at = SkipSpace(at + 1);
  if (*at == '}' && at < end) return at + 1;
  while (at < end && *at == '"') {
    const char* const key_end = FindStringEnd(at + 1, end);
    if (key_end == nullptr) return nullptr;
    const std::string_view key(at + 1, static_cast<size_t>(key_end - at - 1));
    at = SkipSpace(key_end + 1);
    if (*at != ':') return nullptr;
    at = SkipSpace(at + 1);
    if (at >= end) return nullptr;
    if (*at == '{' && !in_data && key == "data") {
      at = ScanMembersOf(at, end, event, true);
      if (at == nullptr) return nullptr;
    } else {
      const char* const value_end =
          BeginsNumber(*at) ? FindNumberEnd(at) : FindValueEnd(at, end, kMostSystemEventNesting);
      if (value_end == nullptr || value_end > end) return nullptr;
      SetField(event, key, {at, static_cast<size_t>(value_end - at)}, in_data);
      at = value_end;
    }
    at = SkipSpace(at);
    if (at >= end) return nullptr;
    if (*at == '}') return at + 1;
    if (*at != ',') return nullptr;
    at = SkipSpace(at + 1);
  }
  return nullptr;
}

}  // namespace

void SystemEvent::Clear() {
  std::vector<Member> kept = std::move(members);
  kept.clear();
  *this = SystemEvent();
  members = std::move(kept);
}

std::optional<int64_t> WholeNumberIn(std::string_view value) {
  value = Unquoted(value);
  const bool is_negative = value.starts_with('-');
  size_t at = is_negative ? 1 : 0;
  constexpr size_t kMostWholeDigits = 20;
  if (value.size() - at > kMostWholeDigits || value.size() == at) return FractionIn(value);
  uint64_t number = 0;
  while (value.size() - at >= 8) {
    uint64_t digits = 0;
    std::memcpy(&digits, value.data() + at, sizeof(digits));
    digits ^= 0x3030'3030'3030'3030;
    if ((((digits + 0x7676'7676'7676'7676) | digits) & 0x8080'8080'8080'8080) != 0) break;
    number = number * 100'000'000 + EightDigits(digits);
    at += 8;
  }
  for (; at < value.size(); ++at) {
    const auto digit = static_cast<uint64_t>(static_cast<unsigned char>(value[at]) - '0');
    if (digit > 9) return FractionIn(value);
    if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, digit, &number)) {
      return std::nullopt;
    }
  }
  if (is_negative) {
    if (number > uint64_t{1} << 63) return std::nullopt;
    return static_cast<int64_t>(0 - number);
  }
  return static_cast<int64_t>(number);
}

const char* ScanSystemEvent(const char* at, const char* end, SystemEvent& event) {
  event.Clear();
  const char* const behind = ScanMembersOf(at, end, event, false);
  if (behind == nullptr) return nullptr;
  event.has_device_core_clock = event.device_ns != kNoValue;
  if (event.logical_nc != kNoValue) event.nc = event.logical_nc;
  if (event.phase == SystemEvent::Phase::kUnknown && event.duration_ns != kNoValue) {
    event.phase = SystemEvent::Phase::kWhole;
  }
  if (event.ns_per_tick != 1) {
    for (int64_t* time : {&event.timestamp_ns, &event.duration_ns}) {
      if (*time != kNoValue && __builtin_mul_overflow(*time, event.ns_per_tick, time)) *time = kNoValue;
    }
  }
  return behind;
}

bool ScanSystemEventData(std::string_view object, SystemEvent& event) {
  const char* const at = SkipSpace(object.data());
  return *at == '{' && ScanMembersOf(at, object.data() + object.size(), event, true) != nullptr;
}

}  // namespace kprof
