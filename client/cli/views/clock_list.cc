#include "client/cli/views/clock_list.h"

#include "client/cli/text/table.h"
#include "client/cli/text/terminal_text.h"

namespace kprof::cli {
namespace {

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
  Table table({{"DEVICE"}, {"LOCKED"}, {"FOR"}, {"NOW"}, {"NAME"}}, output.ResultWidth(),
              [&output](std::string_view line) { output.Write(line); });
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

}  // namespace kprof::cli
