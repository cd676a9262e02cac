#include "daemon/analysis/functions/neuron/neuron_first_look.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "daemon/analysis/functions/neuron/device_idle_time.h"
#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/functions/neuron/neuron_lines.h"
#include "storage/base/memory_charge.h"

namespace kprof {
namespace {

constexpr size_t kMostRanksLookedAt = 8;

std::string OneDecimal(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

std::string MillisText(int64_t ns) {
  return OneDecimal(static_cast<double>(ns) / 1e6) + " ms";
}

std::string PercentWords(std::optional<double> percent) {
  return OneDecimal(percent.value_or(0)) + " %";
}

std::optional<double> PercentOfNs(int64_t part, int64_t whole) {
  if (whole <= 0) return std::nullopt;
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// The line that has most of the device's time. Nothing is taken where no call of a kernel is known.
void TakeLongestLine(const NeuronLines& lines, NeuronRuntimeLook& look) {
  const auto longest = std::max_element(lines.places.begin(), lines.places.end(),
                                        [](const auto& a, const auto& b) { return a.second.nc_ns < b.second.nc_ns; });
  if (longest == lines.places.end() || longest->second.nc_ns == 0) return;
  const NeuronPlace& place = longest->first;
  look.kernel = place.kernel;
  look.file = place.file;
  if (place.line != kNoValue) look.line = place.line;
  look.line_percent = PercentOfNs(longest->second.nc_ns, lines.totals.all.nc_ns);
}

// The numbers as a sentence.
std::string SentenceOf(const NeuronRuntimeLook& look) {
  std::string text = "Neuron runtime" + (look.rank ? " of rank " + std::to_string(*look.rank) : std::string()) + ": ";
  if (!look.wall_ns) {
    text += "no execution on a device is in the trace";
  } else if (!look.busy_ns) {
    text += std::to_string(look.executions) + " executions took " + MillisText(look.nc_ns) +
            " of the device's time; when they ran is not known, as no sync point puts its clock beside the host's";
  } else {
    text +=
        (look.cores == 1 ? "the device ran " : "its " + std::to_string(look.cores) + " NeuronCores ran, added up, ") +
        MillisText(*look.busy_ns) + " of " + MillisText(*look.wall_ns) + " (" +
        PercentWords(PercentOfNs(*look.busy_ns, *look.wall_ns)) + "), " + std::to_string(look.executions) +
        (look.executions == 1 ? " execution" : " executions");
    if (look.line_percent) {
      text += "; most of it for " + (look.kernel.empty() ? std::string("a kernel") : look.kernel) + " at " + look.file +
              ":" + (look.line ? std::to_string(*look.line) : std::string("?")) + " (" +
              PercentWords(look.line_percent) + ")";
    }
    text += "; " + MillisText(look.nrt_ns) + " in the host's calls, " + look.reading_says;
    if (!look.idle_cause.empty()) {
      text += "; of the idle time most is " + look.idle_cause + " (" + PercentWords(look.idle_percent) + ")";
    }
  }
  return text + ": kprofctl analyze lines " + look.run + ", kprofctl analyze device-idle " + look.run;
}

Result<NeuronRuntimeLook> LookAtRank(const AnalysisTraces& traces, const NeuronRank& rank, const StopSignal& stop) {
  MemoryCharge charge(traces.take_memory());
  ASSIGN_OR_RETURN(NeuronEvents events, ReadNeuronEvents(traces, rank, charge, stop));
  const NeuronLines lines = NeuronLinesOf(events);
  const NeuronSums& all = lines.totals.all;
  NeuronRuntimeLook look;
  look.run = rank.run;
  look.rank = rank.rank;
  look.executions = all.executions;
  look.nc_ns = all.nc_ns;
  look.nrt_ns = all.nrt_ns;
  look.reading = std::string(all.reading.word());
  look.reading_says = lines.ReadingOfAll();
  look.command = "kprofctl analyze lines " + rank.run;
  TakeLongestLine(lines, look);
  std::vector<std::string> notes;
  const std::optional<Interval> whole = NeuronWallOf(events, notes);
  if (whole && all.executions > 0) {
    ASSIGN_OR_RETURN(const CoreIdleTimes times, CoreIdleTimesOf(events, *whole, {}, charge, stop));
    const CoreIdleSums idle = SumsOf(times.cores);
    look.cores = idle.cores;
    look.wall_ns = idle.cores > 0 ? idle.wall_ns : whole->end_ns - whole->begin_ns;
    if (idle.cores > 0) {
      const auto most = static_cast<size_t>(std::max_element(idle.ns.begin(), idle.ns.end()) - idle.ns.begin());
      look.busy_ns = idle.busy_ns;
      look.idle_percent = PercentOfNs(idle.ns[most], idle.idle_ns);
      if (look.idle_percent) look.idle_cause = std::string(IdleCategoryName(static_cast<IdleCategory>(most)));
    }
  }
  look.says = SentenceOf(look);
  return look;
}

}  // namespace

Result<NeuronRuntimeLooks> LookAtNeuronRuntime(const AnalysisTraces& traces, const StopSignal& stop) {
  NeuronRuntimeLooks looks;
  const std::vector<NeuronRank> ranks = NeuronRanksOf(traces);
  for (size_t i = 0; i < std::min(ranks.size(), kMostRanksLookedAt); ++i) {
    ASSIGN_OR_RETURN(NeuronRuntimeLook look, LookAtRank(traces, ranks[i], stop));
    looks.ranks.push_back(std::move(look));
  }
  looks.left_out = ranks.size() - looks.ranks.size();
  return looks;
}

}  // namespace kprof
