#include "client/cli/views/device_table.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/text/message_json.h"
#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"
#include "kprof/v1/node.pb.h"

namespace kprof::cli {
namespace {

void Join(std::string& text, const std::string& more) {
  text += (text.empty() ? "" : ", ") + more;
}

std::string Watts(uint32_t milliwatts) {
  return std::to_string((milliwatts + 500) / 1000);
}

// The whole device's, as its cores are leased together.
std::string MeanUse(const v1::NeuronFacts& facts) {
  double sum = 0;
  for (const v1::NeuronCore& core : facts.cores()) {
    if (!core.has_utilization_percent()) return "";
    sum += core.utilization_percent();
  }
  if (facts.cores_size() == 0) return "";
  return std::to_string(std::lround(sum / facts.cores_size())) + " % busy";
}

std::string NeuronText(const v1::NeuronFacts& facts) {
  std::string text;
  if (facts.cores_size() > 0) {
    Join(text, std::to_string(facts.cores_size()) + (facts.cores_size() == 1 ? " core" : " cores"));
    if (facts.lnc() > 1) text += " (LNC " + std::to_string(facts.lnc()) + ")";
  }
  if (facts.has_memory_bytes() && facts.has_memory_used_bytes()) {
    Join(text, FormatBytes(static_cast<int64_t>(facts.memory_used_bytes())) + " of " +
                   FormatBytes(static_cast<int64_t>(facts.memory_bytes())));
  }
  if (facts.has_power_mean_percent()) Join(text, NumberText(facts.power_mean_percent()) + " % of power");
  if (const std::string use = MeanUse(facts); !use.empty()) Join(text, use);
  if (facts.unhealthy_components_size() > 0) {
    std::string unhealthy;
    for (const std::string& component : facts.unhealthy_components()) {
      unhealthy += (unhealthy.empty() ? "" : "+") + component;
    }
    Join(text, "unhealthy: " + TerminalText(unhealthy));
  }
  return text;
}

// Writes into an open object: health, trouble, remedy, nvidia, neuron, clocks, peaks. A fact that the device does not
// tell is null.
void WriteDeviceFacts(JsonWriter& json, const v1::Device& device) {
  json.Key("health").StringOrNull(device.health()).Key("trouble").StringOrNull(device.trouble());
  json.Key("remedy").StringOrNull(device.remedy());
  json.Key("nvidia");
  if (device.has_nvidia()) {
    WriteMessage(json, device.nvidia());
  } else {
    json.Null();
  }
  json.Key("neuron");
  if (device.has_neuron()) {
    WriteMessage(json, device.neuron());
  } else {
    json.Null();
  }
  json.Key("clocks");
  if (device.has_clocks()) {
    WriteMessage(json, device.clocks());
  } else {
    json.Null();
  }
  json.Key("peaks").BeginArray();
  for (const v1::Peak& peak : device.peaks()) WriteMessage(json, peak);
  json.EndArray();
}

bool IsWell(const v1::Device& device) {
  return device.health().empty() || device.health() == "ok";
}

TextStyle DeviceStyle(const v1::Device& device) {
  return IsWell(device) ? TextStyle::kPlain : TextStyle::kTrouble;
}

// "1,500 MHz, 612 of 700 W, 61 C, 98 % busy", "4 cores (LNC 2), 1.2 GiB of 96.0 GiB, 3 % of power, 98 % busy", or why
// it is not well; empty for one that tells nothing.
std::string DeviceStateText(const v1::Device& device) {
  if (!IsWell(device)) {
    return device.health() + (device.trouble().empty() ? "" : ": " + TerminalText(device.trouble()));
  }
  if (device.has_neuron()) return NeuronText(device.neuron());
  std::string text;
  const v1::NvidiaFacts& facts = device.nvidia();
  if (facts.has_sm_mhz()) {
    Join(text, std::to_string(facts.sm_mhz()) + " MHz" + (device.clocks().locked() ? " locked" : ""));
  }
  if (facts.has_power_mw()) {
    Join(text, Watts(facts.power_mw()) +
                   (facts.has_power_limit_mw() ? " of " + Watts(facts.power_limit_mw()) : std::string()) + " W");
  }
  if (facts.has_temperature_c()) Join(text, std::to_string(facts.temperature_c()) + " C");
  if (facts.has_gpu_percent()) Join(text, std::to_string(facts.gpu_percent()) + " % busy");
  return text;
}

// All but the host's processors.
bool HasClocks(const v1::Device& device) {
  return device.kind() != "cpu";
}

std::string HolderOf(const v1::Device& device) {
  if (!device.session_id().empty()) return "session " + device.session_id();
  if (!device.run_id().empty()) return "run " + device.run_id();
  return device.held_since_unix_ns() != 0 ? "another user" : "";
}

std::string StateOf(const v1::Device& device) {
  if (!device.clocks().trouble().empty()) return "not given back: " + device.clocks().trouble();
  std::string lock = LockText(device.clocks());
  if (!lock.empty()) return lock;
  return device.clocks().lockable() ? "free" : "kprofd locks none";
}

std::string NowText(const v1::NvidiaFacts& facts) {
  std::string text = facts.has_sm_mhz() ? std::to_string(facts.sm_mhz()) + " MHz" : "";
  std::string reasons;
  for (const std::string& reason : facts.clock_reasons()) reasons += (reasons.empty() ? "" : ", ") + reason;
  return text + (reasons.empty() ? "" : " (" + reasons + ")");
}

template <typename Message>
void WriteMaybe(JsonWriter& json, const char* key, bool has, const Message& value) {
  json.Key(key);
  has ? json.Int(value) : json.Null();
}

}  // namespace

std::string LockText(const v1::DeviceClocks& clocks) {
  if (!clocks.locked()) return "";
  std::string text;
  if (clocks.has_locked_sm_mhz()) {
    text = clocks.locked_sm_mhz() == 0 ? "its base clock" : std::to_string(clocks.locked_sm_mhz()) + " MHz";
  }
  if (clocks.has_locked_memory_mhz()) {
    text += (text.empty() ? "memory " : ", memory ") + std::to_string(clocks.locked_memory_mhz()) + " MHz";
  }
  return text;
}

void WriteClocksTable(const v1::ListDevicesResponse& devices, Output& output) {
  Table table({{"DEVICE"}, {"LOCKED"}, {"FOR"}, {"NOW"}, {"NAME"}}, output);
  for (const v1::Device& device : devices.devices()) {
    if (!HasClocks(device)) continue;
    table.AddRow({device.id(), StateOf(device), device.clocks().locked() ? HolderOf(device) : "",
                  NowText(device.nvidia()), device.name()});
  }
  table.Finish();
}

std::string ClocksJsonLine(const v1::ListDevicesResponse& devices) {
  std::string line;
  JsonWriter json(line);
  json.BeginObject().Key("schema").String("kprof.clocks.v1").Key("devices").BeginArray();
  for (const v1::Device& device : devices.devices()) {
    if (!HasClocks(device)) continue;
    const v1::DeviceClocks& clocks = device.clocks();
    const v1::NvidiaFacts& facts = device.nvidia();
    json.BeginObject().Key("device").String(device.id()).Key("name").String(device.name());
    json.Key("lockable").Bool(clocks.lockable()).Key("locked").Bool(clocks.locked());
    WriteMaybe(json, "locked_sm_mhz", clocks.has_locked_sm_mhz(), clocks.locked_sm_mhz());
    WriteMaybe(json, "locked_memory_mhz", clocks.has_locked_memory_mhz(), clocks.locked_memory_mhz());
    json.Key("session").StringOrNull(device.session_id()).Key("run").StringOrNull(device.run_id());
    json.Key("trouble").StringOrNull(clocks.trouble());
    WriteMaybe(json, "sm_mhz", facts.has_sm_mhz(), facts.sm_mhz());
    WriteMaybe(json, "memory_mhz", facts.has_memory_mhz(), facts.memory_mhz());
    json.Key("clock_reasons").BeginArray();
    for (const std::string& reason : facts.clock_reasons()) json.String(reason);
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return line + "\n";
}

void WriteDevices(JsonWriter& json, const DeviceList& devices) {
  json.BeginArray();
  for (const v1::Device& device : devices) {
    json.BeginObject()
        .Key("id")
        .String(device.id())
        .Key("kind")
        .String(device.kind())
        .Key("name")
        .String(device.name());
    json.Key("uuid").StringOrNull(device.uuid()).Key("run").StringOrNull(device.run_id());
    json.Key("run_uid");
    device.run_id().empty() ? json.Null() : json.Int(device.run_uid());
    json.Key("session").StringOrNull(device.session_id()).Key("session_uid");
    device.session_id().empty() ? json.Null() : json.Int(device.session_uid());
    json.Key("held_since_ns");
    device.held_since_unix_ns() == 0 ? json.Null() : json.Int(device.held_since_unix_ns());
    json.Key("queued").Int(device.queued());
    WriteDeviceFacts(json, device);
    json.EndObject();
  }
  json.EndArray();
}

namespace {

// One line for the titles and one for each device.
std::vector<std::string> DeviceLines(const DeviceList& devices, TableFit fit, bool has_state) {
  std::vector<std::string> lines;
  std::vector<TableColumn> columns = {
      {"DEVICE"}, {"KIND"}, {"HELD BY"}, {"UID"}, {"QUEUED", Align::kRight}, {"NAME", Align::kLeft, Cut::kInMiddle}};
  if (has_state) columns.push_back({"STATE"});
  Table table(std::move(columns), fit, [&lines](std::string_view line) { lines.emplace_back(line); });
  for (const v1::Device& device : devices) {
    const bool by_run = !device.run_id().empty();
    const bool by_session = !device.session_id().empty();
    std::string holder = device.held_since_unix_ns() != 0 ? "another user" : "free";
    if (by_run) holder = device.run_id();
    if (by_session) holder = "session " + device.session_id();
    std::string uid;
    if (by_run || by_session) uid = std::to_string(by_session ? device.session_uid() : device.run_uid());
    std::vector<StyledText> cells = {
        {device.id()}, {device.kind()}, {holder}, {uid}, {std::to_string(device.queued())}, {device.name()}};
    if (has_state) cells.push_back({DeviceStateText(device), DeviceStyle(device)});
    table.AddStyledRow(cells);
  }
  table.Finish();
  return lines;
}

bool FitsIn(const std::vector<std::string>& lines, size_t width) {
  return std::all_of(lines.begin(), lines.end(),
                     [width](const std::string& line) { return WidthOf(line) - 1 <= width; });
}

}  // namespace

void WriteDeviceTable(const DeviceList& devices, Output& output) {
  const size_t width = output.ResultWidth();
  const bool has_colours = output.result_has_colours();
  if (width == 0 || FitsIn(DeviceLines(devices, {}, true), width)) {
    for (const std::string& line : DeviceLines(devices, {.has_colours = has_colours}, true)) output.Write(line);
    return;
  }
  // The state below each device: what is wrong with one is not to be cut off.
  const std::vector<std::string> lines = DeviceLines(devices, {.width = width, .has_colours = has_colours}, false);
  output.Write(lines.front());
  for (int i = 0; i < devices.size(); ++i) {
    output.Write(lines[static_cast<size_t>(i) + 1]);
    const std::string state = DeviceStateText(devices[i]);
    if (!state.empty()) output.Write("        " + Styled(state, DeviceStyle(devices[i]), has_colours) + "\n");
  }
}

}  // namespace kprof::cli
