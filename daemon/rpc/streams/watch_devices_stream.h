// NodeService.WatchDevices: tells the devices as they are, then their changes and events, until the client goes. A
// client that does not read costs its last message and kMostWaitingEvents events. The devices are watched as long as
// the stream lives; they are asked nothing for a client that wants events alone.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/devices/node_devices.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/call_record.h"
#include "kprof/v1/node.grpc.pb.h"
#include "kprof/v1/node.pb.h"

namespace kprof {

// The events of a device between two looks at it, of its lease and of its clocks' lock, in their order. Both messages
// are the same device's, with its lease and its clocks. Pure.
std::vector<v1::DeviceEvent> ChangesBetween(const v1::Device& before, const v1::Device& now, int64_t now_unix_ns);

v1::DeviceEvent MessageOf(const DeviceEvent& event);

// The most events that wait for a client that does not read. At more the oldest goes, and is counted.
inline constexpr int kMostWaitingEvents = 256;

// Owns itself. Ends with kUsage for a period that is not allowed, with kQueueFull where as many watch as may.
grpc::ServerWriteReactor<v1::WatchDevicesResponse>* StartWatchDevices(CallRecord record, const ServiceContext& context,
                                                                      const v1::WatchDevicesRequest& request);

}  // namespace kprof
