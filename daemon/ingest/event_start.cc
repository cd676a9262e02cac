#include "daemon/ingest/event_start.h"

#include <cstring>
#include <string_view>

#include "daemon/ingest/json_scan.h"
#include "daemon/ingest/json_text.h"

namespace kprof {
namespace {

bool IsEvent(const char* at, const char* end) {
  bool has_phase = false;
  const bool is_whole = ForEachMember(at, end, [&](std::string_view key, std::string_view) {
    has_phase |= key == "ph";
    return true;
  });
  return is_whole && has_phase;
}

bool FollowsEvent(const char* at, const char* begin) {
  while (at > begin && (at[-1] == ' ' || at[-1] == '\n' || at[-1] == '\r' || at[-1] == '\t')) --at;
  return at > begin && (at[-1] == ',' || at[-1] == '[');
}

}  // namespace

const char* FindEventStart(const char* begin, const char* at, const char* end) {
  while (at < end) {
    at = static_cast<const char*>(std::memchr(at, '{', static_cast<size_t>(end - at)));
    if (at == nullptr) return nullptr;
    const char* inside = SkipSpace(at + 1);
    if (inside < end && *inside == '"' && FollowsEvent(at, begin) && IsEvent(at, end)) return at;
    ++at;
  }
  return nullptr;
}

}  // namespace kprof
