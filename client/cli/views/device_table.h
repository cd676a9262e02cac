// Devices as `status` and `devices` print them.
#pragma once

#include "client/cli/output.h"
#include "client/cli/text/json_writer.h"
#include "kprof/v1/node.pb.h"

namespace kprof::cli {

using DeviceList = google::protobuf::RepeatedPtrField<v1::Device>;

// A JSON array.
// With what each tells of itself, where the answer has that.
void WriteDevices(JsonWriter& json, const DeviceList& devices);

void WriteDeviceTable(const DeviceList& devices, Output& output);

}  // namespace kprof::cli
