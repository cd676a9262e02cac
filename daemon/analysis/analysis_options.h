// What an analysis can be told: options with names, types and defaults, and their values as somebody gave them. The
// sets below are shared by many kinds.
//
// Values; any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

enum class AnalysisType : uint8_t { kInteger, kReal, kText, kBoolean, kJson };

struct AnalysisOption {
  const char* name = "";  // in words with dashes: --name
  AnalysisType type = AnalysisType::kInteger;
  const char* by_default = "";  // empty: nothing
  const char* unit = "";        // "ns"; empty: none
  const char* meaning = "";     // one line
  const char* choices = "";     // of a text: "trace|hta"; empty: any
  int64_t least = std::numeric_limits<int64_t>::min();
};

// Which part of the traces: rank, device, time.
inline constexpr AnalysisOption kTraceScope[] = {
    {"rank", AnalysisType::kInteger, "", "", "Only this rank", "", 0},
    {"device", AnalysisType::kInteger, "", "", "Only this device", "", 0},
    {"from", AnalysisType::kInteger, "", "ns", "Only from this time on, counted from the trace's base"},
    {"to", AnalysisType::kInteger, "", "ns", "Only before this time"},
    {"step", AnalysisType::kInteger, "", "", "Only this step of the profiler (ProfilerStep#N)", "", 0},
    {"limit", AnalysisType::kInteger, "", "", "At most so many rows of each table", "", 1},
};
// What counts as the whole.
inline constexpr AnalysisOption kWindow[] = {
    {"window", AnalysisType::kText, "trace", "",
     "What counts as the whole: all of the trace, exact; or what HolisticTraceAnalysis takes, as it rounds it",
     "trace|hta"},
};

// The sets of options that a kind has, in their order: {kTraceScope, kWindow}.
using AnalysisOptionSets = std::vector<std::span<const AnalysisOption>>;

std::vector<AnalysisOption> AllOptions(const AnalysisOptionSets& sets);

class AnalysisOptions {
 public:
  // `given` by name, as text: digits, true or false, words. `act` begins the message. Fails with kUsage for a name that
  // is none and for a value that its option cannot have; the remedy names what there is.
  static Result<AnalysisOptions> Read(const std::string& act, const AnalysisOptionSets& sets,
                                      const std::map<std::string, std::string>& given);

  // Nothing where it was not given and has no default. REQUIRES: it is of that type, or none of the kind's.
  std::optional<int64_t> integer(std::string_view name) const;
  std::optional<double> real(std::string_view name) const;
  bool boolean(std::string_view name) const { return text(name) == "true"; }
  // Empty where it was not given and has no default.
  const std::string& text(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;  // checked; those with a default are there
};

}  // namespace kprof
