// The place of a run or session in the queue for devices, in words and as JSON. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/cli/text/json_writer.h"
#include "client/cpp/kprof_client.h"
#include "kprof/v1/node.pb.h"
#include "kprof/v1/run.pb.h"
#include "kprof/v1/sessions.pb.h"

namespace kprof::cli {

// Names who holds the devices that a run or session waits for: "for device 0, which your session 01se holds", "for
// devices 0,1, which somebody else holds", "for the round 01jd of its session". Empty when nobody holds any of them
// (any more). For the next one in the queue: the others wait for those before them. `own`: the reader owns the run or
// session. Safe for a terminal.
std::string WaitsFor(const v1::Run& run, const v1::ListDevicesResponse& devices, bool own);
std::string WaitsFor(const v1::Session& session, const v1::ListDevicesResponse& devices, bool own);

struct QueuePlace {
  int position = 0;  // 1 is next; 0: it does not wait
  std::optional<int64_t> wait_ms;
};

// Reads the place from any message that has queue_position and estimated_wait_ms.
template <typename Message>
QueuePlace PlaceOf(const Message& message) {
  QueuePlace place{message.queue_position(), std::nullopt};
  if (message.has_estimated_wait_ms()) place.wait_ms = message.estimated_wait_ms();
  return place;
}

// "next", "2 before it, about 40s to wait", when the place is `passed_ns` old; empty for one that does not wait.
std::string QueuePlaceText(const QueuePlace& place, int64_t passed_ns = 0);

// The members queue_position and estimated_wait_ms; none for one that does not wait.
void WriteQueuePlace(JsonWriter& json, const QueuePlace& place);

}  // namespace kprof::cli
