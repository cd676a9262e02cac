// What is known of a device, as a message. Pure functions of their arguments; any thread.
#pragma once

#include <vector>

#include "daemon/devices/device_book.h"
#include "daemon/devices/device_facts.h"
#include "daemon/devices/peaks/device_peaks.h"
#include "daemon/devices/peaks/peak_table.h"
#include "kprof/v1/node.pb.h"

namespace kprof {

// What a device can do at most, as known at this moment, and as a message. Pure functions of their arguments; any
// thread.

// What is known of its kind, with what its driver says of it and what runs have reached on it. A ceiling that the table
// of today does not bear is left out.
DevicePeaks PeaksOf(const Device& device, const DeviceFacts& facts, const PeakTable& table,
                    const std::vector<MeasuredCeiling>& ceilings);

void FillPeak(const Peak& peak, v1::Peak& out);

// Those of the device, and of its parts that `out` has (FillDeviceFacts): its MIG instances, one of its cores.
void FillPeaks(const DevicePeaks& peaks, const DeviceFacts& facts, v1::Device& out);

// Whether it is well.
void FillDeviceHealth(const DeviceFacts& facts, v1::Device& out);

// What it tells of itself.
void FillDeviceFacts(const DeviceFacts& facts, v1::Device& out);

}  // namespace kprof
