#include "client/cli/waiting/queue_place.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/terminal_text.h"

namespace kprof::cli {
namespace {

std::string Whose(uint32_t holder_uid, std::optional<uint32_t> own_uid, const std::string& what) {
  return holder_uid == own_uid ? "your " + what : what + " of uid " + std::to_string(holder_uid);
}

// Empty: it is free.
std::string HolderOf(const v1::Device& device, std::optional<uint32_t> own_uid) {
  if (device.held_since_unix_ns() == 0) return "";
  if (!device.session_id().empty()) return Whose(device.session_uid(), own_uid, "session " + device.session_id());
  if (!device.run_id().empty()) return Whose(device.run_uid(), own_uid, "run " + device.run_id());
  return "somebody else";
}

// Devices of one holder are named together.
template <typename Ids>
std::string Describe(const Ids& ids, const v1::ListDevicesResponse& devices, std::optional<uint32_t> own_uid) {
  std::vector<std::pair<std::string, std::string>> held;  // by whom, and what
  for (const v1::Device& device : devices.devices()) {
    if (std::find(ids.begin(), ids.end(), device.id()) == ids.end()) continue;
    const std::string holder = HolderOf(device, own_uid);
    if (holder.empty()) continue;
    auto same = std::find_if(held.begin(), held.end(), [&](const auto& one) { return one.first == holder; });
    if (same == held.end()) {
      held.emplace_back(holder, device.id());
    } else {
      same->second += "," + device.id();
    }
  }
  std::string text;
  for (const auto& [holder, what] : held) {
    text += text.empty() ? "for " : " and for ";
    text += (what.find(',') == std::string::npos ? "device " : "devices ") + what + ", which " + holder + " holds";
  }
  return TerminalText(text);
}

}  // namespace

std::string WaitsFor(const v1::Run& run, const v1::ListDevicesResponse& devices, bool own) {
  if (run.session_id().empty()) return Describe(run.devices(), devices, own ? std::optional(run.uid()) : std::nullopt);
  for (const v1::Device& device : devices.devices()) {
    const bool wanted = std::find(run.devices().begin(), run.devices().end(), device.id()) != run.devices().end();
    if (!wanted || device.session_id() != run.session_id() || device.run_id().empty()) continue;
    return TerminalText("for the round " + device.run_id() + " of its session");
  }
  return "";
}

std::string WaitsFor(const v1::Session& session, const v1::ListDevicesResponse& devices, bool own) {
  return Describe(session.devices(), devices, own ? std::optional(session.uid()) : std::nullopt);
}

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
