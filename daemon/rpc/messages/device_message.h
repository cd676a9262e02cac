// Turns what is known of a device, and what it can do at most, into messages. Pure functions of their arguments; any
// thread.
#pragma once

#include <vector>

#include "daemon/devices/device_book.h"
#include "daemon/devices/device_facts.h"
#include "daemon/devices/peaks/device_peaks.h"
#include "daemon/devices/peaks/peak_table.h"
#include "kprof/v1/node.pb.h"

namespace kprof {

// The peaks of the device at this moment: known of its kind, told by its driver, and reached by runs. A ceiling that
// today's table contradicts is left out.
DevicePeaks PeaksOf(const Device& device, const DeviceFacts& facts, const PeakTable& table,
                    const std::vector<MeasuredCeiling>& ceilings);

void FillPeak(const Peak& peak, v1::Peak& out);

// Fills in the peaks of the device, and of its parts that `out` has (FillDeviceFacts): its MIG instances, one of its
// cores.
void FillPeaks(const DevicePeaks& peaks, const DeviceFacts& facts, v1::Device& out);

// Fills in whether it is well.
void FillDeviceHealth(const DeviceFacts& facts, v1::Device& out);

// Fills in what it tells of itself.
void FillDeviceFacts(const DeviceFacts& facts, v1::Device& out);

}  // namespace kprof
