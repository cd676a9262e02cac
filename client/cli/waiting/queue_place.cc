#include "client/cli/waiting/queue_place.h"

#include "client/cli/text/amounts_and_times.h"

namespace kprof::cli {

std::string QueuePlaceText(const QueuePlace& place, int64_t passed_ns) {
  if (place.position < 1) return "";
  std::string text = place.position == 1 ? "next" : std::to_string(place.position - 1) + " before it";
  const int64_t left_ns = place.wait_ms.value_or(0) * 1'000'000 - passed_ns;
  if (left_ns >= 1'000'000'000) text += ", about " + FormatAge(left_ns) + " to wait";
  return text;
}

void WriteQueuePlace(JsonWriter& json, const QueuePlace& place) {
  if (place.position < 1) return;
  json.Key("queue_position").Int(place.position);
  json.Key("estimated_wait_ms");
  place.wait_ms ? json.Int(*place.wait_ms) : json.Null();
}

}  // namespace kprof::cli
