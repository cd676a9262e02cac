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

std::string ShareOfText(int64_t part, int64_t whole) {
  return OneDecimal(whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0) + " %";
}

// The line that has most of the device's time; empty: no call of a kernel is known.
std::string LongestLine(const NeuronLines& lines) {
  const auto longest = std::max_element(lines.places.begin(), lines.places.end(),
                                        [](const auto& a, const auto& b) { return a.second.nc_ns < b.second.nc_ns; });
  if (longest == lines.places.end() || longest->second.nc_ns == 0) return "";
  const NeuronPlace& place = longest->first;
  return "; most of it for " + (place.kernel.empty() ? std::string("a kernel") : place.kernel) + " at " + place.file +
         ":" + (place.line == kNoValue ? std::string("?") : std::to_string(place.line)) + " (" +
         ShareOfText(longest->second.nc_ns, lines.totals.all.nc_ns) + ")";
}

Result<std::string> LookAtRank(const AnalysisTraces& traces, const NeuronRank& rank, const StopSignal& stop) {
  MemoryCharge charge(traces.take_memory());
  ASSIGN_OR_RETURN(NeuronEvents events, ReadNeuronEvents(traces, rank, charge, stop));
  const NeuronLines lines = NeuronLinesOf(events);
  const NeuronSums& all = lines.totals.all;
  std::string text = "Neuron runtime" + (rank.rank ? " of rank " + std::to_string(*rank.rank) : std::string()) + ": ";
  std::vector<std::string> notes;
  const std::optional<Interval> whole = NeuronWallOf(events, notes);
  std::vector<CoreIdleTime> cores;
  if (whole) {
    ASSIGN_OR_RETURN(cores, CoreIdleTimesOf(events, *whole, {}, charge));
  }
  const CoreIdleSums idle = SumsOf(cores);
  if (!whole || all.executions == 0) {
    text += "no execution on a device is in the trace";
  } else if (idle.cores == 0) {
    text += std::to_string(all.executions) + " executions took " + MillisText(all.nc_ns) +
            " of the device's time; when they ran is not known, as no sync point puts its clock beside the host's";
  } else {
    text +=
        (idle.cores == 1 ? "the device ran " : "its " + std::to_string(idle.cores) + " NeuronCores ran, added up, ") +
        MillisText(idle.busy_ns) + " of " + MillisText(idle.wall_ns) + " (" + ShareOfText(idle.busy_ns, idle.wall_ns) +
        "), " + std::to_string(all.executions) + (all.executions == 1 ? " execution" : " executions") +
        LongestLine(lines) + "; " + MillisText(all.nrt_ns) + " in the host's calls, " + std::string(all.reading.word());
    const auto most = static_cast<size_t>(std::max_element(idle.ns.begin(), idle.ns.end()) - idle.ns.begin());
    if (idle.idle_ns > 0) {
      text += "; of the idle time most is " + std::string(IdleCategoryName(static_cast<IdleCategory>(most))) + " (" +
              ShareOfText(idle.ns[most], idle.idle_ns) + ")";
    }
  }
  return text + ": kprofctl analyze lines " + rank.run + ", kprofctl analyze device-idle " + rank.run;
}

}  // namespace

Result<std::vector<std::string>> LookAtNeuronRuntime(const AnalysisTraces& traces, const StopSignal& stop) {
  std::vector<std::string> looks;
  const std::vector<NeuronRank> ranks = NeuronRanksOf(traces);
  for (size_t i = 0; i < std::min(ranks.size(), kMostRanksLookedAt); ++i) {
    ASSIGN_OR_RETURN(std::string look, LookAtRank(traces, ranks[i], stop));
    looks.push_back(std::move(look));
  }
  if (ranks.size() > kMostRanksLookedAt) {
    looks.push_back(std::to_string(ranks.size() - kMostRanksLookedAt) + " more ranks have such a trace");
  }
  return looks;
}

}  // namespace kprof
