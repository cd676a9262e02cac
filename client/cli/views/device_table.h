// Devices as `status`, `devices` and `clocks status` print them. Text for people is safe for a terminal.
#pragma once

#include <string>

#include "client/cli/output.h"
#include "client/cli/text/json_writer.h"
#include "kprof/v1/node.pb.h"

namespace kprof::cli {

// "1500 MHz, memory 2619 MHz"; "its base clock"; empty: nothing is locked.
std::string LockText(const v1::DeviceClocks& clocks);

// The clocks of all devices that have some: of all but the host's processors.
void WriteClocksTable(const v1::ListDevicesResponse& devices, Output& output);
std::string ClocksJsonLine(const v1::ListDevicesResponse& devices);

using DeviceList = google::protobuf::RepeatedPtrField<v1::Device>;

// Writes a JSON array: each device with its holder and, where the answer has them, the facts that it tells of itself.
void WriteDevices(JsonWriter& json, const DeviceList& devices);

void WriteDeviceTable(const DeviceList& devices, Output& output);

}  // namespace kprof::cli
