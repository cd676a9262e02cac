// Engines, how busy each engine of a NeuronCore was, and what ran beside what. Docs: docs/analyses/engines.md.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/core_peaks.h"
#include "daemon/analysis/functions/neuron/device_profile.h"

namespace kprof {
namespace {

enum EngineTable : size_t { kEngineRows, kDmaRows, kOverlapRows, kUtilizationRows, kCounterRows };

// An execution of which less is active was the first one, which waits for what later ones have.
constexpr double kTinyActivePercent = 5;

AnalysisValue RealValue(std::optional<double> value) {
  return value && std::isfinite(*value) ? AnalysisValue(*value) : AnalysisValue();
}

AnalysisValue DifferenceOf(int64_t ours, std::optional<double> summary) {
  return summary ? AnalysisValue(static_cast<double>(ours) - *summary) : AnalysisValue();
}

class EnginesMaker {
 public:
  EnginesMaker(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window,
               AnalysisAnswer& answer)
      : traces_(traces), profile_(profile), window_(window), answer_(answer) {}

  Status Make(std::optional<int64_t> core, const StopSignal& stop) {
    ASSIGN_OR_RETURN(work_, ReadProfileWork(traces_, profile_, window_, core, stop));
    total_ = TotalOf(profile_, work_, window_);
    ASSIGN_OR_RETURN(peaks_, CorePeaks::Find(profile_));
    is_compared_ = window_.is_whole() && work_.cores.size() <= 1;
    RETURN_IF_ERROR(AddEngines());
    RETURN_IF_ERROR(AddDma());
    RETURN_IF_ERROR(AddOverlaps());
    RETURN_IF_ERROR(AddUtilization());
    RETURN_IF_ERROR(AddCounters());
    Tell();
    return OkStatus();
  }
  const ProfileTotal& total() const { return total_; }
  int64_t active_ns() const { return active_ns_; }
  int64_t compute_ns() const { return compute_ns_; }
  bool has_work() const { return work_.has_instructions || work_.has_packets; }

 private:
  std::optional<double> SummaryOf(const std::string& counter) const {
    return is_compared_ ? profile_.Find(counter) : std::nullopt;
  }
  std::vector<AnalysisValue> Head() const { return {profile_.run, ValueOf(profile_.rank)}; }
  Status Add(size_t table, std::vector<AnalysisValue> values) {
    std::vector<AnalysisValue> row = Head();
    row.insert(row.end(), std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
    return answer_.AddRow(table, std::move(row));
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
               RealValue(told), DifferenceOf(active, told)}));
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
          {std::string(name), ValueOf(active ? active : TimeOfPercent(percent)), RealValue(percent), ValueOf(count),
           AnalysisValue(), AnalysisValue(), AnalysisValue(), ValueOf(profile_.FindWhole(prefix + "instruction_time")),
           AnalysisValue(), AnalysisValue(), AnalysisValue(), AnalysisValue(), AnalysisValue(),
           RealValue(profile_.Find(prefix + "active_time")), AnalysisValue()}));
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
                                     dma->transfer_bytes, if_known(hidden), if_known(active - hidden), RealValue(told),
                                     if_known(DifferenceOf(active, told))}));
    }
    active_ns_ = LengthOf(all);
    compute_ns_ = LengthOf(all_compute);
    if (work_.cores.empty()) {
      active_ns_ = profile_.FindWhole("total_active_time").value_or(0);
      const std::optional<double> told = profile_.Find("dma_active_time");
      const std::optional<double> percent = profile_.Find("dma_active_time_percent");
      if (told || percent) {
        RETURN_IF_ERROR(Add(
            kDmaRows,
            {AnalysisValue(), ValueOf(told ? profile_.FindWhole("dma_active_time") : TimeOfPercent(percent)),
             RealValue(percent), AnalysisValue(), ValueOf(profile_.FindWhole("dma_packet_time")), AnalysisValue(),
             ValueOf(profile_.FindWhole("dma_transfer_count")), ValueOf(profile_.FindWhole("dma_transfer_total_bytes")),
             AnalysisValue(), AnalysisValue(), RealValue(told), AnalysisValue()}));
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

  // A number of the rows, else the summary's.
  std::optional<double> Summed(std::optional<int64_t> InstructionSums::*of, const char* counter) const {
    std::optional<double> sum;
    for (const auto& [core, sums] : work_.sums) {
      if (sums.*of) sum = sum.value_or(0) + static_cast<double>(*(sums.*of));
    }
    if (sum || !window_.is_whole()) return sum;
    return profile_.Find(counter);
  }

  Status AddUtilization() {
    // The summary's time is finer than ns.
    const bool is_told = window_.is_whole() && total_.source == "total_time";
    const double total_ns = is_told ? *profile_.Find("total_time") : static_cast<double>(total_.ns);
    const double total_s = total_ns / 1e9 * static_cast<double>(std::max<size_t>(work_.cores.size(), 1));
    const std::optional<double> hardware = Summed(&InstructionSums::flops, "hardware_flops");
    const std::optional<double> transposes = Summed(&InstructionSums::transpose_flops, "transpose_flops");
    const std::optional<double> read = Summed(&InstructionSums::hbm_read, "hbm_read_bytes");
    const std::optional<double> written = Summed(&InstructionSums::hbm_write, "hbm_write_bytes");
    const std::optional<double> model = window_.is_whole() ? profile_.Find("model_flops") : std::nullopt;
    const std::optional<double> inputs =
        window_.is_whole() ? profile_.Find("inputs_and_weights_size_bytes") : std::nullopt;
    const auto useful = hardware && transposes ? std::optional(*hardware - *transposes) : std::nullopt;
    const auto bytes = read || written ? std::optional(read.value_or(0) + written.value_or(0)) : std::nullopt;
    const auto of_peak = [&](std::optional<double> amount,
                             const std::optional<CorePeak>& peak) -> std::optional<double> {
      if (!amount || !peak || !(total_s > 0)) return std::nullopt;
      return 100 * *amount / (total_s * peak->value);
    };
    const auto ratio = [](std::optional<double> a, std::optional<double> b) -> std::optional<double> {
      if (!a || !b || !(*b > 0)) return std::nullopt;
      return *a / *b;
    };
    const auto peak_value = [](const std::optional<CorePeak>& peak) {
      return peak ? std::optional(peak->value) : std::nullopt;
    };
    const std::optional<double> ridge = ratio(peak_value(peaks_.tensor_flops), peak_value(peaks_.hbm_bytes));
    std::optional<double> achievable = ratio(ratio(model, bytes), ridge);
    if (achievable) achievable = 100 * std::min(*achievable, 1.0);
    const struct {
      const char* name;
      const char* unit;
      std::optional<double> value;
      const char* counter;
      const char* definition;
    } kRows[] = {
        {"mfu", "percent", of_peak(model, peaks_.tensor_flops), "mfu_estimated_percent",
         "model_flops / (total x tensor peak): matrix products of the model"},
        {"mfu_inst", "percent", of_peak(useful, peaks_.tensor_flops), "mfu_inst_estimated_percent",
         "(hardware_flops - transpose_flops) / (total x tensor peak): matrix products that ran"},
        {"hfu", "percent", of_peak(hardware, peaks_.tensor_flops), "hfu_estimated_percent",
         "hardware_flops / (total x tensor peak): all that the tensor engine did"},
        {"mbu", "percent", of_peak(bytes, peaks_.hbm_bytes), "mbu_estimated_percent",
         "(hbm_read_bytes + hbm_write_bytes) / (total x HBM peak)"},
        {"mbu_min_read", "percent", of_peak(inputs, peaks_.hbm_bytes), "mbu_min_read_util_percent",
         "inputs_and_weights_size_bytes / (total x HBM peak): each is read once"},
        {"arithmetic_intensity", "flop/byte", ratio(useful, bytes), "mm_arithmetic_intensity",
         "(hardware_flops - transpose_flops) / (hbm_read_bytes + hbm_write_bytes)"},
        {"ridge", "flop/byte", ridge, "peak_flops_bandwidth_ratio",
         "tensor peak / HBM peak: below it memory bounds, above it the tensor engine"},
        {"mfu_max_achievable", "percent", achievable, "mfu_max_achievable_estimated_percent",
         "(model_flops / HBM bytes) / ridge, at most 100"},
    };
    for (const auto& row : kRows) {
      const std::optional<double> told = window_.is_whole() ? profile_.Find(row.counter) : std::nullopt;
      if (!row.value && !told) continue;
      RETURN_IF_ERROR(Add(kUtilizationRows, {std::string(row.name), RealValue(row.value), std::string(row.unit),
                                             RealValue(told), std::string(row.definition)}));
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
    const std::optional<double> told = window_.is_whole() ? profile_.Find(name) : std::nullopt;
    if (!ours && !told) return OkStatus();
    return Add(kCounterRows, {name, ValueOf(ours), std::string(unit), RealValue(told),
                              ours ? DifferenceOf(*ours, told) : AnalysisValue()});
  }

  void Tell() {
    answer_.AddNote(peaks_.Text());
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
          "the profile is a summary alone: these are its own numbers, and what ran beside what is not known");
    }
    const double active_percent =
        total_.ns > 0 ? 100.0 * static_cast<double>(active_ns_) / static_cast<double>(total_.ns) : 100;
    if (window_.is_whole() && active_percent < kTinyActivePercent && active_ns_ > 0) {
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
  int64_t active_ns_ = 0;
  int64_t compute_ns_ = 0;
};

Result<AnalysisAnswer> AnswerEngines(const AnalysisTraces& traces, const AnalysisOptions& options,
                                     const StopSignal& stop) {
  RETURN_IF_ERROR(StillWanted(stop));
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const ProfileWindow window, WindowOf(options));
  ASSIGN_OR_RETURN(const std::vector<DeviceProfile> profiles, FindDeviceProfiles(traces, stop));
  AddProfileNotes(traces, profiles, answer);
  AnalysisAnswer::Row facts(5);
  for (const DeviceProfile& profile : profiles) {
    EnginesMaker maker(traces, profile, window, answer);
    RETURN_IF_ERROR(maker.Make(options.integer("core"), stop));
    if (profiles.size() > 1) continue;
    facts = {maker.total().ns, maker.total().source, maker.active_ns(), PercentOf(maker.active_ns(), maker.total().ns),
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
                {"active_ns", kInteger, "ns", "In which any engine or DMA queue worked"},
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
                   {"difference_ns", kReal, "ns", "active_ns less that"}}},
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
                   {"difference_ns", kReal, "ns", "active_ns less that"}}},
                 {"overlaps",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"core", kInteger, "", "The physical core"},
                   {"engine", kText, "", "An engine"},
                   {"other", kText, "", "Another, or dma"},
                   {"overlap_ns", kInteger, "ns", "In which both worked"},
                   {"percent", kReal, "percent", "overlap_ns of the active time of the one that was less active"}}},
                 {"utilization",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"name", kText, "", "mfu, mfu_inst, hfu, mbu, ..."},
                   {"value", kReal, "", "By the definition"},
                   {"unit", kText, "", "Of value"},
                   {"summary_value", kReal, "", "As the profile's summary says"},
                   {"definition", kText, "", "The formula; peaks as a note says"}}},
                 {"counters",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"counter", kText, "", "As the profile's summary calls it"},
                   {"value", kInteger, "", "Of the rows"},
                   {"unit", kText, "", "Of value"},
                   {"summary_value", kReal, "", "As the summary says"},
                   {"difference", kReal, "", "value less that; times are cut to ns in each row"}}}},
      .answer = &AnswerEngines};
}

}  // namespace kprof
