#include "daemon/analysis/analysis_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

template <typename Number>
std::optional<Number> WholeText(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string NamesOf(const std::vector<AnalysisOption>& options) {
  std::string names;
  for (const AnalysisOption& option : options) names += (names.empty() ? "" : ", ") + std::string(option.name);
  return names;
}

// "a|b|c" has it.
bool IsChoice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const std::string_view one = choices.substr(0, choices.find('|'));
    if (one == value) return true;
    choices.remove_prefix(std::min(choices.size(), one.size() + 1));
  }
  return false;
}

// What it must be, where the value is not that; else nothing.
std::string WantedInstead(const AnalysisOption& option, const std::string& value) {
  switch (option.type) {
    case AnalysisType::kInteger: {
      const std::optional<int64_t> number = WholeText<int64_t>(value);
      if (number && *number >= option.least) return "";
      const bool has_least = option.least != std::numeric_limits<int64_t>::min();
      return "a whole number" + (has_least ? " from " + std::to_string(option.least) + " on" : std::string());
    }
    case AnalysisType::kReal: {
      const std::optional<double> number = WholeText<double>(value);
      return number && std::isfinite(*number) ? "" : "a number";
    }
    case AnalysisType::kBoolean:
      return value == "true" || value == "false" ? "" : "true or false";
    case AnalysisType::kText:
    case AnalysisType::kJson: {
      if (!IsUtf8(value)) return "text in UTF-8";
      std::string choices = option.choices;
      if (choices.empty() || IsChoice(choices, value)) return "";
      for (size_t at = choices.find('|'); at != std::string::npos; at = choices.find('|', at)) {
        choices.replace(at, 1, " or ");
      }
      return choices;
    }
  }
  return "";
}

}  // namespace

std::vector<AnalysisOption> AllOptions(const AnalysisOptionSets& sets) {
  std::vector<AnalysisOption> all;
  for (const auto& set : sets) all.insert(all.end(), set.begin(), set.end());
  return all;
}

Result<AnalysisOptions> AnalysisOptions::Read(const std::string& act, const AnalysisOptionSets& sets,
                                              const std::map<std::string, std::string>& given) {
  const std::vector<AnalysisOption> known = AllOptions(sets);
  AnalysisOptions options;
  for (const AnalysisOption& option : known) {
    if (*option.by_default != '\0') options.values_[option.name] = option.by_default;
  }
  for (const auto& [name, value] : given) {
    const auto option = std::find_if(known.begin(), known.end(),
                                     [&name = name](const AnalysisOption& one) { return one.name == name; });
    if (option == known.end()) {
      return Fail(ErrorCode::kUsage, act, "it has no option '" + ReadableText(name) + "'",
                  known.empty() ? "it has none" : "it has " + NamesOf(known));
    }
    const std::string wanted = WantedInstead(*option, value);
    if (!wanted.empty()) {
      return Fail(ErrorCode::kUsage, act, "its option " + name + " cannot be '" + ReadableText(value) + "'",
                  "it is " + wanted);
    }
    options.values_[name] = value;
  }
  const std::optional<int64_t> from = options.integer("from");
  const std::optional<int64_t> to = options.integer("to");
  if (from && to && *from >= *to) {
    return Fail(ErrorCode::kUsage, act, "option from is not before option to", "give a stretch of time");
  }
  return options;
}

std::optional<int64_t> AnalysisOptions::integer(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : WholeText<int64_t>(found->second);
}

std::optional<double> AnalysisOptions::real(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : WholeText<double>(found->second);
}

const std::string& AnalysisOptions::text(std::string_view name) const {
  static const std::string kNone;
  const auto found = values_.find(name);
  return found == values_.end() ? kNone : found->second;
}

}  // namespace kprof
