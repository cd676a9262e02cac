#include "client/cli/device_list.h"

#include "client/cli/table.h"

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
    json.Key("queued").Int(device.queued()).EndObject();
  }
  json.EndArray();
}

void WriteDeviceTable(const DeviceList& devices, Output& output) {
  Table table({{"DEVICE"}, {"KIND"}, {"HELD BY"}, {"UID"}, {"QUEUED", Align::kRight}, {"NAME"}}, output.ResultWidth(),
              [&output](std::string_view line) { output.Write(line); });
  for (const v1::Device& device : devices) {
    bool held = !device.run_id().empty();
    table.AddRow({device.id(), device.kind(), held ? device.run_id() : "free",
                  held ? std::to_string(device.run_uid()) : "", std::to_string(device.queued()), device.name()});
  }
  table.Finish();
}

}  // namespace kprof::cli
