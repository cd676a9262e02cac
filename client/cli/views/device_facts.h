// What a device tells of itself, and what is known of its kind, as JSON and as text for people.
#pragma once

#include <string>

#include "client/cli/text/json_writer.h"
#include "kprof/v1/node.pb.h"

namespace kprof::cli {

// The members of an open object: health, trouble, remedy, nvidia, neuron, clocks, peaks. What the device does not tell
// is null.
void WriteDeviceFacts(JsonWriter& json, const v1::Device& device);

// "1,500 MHz, 612 of 700 W, 61 C, 98 % busy", "4 cores (LNC 2), 1.2 GiB of 96.0 GiB, 3 % of power, 98 % busy", or why
// it is not well; empty for one that tells nothing.
std::string DeviceStateText(const v1::Device& device);

}  // namespace kprof::cli
