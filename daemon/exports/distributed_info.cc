#include "daemon/exports/distributed_info.h"

namespace kprof {
namespace {

constexpr std::string_view kRankKey = "\"rank\"";

// Behind the quote that closes the string that begins at `at`.
size_t StringEnd(std::string_view json, size_t at) {
  for (++at; at < json.size(); ++at) {
    if (json[at] == '\\') {
      ++at;
    } else if (json[at] == '"') {
      return at + 1;
    }
  }
  return json.size();
}

// Behind the value of a member: at the comma or the brace that follows it.
size_t ValueEnd(std::string_view json, size_t at) {
  int depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = StringEnd(json, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return at;
}

}  // namespace

std::string DistributedInfoOf(std::string_view json, std::optional<int64_t> rank) {
  if (!rank) return std::string(json);
  const std::string number = std::to_string(*rank);
  if (json.size() < 2 || json.front() != '{' || json.back() != '}') return "{\"rank\":" + number + "}";
  std::string out = "{";
  bool has_rank = false;
  // As imports keep it there is no space between its parts.
  for (size_t at = 1; at < json.size() && json[at] == '"';) {
    const size_t key_end = StringEnd(json, at);
    const std::string_view key = json.substr(at, key_end - at);
    const size_t end = ValueEnd(json, key_end);
    const std::string_view value = json.substr(key_end, end - key_end);  // with its colon
    if (out.size() > 1) out += ',';
    out += key;
    if (key == kRankKey && value != ":\"" + number + "\"") {
      out += ":" + number;
    } else {
      out += value;
    }
    has_rank |= key == kRankKey;
    at = end + 1;
  }
  if (!has_rank) out += (out.size() > 1 ? ",\"rank\":" : "\"rank\":") + number;
  return out + "}";
}

}  // namespace kprof
