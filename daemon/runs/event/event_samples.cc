#include "daemon/runs/event/event_samples.h"

#include <cstdio>
#include <optional>

#include "daemon/launch/given/json_text.h"

namespace kprof {
namespace {

// As short as it can be read back.
std::string NumberText(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  for (const int digits : {6, 9, 12, 15}) {
    char shorter[40];
    std::snprintf(shorter, sizeof shorter, "%.*g", digits, value);
    double back = 0;
    if (std::sscanf(shorter, "%lf", &back) == 1 && back == value) return shorter;
  }
  return text;
}

void AddMember(const char* name, const std::string& json, std::string& line) {
  line += (line.back() == '{' ? "\"" : ",\"") + std::string(name) + "\":" + json;
}

void AddIfThere(const char* name, const std::optional<double>& value, std::string& line) {
  if (value) AddMember(name, NumberText(*value), line);
}

}  // namespace

std::string EventSamplesText(const EventRules& rules, const std::vector<EventTurn>& turns) {
  std::string text = "{\"kprof_event\":1,\"compares\":" + std::string(rules.compares ? "true" : "false") +
                     ",\"delta\":" + NumberText(rules.delta) + ",\"seed\":" + std::to_string(rules.seed) +
                     ",\"samples\":" + std::to_string(rules.samples) +
                     ",\"looks\":" + std::to_string(VerdictRulesOf(rules).most_looks);
  if (!rules.floor.device.empty()) {
    text += ",\"floor_device\":" + JsonQuoted(rules.floor.device) +
            ",\"floor_flop_per_ns\":" + NumberText(rules.floor.flop_per_ns) +
            ",\"floor_byte_per_ns\":" + NumberText(rules.floor.byte_per_ns) +
            ",\"floor_cache_bytes\":" + NumberText(rules.floor.cache_bytes);
  }
  text += "}\n";
  for (const EventTurn& turn : turns) {
    std::string line = "{";
    AddMember("turn", std::to_string(turn.number), line);
    AddMember("side", turn.side == kCandidateSide ? "\"candidate\"" : "\"baseline\"", line);
    AddMember("block", turn.block < 0 ? "null" : std::to_string(turn.block), line);
    AddMember("asked_samples", std::to_string(turn.asked_samples), line);
    AddMember("began_unix_ns", "\"" + std::to_string(turn.began_unix_ns) + "\"", line);
    AddMember("wall_ns", std::to_string(turn.wall_ns), line);
    AddMember("user_cpu_ns", std::to_string(turn.user_cpu_ns), line);
    AddMember("system_cpu_ns", std::to_string(turn.system_cpu_ns), line);
    AddMember("max_rss_bytes", std::to_string(turn.max_rss_bytes), line);
    AddMember("leftover_processes", std::to_string(turn.leftover_processes), line);
    if (const std::string refuted = RefutedBy(turn); !refuted.empty()) AddMember("refuted", JsonQuoted(refuted), line);
    text += line + "}\n";
    for (const EventSample& sample : turn.report.samples) {
      line = "{";
      AddMember("case", JsonQuoted(sample.case_name), line);
      AddMember("ns", NumberText(sample.ns), line);
      AddIfThere("cycles", sample.cycles, line);
      AddIfThere("flops", sample.flops, line);
      AddIfThere("bytes", sample.bytes, line);
      AddIfThere("wall_ns", sample.wall_ns, line);
      if (!sample.cache.empty()) AddMember("cache", "\"" + sample.cache + "\"", line);
      text += line + "}\n";
    }
  }
  return text;
}

}  // namespace kprof
