#include "daemon/devices/neuron/neuron_changes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace kprof {
namespace {

std::string JoinedNumbers(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::set<int64_t> PidsOf(const NeuronDevice& device) {
  std::set<int64_t> pids;
  for (const NeuronProcess& process : device.processes) pids.insert(process.pid);
  return pids;
}

std::vector<std::string> Missing(const std::set<int64_t>& from, const std::set<int64_t>& in) {
  std::vector<std::string> missing;
  for (const int64_t pid : from) {
    if (!in.contains(pid)) missing.push_back(std::to_string(pid));
  }
  return missing;
}

class Changes {
 public:
  void AddGrown(NeuronChange::Kind kind, const char* what, const std::optional<int64_t>& before,
                const std::optional<int64_t>& now) {
    if (!before || !now || *now <= *before) return;
    changes_.push_back(
        {kind,
         std::string(what) + ": " + std::to_string(*now) + ", " + std::to_string(*now - *before) + " more than before",
         static_cast<uint64_t>(*now)});
  }
  void Add(NeuronChange change) { changes_.push_back(std::move(change)); }
  std::vector<NeuronChange> Take() { return std::move(changes_); }

 private:
  std::vector<NeuronChange> changes_;
};

}  // namespace

std::vector<NeuronChange> ChangesOf(const NeuronDevice& before, const NeuronDevice& now) {
  using Kind = NeuronChange::Kind;
  Changes changes;
  const std::set<int64_t> old_pids = PidsOf(before);
  const std::set<int64_t> pids = PidsOf(now);
  const std::vector<std::string> came = Missing(pids, old_pids);
  const std::vector<std::string> went = Missing(old_pids, pids);
  if (!came.empty()) changes.Add({Kind::kProcesses, "used by process " + JoinedNumbers(came), pids.size()});
  if (!went.empty()) changes.Add({Kind::kProcesses, "no more used by process " + JoinedNumbers(went), pids.size()});
  changes.AddGrown(Kind::kMemoryError, "uncorrected errors of its memory", before.ecc.mem_uncorrected,
                   now.ecc.mem_uncorrected);
  changes.AddGrown(Kind::kMemoryError, "uncorrected errors of its memory that can be repaired",
                   before.ecc.mem_repairable_uncorrected, now.ecc.mem_repairable_uncorrected);
  changes.AddGrown(Kind::kMemoryError, "uncorrected errors of its SRAM", before.ecc.sram_uncorrected,
                   now.ecc.sram_uncorrected);
  changes.AddGrown(Kind::kExecutionErrors, "executions with errors", before.execution_errors, now.execution_errors);
  if (before.unhealthy_components != now.unhealthy_components) {
    changes.Add({Kind::kUnhealthy,
                 now.unhealthy_components.empty()
                     ? "its driver calls no component unhealthy any more"
                     : "its driver calls unhealthy: " + JoinedNumbers(now.unhealthy_components),
                 now.unhealthy_components.size()});
  }
  return changes.Take();
}

}  // namespace kprof
