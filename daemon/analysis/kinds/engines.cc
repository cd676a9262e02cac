// Engines, how busy each engine of a NeuronCore was, and what ran beside what. Docs: docs/analyses/engines.md.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/core_peaks.h"
#include "daemon/analysis/functions/neuron/core_utilization.h"
#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/functions/neuron/profile_answer.h"

namespace kprof {
namespace {

enum EngineTable : size_t { kEngineRows, kDmaRows, kOverlapRows, kUtilizationRows, kCounterRows };

// An execution of which less is active was the first one, which waits for what later ones have.
constexpr double kTinyActivePercent = 5;

AnalysisValue DifferenceOf(int64_t ours, std::optional<double> summary) {
  return summary ? AnalysisValue(static_cast<double>(ours) - *summary) : AnalysisValue();
}

class EnginesMaker {
 public:
  EnginesMaker(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window,
               AnalysisAnswer& answer)
      : traces_(traces), profile_(profile), window_(window), answer_(answer) {}

  Status Make(std::optional<int64_t> core, const StopSignal& stop) {
    ASSIGN_OR_RETURN(work_, ReadProfileWork(traces_, profile_, window_, std::nullopt, stop));
    const bool has_cores = !work_.cores.empty();
    if (core && !work_.KeepCore(*core)) {
      answer_.AddNote(has_cores ? "the profile has nothing of core " + std::to_string(*core)
                                : "the profile is a summary alone, of all cores: leave option core out");
      return OkStatus();
    }
    total_ = TotalOf(profile_, work_, window_);
    ASSIGN_OR_RETURN(peaks_, CorePeaks::Find(profile_));
    is_compared_ = window_.is_whole() && work_.cores.size() <= 1 && !work_.is_one_of_several;
    RETURN_IF_ERROR(AddEngines());
    RETURN_IF_ERROR(AddDma());
    RETURN_IF_ERROR(AddOverlaps());
    RETURN_IF_ERROR(AddUtilization());
    RETURN_IF_ERROR(AddCounters());
    Tell();
    return OkStatus();
  }
  const ProfileTotal& total() const { return total_; }
  // Nothing: a summary alone does not say.
  std::optional<int64_t> active_ns() const { return active_ns_; }
  int64_t compute_ns() const { return compute_ns_; }
  bool has_work() const { return work_.has_instructions || work_.has_packets; }

 private:
  std::optional<double> SummaryOf(const std::string& counter) const {
    return is_compared_ ? profile_.Find(counter) : std::nullopt;
  }
  Status Add(size_t table, std::vector<AnalysisValue> values) {
    return AddProfileRow(profile_, table, std::move(values), answer_);
  }

  Status AddEngines() {
    for (EngineWork& engine : work_.engines) {
      DmaWork* const dma = work_.FindDma(engine.core);
      const int64_t active = engine.busy.LengthNs();
      const std::optional<double> told = SummaryOf(engine.engine + "_engine_active_time");
      RETURN_IF_ERROR(
          Add(kEngineRows,
              {engine.engine, active, PercentOf(active, total_.ns), engine.instructions, engine.rows_ns, engine.core,
               engine.work, engine.work_ns, engine.semaphores, engine.semaphore_ns, engine.wait_ns, engine.dma_wait_ns,
               dma == nullptr || dma->packets == 0 ? AnalysisValue()
                                                   : AnalysisValue(OverlapOf(engine.busy.Pieces(), dma->busy.Pieces())),
               RealOrNull(told), DifferenceOf(active, told)}));
    }
    if (!work_.engines.empty()) return OkStatus();
    // The profile is a summary alone.
    for (const std::string_view name : kEngineNames) {
      const std::string prefix = std::string(name) + "_engine_";
      const std::optional<int64_t> active = profile_.FindWhole(prefix + "active_time");
      const std::optional<double> percent = profile_.Find(prefix + "active_time_percent");
      const std::optional<int64_t> count = profile_.FindWhole(prefix + "instruction_count");
      if (!active && !percent && !count) continue;
      RETURN_IF_ERROR(Add(
          kEngineRows,
          {std::string(name), ValueOf(active ? active : TimeOfPercent(percent)), RealOrNull(percent), ValueOf(count),
           AnalysisValue(), AnalysisValue(), AnalysisValue(), ValueOf(profile_.FindWhole(prefix + "instruction_time")),
           AnalysisValue(), AnalysisValue(), AnalysisValue(), AnalysisValue(), AnalysisValue(),
           RealOrNull(profile_.Find(prefix + "active_time")), AnalysisValue()}));
    }
    return OkStatus();
  }
  std::optional<int64_t> TimeOfPercent(std::optional<double> percent) const {
    if (!percent || total_.ns <= 0) return std::nullopt;
    return std::llround(*percent / 100 * static_cast<double>(total_.ns));
  }

  std::vector<Interval> ComputeOf(int64_t core) {
    std::vector<Interval> compute;
    for (EngineWork& engine : work_.engines) {
      if (engine.core == core) compute = UnionOf(compute, engine.busy.Pieces());
    }
    return compute;
  }

  Status AddDma() {
    std::vector<Interval> all;
    std::vector<Interval> all_compute;
    for (const int64_t core : work_.cores) {
      const std::vector<Interval> compute = ComputeOf(core);
      all_compute = UnionOf(all_compute, compute);
      all = UnionOf(all, compute);
      DmaWork* const dma = work_.FindDma(core);
      if (dma == nullptr) continue;
      all = UnionOf(all, dma->busy.Pieces());
      const int64_t active = dma->busy.LengthNs();
      const int64_t hidden = OverlapOf(compute, dma->busy.Pieces());
      const std::optional<double> told = SummaryOf("dma_active_time");
      // Without packets nobody knows when its transfers ran.
      const bool is_known = dma->packets > 0;
      const auto if_known = [&](AnalysisValue value) { return is_known ? std::move(value) : AnalysisValue(); };
      RETURN_IF_ERROR(Add(kDmaRows, {core, if_known(active), if_known(PercentOf(active, total_.ns)), dma->packets,
                                     if_known(dma->packet_ns), if_known(dma->packet_bytes), dma->transfers,
                                     dma->transfer_bytes, if_known(hidden), if_known(active - hidden), RealOrNull(told),
                                     if_known(DifferenceOf(active, told))}));
    }
    active_ns_ = LengthOf(all);
    compute_ns_ = LengthOf(all_compute);
    if (work_.cores.empty()) {
      active_ns_ = profile_.FindWhole("total_active_time");
      if (!active_ns_) active_ns_ = TimeOfPercent(profile_.Find("total_active_time_percent"));
      const std::optional<double> told = profile_.Find("dma_active_time");
      const std::optional<double> percent = profile_.Find("dma_active_time_percent");
      if (told || percent) {
        RETURN_IF_ERROR(Add(
            kDmaRows,
            {AnalysisValue(), ValueOf(told ? profile_.FindWhole("dma_active_time") : TimeOfPercent(percent)),
             RealOrNull(percent), AnalysisValue(), ValueOf(profile_.FindWhole("dma_packet_time")), AnalysisValue(),
             ValueOf(profile_.FindWhole("dma_transfer_count")), ValueOf(profile_.FindWhole("dma_transfer_total_bytes")),
             AnalysisValue(), AnalysisValue(), RealOrNull(told), AnalysisValue()}));
      }
    }
    return OkStatus();
  }

  Status AddOverlaps() {
    for (const int64_t core : work_.cores) {
      std::vector<std::pair<std::string, const std::vector<Interval>*>> busy;
      for (EngineWork& engine : work_.engines) {
        if (engine.core == core) busy.emplace_back(engine.engine, &engine.busy.Pieces());
      }
      DmaWork* const dma = work_.FindDma(core);
      if (dma != nullptr && dma->packets > 0) busy.emplace_back("dma", &dma->busy.Pieces());
      for (size_t a = 0; a < busy.size(); ++a) {
        for (size_t b = a + 1; b < busy.size(); ++b) {
          const int64_t both = OverlapOf(*busy[a].second, *busy[b].second);
          const int64_t less = std::min(LengthOf(*busy[a].second), LengthOf(*busy[b].second));
          RETURN_IF_ERROR(Add(kOverlapRows, {core, busy[a].first, busy[b].first, both, PercentOf(both, less)}));
        }
      }
    }
    return OkStatus();
  }

  Status AddUtilization() {
    for (const CoreUtilization& one : UtilizationOf(profile_, work_, peaks_, total_, window_)) {
      RETURN_IF_ERROR(Add(kUtilizationRows, {std::string(one.name), RealOrNull(one.value), std::string(one.unit),
                                             RealOrNull(one.told), std::string(one.definition)}));
    }
    return OkStatus();
  }

  Status AddCounters() {
    const struct {
      const char* counter;
      std::optional<int64_t> InstructionSums::*of;
      const char* unit;
    } kSums[] = {
        {"hardware_flops", &InstructionSums::flops, "flop"},
        {"transpose_flops", &InstructionSums::transpose_flops, "flop"},
        {"hbm_read_bytes", &InstructionSums::hbm_read, "bytes"},
        {"hbm_write_bytes", &InstructionSums::hbm_write, "bytes"},
        {"sbuf_read_bytes", &InstructionSums::sbuf_read, "bytes"},
        {"sbuf_write_bytes", &InstructionSums::sbuf_write, "bytes"},
        {"psum_read_bytes", &InstructionSums::psum_read, "bytes"},
        {"psum_write_bytes", &InstructionSums::psum_write, "bytes"},
        {"spill_save_bytes", &InstructionSums::spill_save, "bytes"},
        {"spill_reload_bytes", &InstructionSums::spill_reload, "bytes"},
    };
    for (const auto& one : kSums) {
      std::optional<int64_t> sum;
      for (const auto& [core, sums] : work_.sums) {
        if (sums.*(one.of)) sum = SaturatingSum(sum.value_or(0), std::max<int64_t>(*(sums.*(one.of)), 0));
      }
      RETURN_IF_ERROR(AddCounter(one.counter, sum, one.unit));
    }
    if (work_.engines.empty() && work_.dma.empty()) return OkStatus();
    RETURN_IF_ERROR(AddCounter("total_active_time", active_ns_, "ns"));
    int64_t packet_ns = 0;
    int64_t transfer_bytes = 0;
    int64_t transfers = 0;
    bool has_packets = false;
    for (const DmaWork& dma : work_.dma) {
      packet_ns = SaturatingSum(packet_ns, dma.packet_ns);
      transfer_bytes = SaturatingSum(transfer_bytes, dma.transfer_bytes);
      transfers += dma.transfers;
      has_packets |= dma.packets > 0;
    }
    if (has_packets) RETURN_IF_ERROR(AddCounter("dma_packet_time", packet_ns, "ns"));
    if (transfers > 0) {
      RETURN_IF_ERROR(AddCounter("dma_transfer_total_bytes", transfer_bytes, "bytes"));
      RETURN_IF_ERROR(AddCounter("dma_transfer_count", transfers, "count"));
    }
    for (EngineWork& engine : work_.engines) {
      if (work_.cores.size() > 1) break;
      RETURN_IF_ERROR(AddCounter(engine.engine + "_engine_instruction_count", engine.instructions, "count"));
      RETURN_IF_ERROR(AddCounter(engine.engine + "_engine_instruction_time", engine.work_ns, "ns"));
    }
    return OkStatus();
  }

  Status AddCounter(const std::string& name, std::optional<int64_t> ours, const char* unit) {
    const bool is_all = window_.is_whole() && !work_.is_one_of_several;
    const std::optional<double> told = is_all ? profile_.Find(name) : std::nullopt;
    if (!ours && !told) return OkStatus();
    return Add(kCounterRows, {name, ValueOf(ours), std::string(unit), RealOrNull(told),
                              ours ? DifferenceOf(*ours, told) : AnalysisValue()});
  }

  void Tell() {
    answer_.AddNote(peaks_.Text());
    if (work_.cores.size() > 1) {
      answer_.AddNote("utilization is of the peaks of " + std::to_string(work_.cores.size()) +
                      " physical cores together; summary_value beside it is the profiler's own, which may be of the "
                      "peaks of one");
    }
    if (window_.is_whole() && !is_compared_) {
      answer_.AddNote("the profile's summary adds all cores up: of one of them it has no number to compare with");
    }
    if (total_.source == "rows" && has_work()) {
      answer_.AddNote("the profile has no summary: the whole is up to its last row");
    }
    for (const DmaWork& dma : work_.dma) {
      if (dma.packets == 0 && dma.transfers > 0) {
        answer_.AddNote(
            "no DMA packets were recorded: how long DMA was active is not known; capture with "
            "--enable-dge-notifs, or compile with --disable-dge");
      }
    }
    if (!has_work()) {
      answer_.AddNote(
          "the profile is a summary alone: times and counters are its own, and what ran beside what is not known; "
          "value "
          "of utilization is made of its counters by the definition, summary_value is what it says itself");
    }
    const auto active_ns = static_cast<double>(active_ns_.value_or(0));
    const double active_percent = total_.ns > 0 ? 100 * active_ns / static_cast<double>(total_.ns) : 100;
    if (window_.is_whole() && active_percent < kTinyActivePercent && active_ns > 0) {
      char text[40];
      std::snprintf(text, sizeof(text), "%.2g", active_percent);
      answer_.AddTrust({"cold_start", "only " + std::string(text) +
                                          " % of the execution is active: it is a first one, which waits for what "
                                          "later ones have; capture with --profile-nth-exec=2"});
    }
  }

  const AnalysisTraces& traces_;
  const DeviceProfile& profile_;
  const ProfileWindow& window_;
  AnalysisAnswer& answer_;
  ProfileWork work_;
  ProfileTotal total_;
  CorePeaks peaks_;
  bool is_compared_ = false;
  std::optional<int64_t> active_ns_;
  int64_t compute_ns_ = 0;
};

Result<AnalysisAnswer> AnswerEngines(const AnalysisTraces& traces, const AnalysisOptions& options,
                                     const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const AskedProfiles asked, FindAskedProfiles(traces, options, answer, stop));
  AnalysisAnswer::Row facts(5);
  for (const DeviceProfile& profile : asked.profiles) {
    EnginesMaker maker(traces, profile, asked.window, answer);
    RETURN_IF_ERROR(maker.Make(asked.core, stop));
    if (asked.profiles.size() > 1 || maker.total().source.empty()) continue;
    const std::optional<int64_t> active_ns = maker.active_ns();
    facts = {maker.total().ns, maker.total().source, ValueOf(active_ns),
             active_ns ? PercentOf(*active_ns, maker.total().ns) : AnalysisValue(),
             maker.has_work() ? AnalysisValue(maker.compute_ns()) : AnalysisValue()};
  }
  answer.SetFacts(std::move(facts));
  return answer;
}

}  // namespace

AnalysisKind Engines() {
  using enum AnalysisType;
  return {
      .name = "engines",
      .version = 1,
      .question = "How busy was each engine of the NeuronCore, and what ran beside what?",
      .options = {kProfileScope},
      .facts = {{"total_ns", kInteger, "ns", "The execution; null, as those below: of several profiles"},
                {"total_source", kText, "", "Who says so: total_time, last_hw_timestamp, rows"},
                {"active_ns", kInteger, "ns",
                 "In which any engine or DMA queue worked; null: the profile does not say"},
                {"active_percent", kReal, "percent", "active_ns of total_ns"},
                {"compute_ns", kInteger, "ns", "In which any engine worked"}},
      .tables = {{"engines",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank; null where nobody knows it"},
                   {"engine", kText, "", "tensor, vector, scalar, gpsimd, sync"},
                   {"active_ns", kInteger, "ns", "In which it worked: the union of its rows without EVENT_SEMAPHORE"},
                   {"active_percent", kReal, "percent", "active_ns of total_ns"},
                   {"instructions", kInteger, "", "All rows"},
                   {"rows_ns", kInteger, "ns", "Of all rows together, those that only wait included"},
                   {"core", kInteger, "", "The physical core within the logical one"},
                   {"work_instructions", kInteger, "", "Without EVENT_SEMAPHORE"},
                   {"instruction_ns", kInteger, "ns", "Of these together: rows of one engine overlap"},
                   {"semaphores", kInteger, "", "EVENT_SEMAPHORE rows, which only wait"},
                   {"semaphore_ns", kInteger, "ns", "Of these together"},
                   {"wait_ns", kInteger, "ns", "For events before instructions: no part of their durations"},
                   {"dma_wait_ns", kInteger, "ns", "For DMA, the same"},
                   {"dma_overlap_ns", kInteger, "ns", "In which it and DMA worked; null: no packets were recorded"},
                   {"summary_active_ns", kReal, "ns", "As the profile's summary says"},
                   {"difference_ns", kReal, "ns", "active_ns less that"},
                   kExecutionColumn}},
                 {"dma",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"core", kInteger, "", "The physical core"},
                   {"active_ns", kInteger, "ns", "In which a packet was under way; null: none was recorded"},
                   {"active_percent", kReal, "percent", "active_ns of total_ns"},
                   {"packets", kInteger, "", "Without duplicates"},
                   {"packet_ns", kInteger, "ns", "Of these together"},
                   {"packet_bytes", kInteger, "bytes", "That they moved"},
                   {"transfers", kInteger, "", "Rows that stand for all packets of a transfer"},
                   {"transfer_bytes", kInteger, "bytes", "Of these: the same bytes once more"},
                   {"hidden_ns", kInteger, "ns", "In which an engine worked, too"},
                   {"unhidden_ns", kInteger, "ns", "In which none did"},
                   {"summary_active_ns", kReal, "ns", "As the profile's summary says"},
                   {"difference_ns", kReal, "ns", "active_ns less that"},
                   kExecutionColumn}},
                 {"overlaps",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"core", kInteger, "", "The physical core"},
                   {"engine", kText, "", "An engine"},
                   {"other", kText, "", "Another, or dma"},
                   {"overlap_ns", kInteger, "ns", "In which both worked"},
                   {"percent", kReal, "percent", "overlap_ns of the active time of the one that was less active"},
                   kExecutionColumn}},
                 {"utilization",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"name", kText, "", "mfu, mfu_inst, hfu, mbu, ..."},
                   {"value", kReal, "", "By the definition"},
                   {"unit", kText, "", "Of value"},
                   {"summary_value", kReal, "", "As the profile's summary says"},
                   {"definition", kText, "", "The formula; peaks as a note says"},
                   kExecutionColumn}},
                 {"counters",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"counter", kText, "", "As the profile's summary calls it"},
                   {"value", kInteger, "", "Of the rows"},
                   {"unit", kText, "", "Of value"},
                   {"summary_value", kReal, "", "As the summary says"},
                   {"difference", kReal, "", "value less that; times are cut to ns in each row"},
                   kExecutionColumn}}},
      .answer = &AnswerEngines};
}

}  // namespace kprof
