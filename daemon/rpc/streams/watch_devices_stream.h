// NodeService.WatchDevices: the devices as they are, then what changes and what befalls them, until the client goes.
// While a message is on its way nothing is kept but so many events: a client that does not read costs that and its last
// message. The devices are watched for as long as the stream lives, and asked nothing for one that wants events alone.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/devices/node_devices.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/call_record.h"
#include "kprof/v1/node.grpc.pb.h"
#include "kprof/v1/node.pb.h"

namespace kprof {

// What befell a device between two looks at it: its lease, and its clocks' lock. Pure functions.

// In their order. Both are the same device's, with its lease and its clocks.
std::vector<v1::DeviceEvent> ChangesBetween(const v1::Device& before, const v1::Device& now, int64_t now_unix_ns);

v1::DeviceEvent MessageOf(const DeviceEvent& event);

// Events that wait for a client that does not read; then the oldest goes, and is counted.
inline constexpr int kMostWaitingEvents = 256;

// Owns itself. Ends with kUsage for a period that is not taken, with kQueueFull where as many watch as may.
grpc::ServerWriteReactor<v1::WatchDevicesResponse>* StartWatchDevices(CallRecord record, const ServiceContext& context,
                                                                      const v1::WatchDevicesRequest& request);

}  // namespace kprof
