#include "daemon/ingest/chrome/chrome_envelope.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

constexpr int64_t kFirstBytes = 256 << 10;
constexpr size_t kMostTriedBrackets = 4096;
constexpr std::string_view kEvents = "traceEvents";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct Window {
  std::string bytes;  // with zeros behind the text
  size_t size = 0;
  bool is_all = false;  // of the text from there on

  const char* begin() const { return bytes.data(); }
  const char* end() const { return bytes.data() + size; }
};

Result<Window> ReadWindow(TextSource& text, int64_t from_bytes, int64_t size_bytes) {
  Window window;
  window.bytes.resize(static_cast<size_t>(size_bytes) + kScanSlackBytes);
  ASSIGN_OR_RETURN(window.size,
                   text.ReadAt(from_bytes, std::span(window.bytes.data(), static_cast<size_t>(size_bytes))));
  std::fill(window.bytes.begin() + static_cast<ptrdiff_t>(window.size), window.bytes.end(), '\0');
  window.is_all = static_cast<int64_t>(window.size) < size_bytes;
  return window;
}

Status NoTrace(const std::string& why,
               const std::string& remedy = "give a JSON object with \"traceEvents\", or a list of events") {
  return Fail(ErrorCode::kNotFound, "read it as a Chrome trace", why, remedy);
}

// An object, and another behind it.
bool IsJsonLines(const char* at, const Window& window) {
  const char* end = FindValueEnd(at, window.end());
  if (end == nullptr) return false;
  const char* next = SkipSpace(end);
  return next < window.end() && *next == '{';
}

// Members up to the list of events: where that begins; null where the window ends before.
const char* FindEvents(const char* at, const Window& window,
                       std::vector<std::pair<std::string_view, std::string_view>>& before, bool& broken) {
  while (true) {
    at = SkipSpace(at);
    if (at >= window.end()) return nullptr;
    if (*at != '"') break;
    const char* key_end = FindStringEnd(at + 1, window.end());
    if (key_end == nullptr) return nullptr;
    const std::string_view key(at + 1, static_cast<size_t>(key_end - at - 1));
    at = SkipSpace(key_end + 1);
    if (at >= window.end()) return nullptr;
    if (*at != ':') break;
    at = SkipSpace(at + 1);
    if (at >= window.end()) return nullptr;
    if (key == kEvents && *at == '[') return at + 1;
    const char* value_end = FindValueEnd(at, window.end());
    if (value_end == nullptr || value_end >= window.end()) return nullptr;
    before.emplace_back(key, std::string_view(at, static_cast<size_t>(value_end - at)));
    at = SkipSpace(value_end);
    if (at >= window.end()) return nullptr;
    if (*at != ',') break;
    ++at;
  }
  broken = true;
  return nullptr;
}

}  // namespace

Result<ChromeEnvelope> ReadEnvelopeBefore(TextSource& text, int64_t most_bytes, const SeeMember& see) {
  for (int64_t size = kFirstBytes;; size *= 4) {
    ASSIGN_OR_RETURN(const Window window, ReadWindow(text, 0, size));
    const char* at = window.begin();
    if (std::string_view(at, window.size).starts_with(kByteOrderMark)) at += kByteOrderMark.size();
    at = SkipSpace(at);
    if (*at == '[') return ChromeEnvelope{true, at + 1 - window.begin()};
    if (*at != '{') return NoTrace("it does not begin with { or [");
    std::vector<std::pair<std::string_view, std::string_view>> before;
    bool broken = false;
    const char* events = FindEvents(at + 1, window, before, broken);
    if (events != nullptr) {
      for (const auto& [key, value] : before) RETURN_IF_ERROR(see(key, value));
      return ChromeEnvelope{false, events - window.begin()};
    }
    if (window.is_all) {
      if (const std::optional<Status> cut = text.WhyCut()) return cut->In("read it as a Chrome trace");
    }
    if ((broken || window.is_all) && IsJsonLines(at, window)) {
      return NoTrace("it is JSON lines, objects one behind the other, and no one object with a list \"traceEvents\"",
                     "where they are trace events, make a list of them: jq -s . FILE");
    }
    if (broken || window.is_all) return NoTrace("it has no list \"traceEvents\"");
    if (size >= most_bytes)
      return NoTrace("no list \"traceEvents\" begins in its first " + std::to_string(size >> 20) + " MiB");
  }
}

Result<ChromeEnvelopeEnd> ReadEnvelopeBehind(TextSource& text, int64_t from_bytes, int64_t most_bytes,
                                             const SeeMember& see) {
  for (int64_t size = kFirstBytes;; size *= 4) {
    ASSIGN_OR_RETURN(Window window, ReadWindow(text, from_bytes, size));
    const char* at = SkipSpace(window.begin());
    const auto offset_of = [&](const char* place) { return from_bytes + (place - window.begin()); };
    if (at < window.end() && *at == '}') return ChromeEnvelopeEnd{offset_of(at + 1), std::nullopt};
    if (at < window.end() && *at != ',') return ChromeEnvelopeEnd{};
    if (at < window.end()) window.bytes[static_cast<size_t>(at - window.begin())] = '{';  // as an object of its own
    std::vector<std::pair<std::string_view, std::string_view>> members;
    const char* last = at;
    const bool is_closed = ForEachMember(at, window.end(), [&](std::string_view key, std::string_view value) {
      members.emplace_back(key, value);
      last = value.data() + value.size();
      return true;
    });
    if (!is_closed && !window.is_all && size < most_bytes) continue;
    ChromeEnvelopeEnd behind;
    for (const auto& [key, value] : members) {
      if (key != kEvents || !value.starts_with('[')) RETURN_IF_ERROR(see(key, value));
    }
    members.clear();
    bool broken = false;
    const char* events = at < window.end() ? FindEvents(at + 1, window, members, broken) : nullptr;
    if (events != nullptr) behind.more_events_bytes = offset_of(events);
    if (is_closed) behind.end_bytes = offset_of(SkipSpace(last == at ? at + 1 : last) + 1);
    return behind;
  }
}

Status SeeMembersAtEnd(std::string_view end_of_text, const SeeMember& see) {
  std::string text(end_of_text);
  text.resize(text.size() + kScanSlackBytes, '\0');
  const char* const end = text.data() + end_of_text.size();
  std::vector<std::pair<std::string_view, std::string_view>> members;
  size_t tries = 0;
  for (size_t at = text.find(']'); at < end_of_text.size() && tries < kMostTriedBrackets; at = text.find(']', at + 1)) {
    const char* const comma = SkipSpace(text.data() + at + 1);
    if (comma >= end || *comma != ',' || *SkipSpace(comma + 1) != '"') continue;
    ++tries;
    char& begin = text[static_cast<size_t>(comma - text.data())];
    begin = '{';  // as an object of its own
    members.clear();
    const char* last = comma;
    const bool is_closed = ForEachMember(comma, end, [&](std::string_view key, std::string_view value) {
      members.emplace_back(key, value);
      last = value.data() + value.size();
      return true;
    });
    begin = ',';
    const char* const brace = SkipSpace(last);
    if (!is_closed || brace >= end || SkipSpace(brace + 1) < end) continue;
    for (const auto& [key, value] : members) {
      if (key != kEvents) RETURN_IF_ERROR(see(key, value));
    }
    return OkStatus();
  }
  return OkStatus();
}

const char* FindNextEvents(std::string_view text) {
  const auto take = [&](std::string_view what) {
    const size_t at = text.find_first_not_of(" \n\r\t");
    if (at == text.npos || !text.substr(at).starts_with(what)) return false;
    text.remove_prefix(at + what.size());
    return true;
  };
  return take(",") && take("\"traceEvents\"") && take(":") && take("[") ? text.data() : nullptr;
}

}  // namespace kprof
