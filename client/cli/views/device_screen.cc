#include "client/cli/views/device_screen.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <tuple>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/terminal_text.h"

namespace kprof::cli {
namespace {

constexpr size_t kMostEvents = 200;
constexpr size_t kMostBars = 120;
constexpr size_t kLeastEventRows = 3;
// Devices in two lines each take up to this share of the screen; else they have one.
constexpr size_t kDeviceShare = 3;  // of 4
constexpr uint32_t kLittleRoomC = 10;

struct Column {
  const char* title;
  size_t width;
};
constexpr size_t kFigures = 7;
using Columns = std::array<Column, kFigures>;
constexpr Columns kWideColumns = {
    {{"DEVICE", 8}, {"SM CLOCK", 19}, {"POWER", 13}, {"TEMPERATURE", 19}, {"BUSY", 7}, {"MEMORY", 24}, {"HELD BY", 0}}};
// In fewer words, so that a holder's id and who waits fit 80 columns.
constexpr Columns kNarrowColumns = {
    {{"DEVICE", 8}, {"SM MHZ", 10}, {"POWER", 10}, {"TEMP", 6}, {"BUSY", 6}, {"MEMORY", 16}, {"HELD BY", 0}}};
constexpr size_t kLeastWide = 110;

const Columns& ColumnsFor(bool narrow) {
  return narrow ? kNarrowColumns : kWideColumns;
}

std::string Padded(const std::string& text, size_t width) {
  const size_t is = WidthOf(text);
  return is + 1 >= width ? Shortened(text, width - 1) + " " : text + std::string(width - is, ' ');
}

// Cuts what does not fit.
ScreenLine Fit(ScreenLine line, size_t columns) {
  size_t left = columns;
  for (StyledText& piece : line) {
    if (WidthOf(piece.text) > left) piece.text = Shortened(piece.text, left);
    left -= std::min(left, WidthOf(piece.text));
  }
  return line;
}

std::optional<uint32_t> SlowsDownAt(const v1::NvidiaFacts& facts) {
  std::optional<uint32_t> least;
  if (facts.has_slowdown_c()) least = facts.slowdown_c();
  if (facts.has_most_gpu_c() && (!least || facts.most_gpu_c() < *least)) least = facts.most_gpu_c();
  return least;
}

StyledText ClockText(const v1::Device& device, bool narrow) {
  const v1::NvidiaFacts& facts = device.nvidia();
  if (!facts.has_sm_mhz()) return {};
  StyledText text{std::to_string(facts.sm_mhz()) + (narrow ? "" : " MHz"), TextStyle::kPlain};
  const v1::DeviceClocks& clocks = device.clocks();
  if (!clocks.locked() || !clocks.has_locked_sm_mhz()) return text;
  const uint32_t locked_mhz = clocks.locked_sm_mhz();
  if (narrow) {
    text.text += locked_mhz == 0 ? " base" : "/" + std::to_string(locked_mhz);
  } else {
    text.text += locked_mhz == 0 ? ", base" : "";
    if (locked_mhz != 0) text.text = std::to_string(facts.sm_mhz()) + " of " + std::to_string(locked_mhz) + " MHz";
  }
  // A device that idles need not be at its clock.
  if (locked_mhz != 0 && facts.gpu_percent() > 0 && facts.sm_mhz() + 15 < locked_mhz) text.style = TextStyle::kWarning;
  return text;
}

StyledText PowerText(const v1::Device& device, bool narrow) {
  const v1::NvidiaFacts& facts = device.nvidia();
  if (device.has_neuron() && device.neuron().has_power_mean_percent()) {
    return {std::to_string(std::lround(device.neuron().power_mean_percent())) + " %", TextStyle::kPlain};
  }
  if (!facts.has_power_mw()) return {};
  std::string text = std::to_string((facts.power_mw() + 500) / 1000);
  if (facts.has_power_limit_mw())
    text += (narrow ? "/" : " of ") + std::to_string((facts.power_limit_mw() + 500) / 1000);
  return {text + " W", TextStyle::kPlain};
}

StyledText TemperatureText(const v1::NvidiaFacts& facts, bool narrow) {
  if (!facts.has_temperature_c()) return {};
  StyledText text{std::to_string(facts.temperature_c()) + " C", TextStyle::kPlain};
  const std::optional<uint32_t> limit_c = SlowsDownAt(facts);
  if (!limit_c) return text;
  if (!narrow) text.text += ", slows at " + std::to_string(*limit_c);
  if (facts.temperature_c() + kLittleRoomC > *limit_c) text.style = TextStyle::kWarning;
  return text;
}

std::optional<double> BusyPercent(const v1::Device& device) {
  if (device.has_nvidia() && device.nvidia().has_gpu_percent()) return device.nvidia().gpu_percent();
  if (!device.has_neuron() || device.neuron().cores_size() == 0) return std::nullopt;
  double sum = 0;
  for (const v1::NeuronCore& core : device.neuron().cores()) {
    if (!core.has_utilization_percent()) return std::nullopt;
    sum += core.utilization_percent();
  }
  return sum / device.neuron().cores_size();
}

std::string MemoryText(const v1::Device& device, bool narrow) {
  const auto text = [narrow](uint64_t used_bytes, uint64_t all_bytes) {
    const std::string used = FormatBytes(static_cast<int64_t>(used_bytes));
    const std::string all = FormatBytes(static_cast<int64_t>(all_bytes));
    if (!narrow || all_bytes == 0) return used + " of " + all;
    // In the unit of the whole.
    const double share = static_cast<double>(used_bytes) / static_cast<double>(all_bytes);
    char number[32];
    std::snprintf(number, sizeof(number), "%.1f/", share * std::strtod(all.c_str(), nullptr));
    return number + all;
  };
  const v1::NvidiaFacts& nvidia = device.nvidia();
  if (nvidia.has_memory_used_bytes()) return text(nvidia.memory_used_bytes(), nvidia.memory_bytes());
  const v1::NeuronFacts& neuron = device.neuron();
  return neuron.has_memory_used_bytes() ? text(neuron.memory_used_bytes(), neuron.memory_bytes()) : "";
}

std::string HolderText(const v1::Device& device, bool narrow) {
  std::string holder = device.held_since_unix_ns() != 0 ? "another user" : "free";
  if (!device.run_id().empty()) holder = (narrow ? "" : "run ") + device.run_id();
  if (!device.session_id().empty()) {
    holder = "session " + device.session_id() + (device.run_id().empty() ? "" : ", run " + device.run_id());
  }
  if (device.queued() > 0)
    holder += ", " + std::to_string(device.queued()) + (device.queued() == 1 ? " waits" : " wait");
  return TerminalText(holder);
}

bool Throttles(const std::string& reason) {
  constexpr std::array<std::string_view, 5> kThrottles = {"power_cap", "hw_slowdown", "thermal", "hw_thermal",
                                                          "power_brake"};
  return std::find(kThrottles.begin(), kThrottles.end(), reason) != kThrottles.end();
}

size_t ProcessesOf(const v1::Device& device) {
  return static_cast<size_t>(device.nvidia().processes_size()) + static_cast<size_t>(device.neuron().processes_size());
}

// "12:34:56" of "2026-11-26 12:34:56".
std::string TimeOfDay(int64_t unix_ns) {
  const std::string time = FormatTime(unix_ns);
  const size_t blank = time.find_first_of(" T");
  return blank == std::string::npos ? time : time.substr(blank + 1, 8);
}

}  // namespace

bool DeviceScreen::InOrder::operator()(const std::string& a, const std::string& b) const {
  const auto key = [](const std::string& id) {
    int64_t number = INT64_MAX;
    const auto read = std::from_chars(id.data(), id.data() + id.size(), number);
    if (read.ec != std::errc() || read.ptr != id.data() + id.size()) number = INT64_MAX;
    // Behind a common name, neuron2 goes before neuron10.
    return std::tuple(id == "cpu", number, id.size(), id);
  };
  return key(a) < key(b);
}

void DeviceScreen::Take(const DeviceFollower::News& news, int64_t now_unix_ns) {
  for (const auto& [id, device] : news.devices) devices_[id].latest = device;
  if (news.heard) {
    for (auto& [id, one] : devices_) {
      const std::optional<double> busy = BusyPercent(one.latest);
      if (!busy) continue;
      one.busy_percent.push_back(*busy);
      if (one.busy_percent.size() > kMostBars) one.busy_percent.pop_front();
    }
  }
  missing_events_ += news.dropped_events;
  for (const v1::DeviceEvent& event : news.events) {
    events_.push_back(event);
    if (events_.size() > kMostEvents) events_.pop_front();
  }
  if (!news.disconnected) {
    away_since_unix_ns_ = 0;
  } else if (away_since_unix_ns_ == 0) {
    away_since_unix_ns_ = now_unix_ns;
  }
}

ScreenLine DeviceScreen::Header(int64_t now_unix_ns) const {
  ScreenLine line = {{"kprofd on " + TerminalText(node_name_) + "  " + TimeOfDay(now_unix_ns), TextStyle::kTitle}};
  if (away_since_unix_ns_ != 0) {
    line.push_back({"  kprofd is away for " +
                        FormatDuration((now_unix_ns - away_since_unix_ns_) / 1'000'000'000 * 1'000'000'000) +
                        "; this is what was known",
                    TextStyle::kTrouble});
  }
  return line;
}

ScreenLine DeviceScreen::Figures(const v1::Device& device, bool narrow) const {
  const std::optional<double> busy = BusyPercent(device);
  const StyledText cells[] = {{TerminalText(device.id()), TextStyle::kPlain},
                              ClockText(device, narrow),
                              PowerText(device, narrow),
                              TemperatureText(device.nvidia(), narrow),
                              {busy ? std::to_string(std::lround(*busy)) + " %" : "", TextStyle::kPlain},
                              {MemoryText(device, narrow), TextStyle::kPlain},
                              {HolderText(device, narrow), TextStyle::kPlain}};
  static_assert(std::size(cells) == kFigures);
  ScreenLine line;
  for (size_t i = 0; i < std::size(cells); ++i) {
    const size_t width = ColumnsFor(narrow)[i].width;
    line.push_back({width == 0 ? cells[i].text : Padded(cells[i].text, width), cells[i].style});
  }
  return line;
}

// What it is, what is wrong with it, and how busy it was.
ScreenLine DeviceScreen::Words(const OneDevice& device, size_t columns) const {
  const v1::Device& latest = device.latest;
  ScreenLine line = {{std::string(kWideColumns[0].width, ' ') + TerminalText(latest.name()), TextStyle::kFaint}};
  const auto add = [&](const std::string& text, TextStyle style) {
    line.push_back({"  " + TerminalText(text), style});
  };
  if (!latest.health().empty() && latest.health() != "ok") {
    add(latest.health() + (latest.trouble().empty() ? "" : ": " + latest.trouble()), TextStyle::kTrouble);
  }
  if (!latest.clocks().trouble().empty())
    add("clocks not given back: " + latest.clocks().trouble(), TextStyle::kTrouble);
  for (const std::string& reason : latest.nvidia().clock_reasons()) {
    add(reason, Throttles(reason) ? TextStyle::kWarning : TextStyle::kFaint);
  }
  for (const std::string& component : latest.neuron().unhealthy_components()) {
    add("unhealthy: " + component, TextStyle::kTrouble);
  }
  if (const size_t count = ProcessesOf(latest); count > 0) {
    add(std::to_string(count) + (count == 1 ? " process" : " processes"), TextStyle::kFaint);
  }
  size_t used = 0;
  for (const StyledText& piece : line) used += WidthOf(piece.text);
  const size_t room = columns > used + 2 ? columns - used - 2 : 0;
  const std::string bars = Bars(device.busy_percent, room);
  if (!bars.empty()) line.push_back({"  " + bars, TextStyle::kFaint});
  return line;
}

std::string DeviceScreen::Bars(const std::deque<double>& percents, size_t columns) const {
  constexpr std::string_view kBlocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                          "\u2585", "\u2586", "\u2587", "\u2588"};
  constexpr std::string_view kLetters[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const std::string_view* heights = has_blocks_ ? kBlocks : kLetters;
  const size_t count = std::min(columns, percents.size());
  std::string bars;
  for (size_t i = percents.size() - count; i < percents.size(); ++i) {
    const double share = std::clamp(percents[i], 0.0, 100.0) / 100;
    bars += heights[static_cast<size_t>(std::lround(share * 7))];
  }
  return bars;
}

std::vector<ScreenLine> DeviceScreen::Events(size_t rows) const {
  std::vector<ScreenLine> lines;
  if (rows < 2) return lines;
  std::string title = "EVENTS";
  if (missing_events_ > 0) title += "  (" + std::to_string(missing_events_) + " are missing)";
  if (events_.empty()) title += "  none yet";
  lines.push_back({{title, TextStyle::kTitle}});
  const size_t count = std::min(rows - 1, events_.size());
  for (size_t i = events_.size() - count; i < events_.size(); ++i) {
    const v1::DeviceEvent& event = events_[i];
    const std::string& kind = event.kind();
    const bool is_bad = kind == "xid" || kind == "memory_error" || kind == "execution_errors";
    lines.push_back({{TimeOfDay(event.unix_ns()) + "  ", TextStyle::kFaint},
                     {Padded(TerminalText(event.device_id()), kWideColumns[0].width) + Padded(TerminalText(kind), 14),
                      is_bad ? TextStyle::kTrouble : TextStyle::kPlain},
                     {TerminalText(event.text()), TextStyle::kPlain}});
  }
  return lines;
}

std::vector<ScreenLine> DeviceScreen::Lines(size_t columns, size_t rows, int64_t now_unix_ns) const {
  std::vector<ScreenLine> lines;
  lines.push_back(Header(now_unix_ns));
  ScreenLine titles;
  const bool narrow = columns < kLeastWide;
  for (const Column& column : ColumnsFor(narrow)) {
    titles.push_back({column.width == 0 ? column.title : Padded(column.title, column.width), TextStyle::kTitle});
  }
  lines.push_back(std::move(titles));

  const size_t fixed = lines.size() + 1;  // and what is said at the end
  const size_t room = rows > fixed ? rows - fixed : 0;
  const bool has_two = 2 * devices_.size() <= room * kDeviceShare / 4;
  const size_t fit = has_two ? devices_.size() : std::min(devices_.size(), room);
  size_t shown = 0;
  for (const auto& [id, device] : devices_) {
    if (shown++ == fit) break;
    lines.push_back(Figures(device.latest, narrow));
    if (has_two) lines.push_back(Words(device, columns));
  }
  const size_t left = rows > lines.size() + 2 ? rows - lines.size() - 2 : 0;
  if (left >= kLeastEventRows) {
    lines.emplace_back();
    for (ScreenLine& line : Events(left)) lines.push_back(std::move(line));
  }
  std::string last = "q quits";
  if (fit < devices_.size()) {
    last = "and " + std::to_string(devices_.size() - fit) + " more in a taller window; q quits";
  }
  lines.push_back({{last, TextStyle::kFaint}});

  if (lines.size() > rows) lines.resize(rows);
  for (ScreenLine& line : lines) line = Fit(std::move(line), columns);
  return lines;
}

}  // namespace kprof::cli
