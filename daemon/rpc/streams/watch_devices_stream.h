// NodeService.WatchDevices: the devices as they are, then what changes and what befalls them, until the client goes.
// While a message is on its way nothing is kept but so many events: a client that does not read costs that and its last
// message. The devices are watched for as long as the stream lives, and asked nothing for one that wants events alone.
#pragma once

#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/call_record.h"
#include "kprof/v1/node.grpc.pb.h"

namespace kprof {

// Events that wait for a client that does not read; then the oldest goes, and is counted.
inline constexpr int kMostWaitingEvents = 256;

// Owns itself. Ends with kUsage for a period that is not taken, with kQueueFull where as many watch as may.
grpc::ServerWriteReactor<v1::WatchDevicesResponse>* StartWatchDevices(CallRecord record, const ServiceContext& parts,
                                                                      const v1::WatchDevicesRequest& request);

}  // namespace kprof
