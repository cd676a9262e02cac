// Devices as `status` and `devices` print them.
#pragma once

#include <string>

#include "client/cli/output.h"
#include "client/cli/text/json_writer.h"
#include "kprof/v1/node.pb.h"

namespace kprof::cli {

// The devices' clocks as `kprofctl clocks status` shows them. Pure functions; what is for people is safe for a
// terminal.

// "1500 MHz, memory 2619 MHz"; "its base clock"; empty: nothing is locked.
std::string LockText(const v1::DeviceClocks& clocks);

// Of the devices that have clocks.
void WriteClocksTable(const v1::ListDevicesResponse& devices, Output& output);
std::string ClocksJsonLine(const v1::ListDevicesResponse& devices);

using DeviceList = google::protobuf::RepeatedPtrField<v1::Device>;

// A JSON array.
// With what each tells of itself, where the answer has that.
void WriteDevices(JsonWriter& json, const DeviceList& devices);

void WriteDeviceTable(const DeviceList& devices, Output& output);

}  // namespace kprof::cli
