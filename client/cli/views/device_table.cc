#include "client/cli/views/device_table.h"

#include "client/cli/text/table.h"
#include "client/cli/views/device_facts.h"

namespace kprof::cli {

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

void WriteDeviceTable(const DeviceList& devices, Output& output) {
  Table table({{"DEVICE"}, {"KIND"}, {"HELD BY"}, {"UID"}, {"QUEUED", Align::kRight}, {"NAME"}, {"STATE"}},
              output.ResultWidth(), [&output](std::string_view line) { output.Write(line); });
  for (const v1::Device& device : devices) {
    const bool by_run = !device.run_id().empty();
    const bool by_session = !device.session_id().empty();
    std::string holder = device.held_since_unix_ns() != 0 ? "another user" : "free";
    if (by_run) holder = device.run_id();
    if (by_session) holder = "session " + device.session_id();
    std::string uid;
    if (by_run || by_session) uid = std::to_string(by_session ? device.session_uid() : device.run_uid());
    table.AddRow({device.id(), device.kind(), holder, uid, std::to_string(device.queued()), device.name(),
                  DeviceStateText(device)});
  }
  table.Finish();
}

}  // namespace kprof::cli
