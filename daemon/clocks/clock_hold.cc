#include "daemon/clocks/clock_hold.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "storage/base/sha256.h"

namespace kprof {
namespace {

constexpr std::string_view kFirstLine = "kprof clocks held 1\n";
constexpr std::string_view kSum = "sum ";
constexpr size_t kSumLength = 16;
constexpr size_t kTextLimit = 16 << 10;

std::string SumOf(std::string_view text) {
  return Sha256Of(text).substr(0, kSumLength);
}

std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

void AddLine(std::string& text, std::string_view key, const std::string& value) {
  text.append(key).append(" ").append(OneLine(value)).append("\n");
}

template <typename T>
void AddLine(std::string& text, std::string_view key, const std::optional<T>& value) {
  if (value) AddLine(text, key, std::to_string(*value));
}

Status Damaged(const std::string& why) {
  return Fail(ErrorCode::kStorageBroken, "read which clocks are held", why,
              "nvidia-smi -rgc and -rmc unlock the clocks; then remove the file");
}

template <typename T>
bool ParseNumber(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseNumber(std::string_view text, std::optional<uint32_t>& number) {
  return ParseNumber(text, number.emplace());
}

bool ParseFlag(std::string_view text, bool& flag) {
  flag = text == "1";
  return text == "1" || text == "0";
}

// Whether the key is known and its value makes sense.
bool TakeLine(std::string_view key, std::string_view value, ClockHold& hold) {
  if (key == "boot") return !(hold.boot_id = value).empty();
  if (key == "device") return !(hold.uuid = value).empty();
  if (key == "holder") {
    hold.holder = value;
    return true;
  }
  if (key == "since_unix_ns") return ParseNumber(value, hold.since_unix_ns);
  if (key == "prior_persistence") return ParseFlag(value, hold.prior.persistence.emplace());
  if (key == "prior_power_limit_mw") return ParseNumber(value, hold.prior.power_limit_mw);
  if (key == "prior_application_memory_mhz") return ParseNumber(value, hold.prior.application_memory_mhz);
  if (key == "prior_application_sm_mhz") return ParseNumber(value, hold.prior.application_sm_mhz);
  if (key == "wanted_sm_mhz") return ParseNumber(value, hold.wanted.sm_mhz);
  if (key == "wanted_memory_mhz") return ParseNumber(value, hold.wanted.memory_mhz);
  if (key == "wanted_persistence") return ParseFlag(value, hold.wanted.persistence);
  if (key == "wanted_power_limit_mw") return ParseNumber(value, hold.wanted.power_limit_mw);
  if (key == "set_sm") return ParseFlag(value, hold.set.sm);
  if (key == "set_memory") return ParseFlag(value, hold.set.memory);
  if (key == "set_persistence") return ParseFlag(value, hold.set.persistence);
  if (key == "set_power_limit") return ParseFlag(value, hold.set.power);
  return false;
}

}  // namespace

std::string ClockHoldText(const ClockHold& hold) {
  std::string text(kFirstLine);
  AddLine(text, "boot", hold.boot_id);
  AddLine(text, "device", hold.uuid);
  AddLine(text, "holder", hold.holder);
  AddLine(text, "since_unix_ns", std::to_string(hold.since_unix_ns));
  AddLine(text, "prior_persistence", hold.prior.persistence);
  AddLine(text, "prior_power_limit_mw", hold.prior.power_limit_mw);
  AddLine(text, "prior_application_memory_mhz", hold.prior.application_memory_mhz);
  AddLine(text, "prior_application_sm_mhz", hold.prior.application_sm_mhz);
  AddLine(text, "wanted_sm_mhz", hold.wanted.sm_mhz);
  AddLine(text, "wanted_memory_mhz", hold.wanted.memory_mhz);
  AddLine(text, "wanted_persistence", std::to_string(static_cast<int>(hold.wanted.persistence)));
  AddLine(text, "wanted_power_limit_mw", hold.wanted.power_limit_mw);
  for (const auto& [key, is_set] : {std::pair{"set_sm", hold.set.sm},
                                    {"set_memory", hold.set.memory},
                                    {"set_persistence", hold.set.persistence},
                                    {"set_power_limit", hold.set.power}}) {
    AddLine(text, key, std::to_string(static_cast<int>(is_set)));
  }
  return text + std::string(kSum) + SumOf(text) + "\n";
}

Result<ClockHold> ParseClockHold(std::string_view text) {
  if (text.size() > kTextLimit) return Damaged("the file is too long to be one of kprof's");
  if (!text.starts_with(kFirstLine)) return Damaged("its first line is not 'kprof clocks held 1'");
  const size_t sum = text.rfind(kSum);
  if (sum == std::string_view::npos || sum == 0 || text[sum - 1] != '\n') return Damaged("its last line is missing");
  if (text.substr(sum) != std::string(kSum) + SumOf(text.substr(0, sum)) + "\n") {
    return Damaged("its sum is not that of its lines");
  }
  ClockHold hold;
  std::string_view rest = text.substr(kFirstLine.size(), sum - kFirstLine.size());
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || !TakeLine(line.substr(0, space), line.substr(space + 1), hold)) {
      return Damaged("it holds the line '" + std::string(line.substr(0, 80)) + "'");
    }
  }
  if (hold.boot_id.empty() || hold.uuid.empty()) return Damaged("it does not say whose it is");
  return hold;
}

}  // namespace kprof
