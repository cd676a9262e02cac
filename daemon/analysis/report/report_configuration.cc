#include "daemon/analysis/report/report_configuration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "daemon/launch/given/json_text.h"

namespace kprof {
namespace {

constexpr std::array<std::string_view, 4> kFirstNames = {"b", "s", "t", "dtype"};
constexpr std::array<std::string_view, 3> kHeading = {"tool", "kernel", "version"};
// They say how large something is, and not why.
constexpr std::array<std::string_view, 4> kTotals = {"total_ns", "duration_ns", "wall_ns", "window_ns"};

size_t PlaceOf(std::string_view name) {
  return static_cast<size_t>(std::find(kFirstNames.begin(), kFirstNames.end(), name) - kFirstNames.begin());
}

bool IsHeading(std::string_view name) {
  return std::find(kHeading.begin(), kHeading.end(), name) != kHeading.end();
}

// "[1,2]", "{a=1}": a list or an object within a list.
std::string NestedText(const GivenJson& value) {
  const bool is_list = value.kind == GivenJson::Kind::kList;
  if (!is_list && value.kind != GivenJson::Kind::kObject) return value.text;
  std::string text;
  for (size_t i = 0; i < value.items.size(); ++i) {
    text += (text.empty() ? "" : ",") + (is_list ? "" : value.names[i] + "=") + NestedText(value.items[i]);
  }
  return (is_list ? "[" : "{") + text + (is_list ? "]" : "}");
}

// An object's members are parameters as those around it are: tile.M.
void AddParameter(const std::string& name, const GivenJson& value,
                  std::vector<std::pair<std::string, std::string>>& parameters) {
  if (value.kind != GivenJson::Kind::kObject) {
    parameters.emplace_back(name, NestedText(value));
    return;
  }
  for (size_t i = 0; i < value.names.size(); ++i) {
    AddParameter(name + "." + value.names[i], value.items[i], parameters);
  }
}

std::string TextOf(const GivenJson* value) {
  return value == nullptr ? std::string() : value->text;
}

// 8'970'000 bytes are 8970 KB.
void ScaleForPeople(double& value, std::string& unit) {
  struct Step {
    const char* from;
    const char* to;
  };
  constexpr Step kSteps[] = {{"byte", "KB"}, {"KB", "MB"}, {"MB", "GB"}, {"ns", "us"}, {"us", "ms"}};
  constexpr double kLarge = 10'000;
  for (const Step& step : kSteps) {
    if (unit != step.from || std::abs(value) < kLarge) continue;
    value /= 1000;
    unit = step.to;
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ConfigurationOf(const std::string& params,
                                                                 std::vector<std::string>& notes) {
  if (params.empty()) return {};
  const Result<GivenJson> json = ReadJson(params, "params.json");
  if (!json.ok()) {
    notes.push_back("params.json is no JSON: its configuration is left out");
    return {};
  }
  std::vector<std::pair<std::string, std::string>> members;
  for (size_t i = 0; i < json->names.size(); ++i) {
    const std::string& name = json->names[i];
    const bool is_of_stages = name == "stages" && json->items[i].kind != GivenJson::Kind::kText;
    if (!IsHeading(name) && !is_of_stages) AddParameter(name, json->items[i], members);
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const auto& a, const auto& b) { return PlaceOf(a.first) < PlaceOf(b.first); });
  return members;
}

std::string TriggerOf(const std::string& evidence) {
  const Result<GivenJson> json = ReadJson(evidence, "evidence");
  if (!json.ok()) return {};
  for (const GivenJson& one : json->items) {
    const std::string metric = TextOf(one.Find("metric"));
    if (metric.empty() || std::find(kTotals.begin(), kTotals.end(), metric) != kTotals.end()) continue;
    const std::string written = TextOf(one.Find("value"));
    double value = 0;
    std::string unit = TextOf(one.Find("unit"));
    std::string shown = written;
    if (std::from_chars(written.data(), written.data() + written.size(), value).ec == std::errc()) {
      ScaleForPeople(value, unit);
      char text[32];
      std::snprintf(text, sizeof text, "%.4g", value);
      shown = text;
    }
    return metric + "=" + shown + (unit.empty() ? "" : " " + unit);
  }
  return {};
}

}  // namespace kprof
