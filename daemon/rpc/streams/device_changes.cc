#include "daemon/rpc/streams/device_changes.h"

#include <string>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

std::string HolderOf(const v1::Device& device) {
  std::string holder = "another user";
  if (!device.run_id().empty()) holder = "run " + device.run_id();
  if (!device.session_id().empty()) holder = "session " + device.session_id();
  return holder;
}

std::string LockOf(const v1::DeviceClocks& clocks) {
  std::string text;
  if (clocks.has_locked_sm_mhz()) {
    const uint32_t mhz = clocks.locked_sm_mhz();
    text = mhz == 0 ? "the base clock" : std::to_string(mhz) + " MHz";
  }
  if (clocks.has_locked_memory_mhz()) {
    text += (text.empty() ? "memory " : ", memory ") + std::to_string(clocks.locked_memory_mhz()) + " MHz";
  }
  return text;
}

// The session, or the run of none: rounds of a session are no leases.
bool IsSameLease(const v1::Device& before, const v1::Device& now) {
  if ((before.held_since_unix_ns() == 0) != (now.held_since_unix_ns() == 0)) return false;
  if (before.session_id() != now.session_id()) return false;
  return !now.session_id().empty() || before.run_id() == now.run_id();
}

}  // namespace

std::vector<v1::DeviceEvent> ChangesBetween(const v1::Device& before, const v1::Device& now, int64_t now_unix_ns) {
  std::vector<v1::DeviceEvent> events;
  const auto add = [&](const char* kind, const std::string& text, uint64_t value = 0) {
    v1::DeviceEvent& event = events.emplace_back();
    event.set_device_id(now.id());
    event.set_kind(kind);
    event.set_unix_ns(now_unix_ns);
    event.set_text(text);
    event.set_value(value);
  };
  const bool is_same_lock = before.clocks().locked() == now.clocks().locked() &&
                            before.clocks().locked_sm_mhz() == now.clocks().locked_sm_mhz() &&
                            before.clocks().locked_memory_mhz() == now.clocks().locked_memory_mhz();
  const bool is_same_lease = IsSameLease(before, now);
  if (!is_same_lock && before.clocks().locked()) add("unlocked", "its clocks were at " + LockOf(before.clocks()));
  if (!is_same_lease && before.held_since_unix_ns() != 0) add("released", "by " + HolderOf(before));
  if (!is_same_lease && now.held_since_unix_ns() != 0) add("leased", "to " + HolderOf(now));
  if (!is_same_lock && now.clocks().locked()) {
    add("locked", "its clocks are at " + LockOf(now.clocks()), now.clocks().locked_sm_mhz());
  }
  return events;
}

v1::DeviceEvent MessageOf(const DeviceEvent& event) {
  v1::DeviceEvent message;
  message.set_device_id(event.device_id);
  message.set_kind(DeviceEventKindName(event.kind));
  message.set_unix_ns(event.unix_ns);
  message.set_text(ReadableText(event.text));
  message.set_value(event.value);
  return message;
}

}  // namespace kprof
