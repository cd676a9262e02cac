#include "daemon/exports/async_id.h"

#include <string_view>

#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"

namespace kprof {
namespace {

Result<std::optional<std::string>> TextOf(const SegmentRows::Arg& arg, ChromeTexts& texts) {
  if (arg.slot.type == ArgType::kInteger) return std::optional(std::to_string(arg.value));
  if (arg.slot.type != ArgType::kString) return std::optional<std::string>();
  ASSIGN_OR_RETURN(const std::string_view text, texts.plain.Text(arg.value));
  return std::optional(std::string(text));
}

// The first of its members that says an id.
void TakeId2(std::string_view json, AsyncId& of) {
  const std::string padded = std::string(json) + std::string(kScanSlackBytes, '\0');
  ForEachMember(padded.data(), padded.data() + json.size(), [&](std::string_view key, std::string_view value) {
    const bool is_global = key == "global";
    if ((!is_global && key != "local") || value.empty() || (value[0] != '"' && !BeginsNumber(value[0]))) return true;
    of.id = value[0] == '"' ? UnescapeJson(value.substr(1, value.size() - 2)) : std::string(value);
    if (is_global) of.pid = "";
    return false;
  });
}

}  // namespace

Result<AsyncId> AsyncIdOf(std::span<const SegmentRows::Arg> args, ChromeTexts& texts) {
  AsyncId of;
  std::optional<std::string> id;
  std::optional<std::string> pid;
  std::string_view id2;
  for (const SegmentRows::Arg& arg : args) {
    if (!arg.slot.of_event) continue;
    ASSIGN_OR_RETURN(const std::string_view key, texts.plain.Text(arg.slot.key));
    if (key == "id") {
      ASSIGN_OR_RETURN(id, TextOf(arg, texts));
    } else if (key == "pid") {
      ASSIGN_OR_RETURN(pid, TextOf(arg, texts));
    } else if (key == "scope" && arg.slot.type == ArgType::kString) {
      ASSIGN_OR_RETURN(of.scope, texts.plain.Text(arg.value));
    } else if (key == "id2" && arg.slot.type == ArgType::kJson) {
      ASSIGN_OR_RETURN(id2, texts.plain.Text(arg.value));
    }
  }
  if (id2.empty()) return of;
  of.id = id;
  of.pid = pid;
  TakeId2(id2, of);
  return of;
}

}  // namespace kprof
