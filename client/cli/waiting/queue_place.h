// Where somebody stands who waits for devices, in words and as JSON. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/cli/text/json_writer.h"

namespace kprof::cli {

struct QueuePlace {
  int position = 0;  // 1 is next; 0: it does not wait
  std::optional<int64_t> wait_ms;
};

// Of any message that has both.
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
