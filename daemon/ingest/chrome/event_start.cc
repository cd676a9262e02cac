#include "daemon/ingest/chrome/event_start.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

constexpr int kMostNesting = 128;  // else one that begins in another is looked through as often

bool HasPhase(const char* at, const char* end) {
  bool has_phase = false;
  const auto see = [&](std::string_view key, std::string_view) {
    has_phase = key == "ph";
    return !has_phase;
  };
  ForEachMember(at, end, see, kMostNesting);
  return has_phase;
}

bool FollowsEvent(const char* at, const char* begin) {
  while (at > begin && (at[-1] == ' ' || at[-1] == '\n' || at[-1] == '\r' || at[-1] == '\t')) --at;
  return at > begin && (at[-1] == ',' || at[-1] == '[');
}

}  // namespace

const char* FindEventStart(const char* begin, const char* at, const char* limit, const char* end) {
  while (at < limit) {
    at = static_cast<const char*>(std::memchr(at, '{', static_cast<size_t>(limit - at)));
    if (at == nullptr) return nullptr;
    const char* inside = SkipSpace(at + 1);
    if (inside < end && *inside == '"' && FollowsEvent(at, at - std::min(at - begin, kBeforeEventBytes)) &&
        HasPhase(at, at + std::min(end - at, kEventStartBytes))) {
      return at;
    }
    ++at;
  }
  return nullptr;
}

}  // namespace kprof
