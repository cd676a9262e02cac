// DMA of a NeuronCore: what was moved, by which queues, how fast, how much of it beside compute, and what was moved
// more than once. Docs: docs/analyses/dma.md.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/functions/neuron/dma_traffic.h"
#include "daemon/analysis/functions/neuron/profile_answer.h"

namespace kprof {
namespace {

enum DmaTable : size_t { kQueueRows, kTypeRows, kVariableRows, kTensorRows, kSizeRows };

class DmaMaker {
 public:
  DmaMaker(const AnalysisTraces& traces, const DeviceProfile& profile, const ProfileWindow& window,
           AnalysisAnswer& answer)
      : traces_(traces), profile_(profile), window_(window), answer_(answer) {}

  Status Make(std::optional<int64_t> core, const StopSignal& stop) {
    ASSIGN_OR_RETURN(traffic_, ReadDmaTraffic(traces_, profile_, window_, core, stop));
    ASSIGN_OR_RETURN(work_, ReadProfileWork(traces_, profile_, window_, core, stop));
    for (const int64_t one : work_.cores) {
      std::vector<Interval> busy;
      for (EngineWork& engine : work_.engines) {
        if (engine.core == one) busy = UnionOf(busy, engine.busy.Pieces());
      }
      compute_[one] = std::move(busy);
      if (DmaWork* const dma = work_.FindDma(one)) {
        const int64_t active = dma->busy.LengthNs();
        active_ns_ = SaturatingSum(active_ns_, active);
        hidden_ns_ = SaturatingSum(hidden_ns_, OverlapOf(compute_[one], dma->busy.Pieces()));
      }
    }
    RETURN_IF_ERROR(AddQueues());
    RETURN_IF_ERROR(AddVariables());
    RETURN_IF_ERROR(AddTensors());
    RETURN_IF_ERROR(AddSizes());
    Tell();
    return OkStatus();
  }

  AnalysisAnswer::Row Facts() const {
    const auto if_packets = [&](int64_t value) {
      return traffic_.is_of_packets ? AnalysisValue(value) : AnalysisValue();
    };
    const auto if_rows = [&](int64_t value) { return traffic_.has_rows ? AnalysisValue(value) : AnalysisValue(); };
    int64_t excess = 0;
    bool is_excess_known = false;
    for (const MovedTensor& tensor : traffic_.tensors) {
      is_excess_known |= tensor.is_input && tensor.factor.has_value();
      excess = SaturatingSum(excess, tensor.excess_bytes);
    }
    return {if_packets(active_ns_),
            if_packets(hidden_ns_),
            if_packets(active_ns_ - hidden_ns_),
            if_rows(traffic_.bytes),
            if_rows(traffic_.spill_save_bytes),
            if_rows(traffic_.spill_reload_bytes),
            if_rows(2 * traffic_.spill_reload_bytes),
            is_excess_known ? AnalysisValue(excess) : AnalysisValue(),
            traffic_.descriptor_rows > 0 ? PercentOf(traffic_.small_descriptor_bytes, traffic_.descriptor_bytes)
                                         : AnalysisValue(),
            PercentOf(traffic_.unknown_bytes, traffic_.bytes)};
  }

 private:
  Status Add(size_t table, std::vector<AnalysisValue> values) {
    return AddProfileRow(profile_, table, std::move(values), answer_);
  }
  // The columns that queues and kinds of queues have in common.
  std::vector<AnalysisValue> TotalOfRows(DmaTotal& total, int64_t core) {
    const int64_t active = total.busy.LengthNs();
    const int64_t hidden = OverlapOf(compute_[core], total.busy.Pieces());
    return {total.rows,
            total.bytes,
            PercentOf(total.bytes, traffic_.bytes),
            total.sum_ns,
            active,
            RealOrNull(total.throughput_of_active()),
            total.rows > 0 ? AnalysisValue(static_cast<double>(total.bytes) / static_cast<double>(total.rows))
                           : AnalysisValue(),
            hidden,
            active - hidden,
            core};
  }

  Status AddQueues() {
    std::vector<std::pair<const std::tuple<int64_t, std::string, std::string>*, DmaTotal*>> order;
    for (auto& [key, total] : traffic_.queues) order.emplace_back(&key, &total);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& one, const auto& other) { return one.second->bytes > other.second->bytes; });
    for (const auto& [key, total] : order) {
      const auto& [core, type, queue] = *key;
      std::vector<AnalysisValue> row{WordOrNull(queue), WordOrNull(type)};
      for (AnalysisValue& value : TotalOfRows(*total, core)) row.push_back(std::move(value));
      RETURN_IF_ERROR(Add(kQueueRows, std::move(row)));
    }
    for (auto& [key, total] : traffic_.types) {
      std::vector<AnalysisValue> row{WordOrNull(key.second)};
      for (AnalysisValue& value : TotalOfRows(total, key.first)) row.push_back(std::move(value));
      RETURN_IF_ERROR(Add(kTypeRows, std::move(row)));
    }
    return OkStatus();
  }

  Status AddVariables() {
    std::vector<const MovedVariable*> order;
    for (const auto& [name, variable] : traffic_.variables) order.push_back(&variable);
    std::stable_sort(order.begin(), order.end(),
                     [](const MovedVariable* one, const MovedVariable* other) { return one->bytes > other->bytes; });
    int64_t all = 0;
    for (const MovedVariable* const one : order) all = SaturatingSum(all, one->bytes);
    for (const MovedVariable* const one : order) {
      RETURN_IF_ERROR(
          Add(kVariableRows, {WordOrNull(one->name), one->rows, one->bytes, PercentOf(one->bytes, all), one->sum_ns,
                              int64_t{one->is_spill}, WordOrNull(one->source), WordOrNull(one->dest)}));
    }
    return OkStatus();
  }

  Status AddTensors() {
    for (const MovedTensor& one : traffic_.tensors) {
      RETURN_IF_ERROR(Add(
          kTensorRows,
          {WordOrNull(one.name), WordOrNull(one.kind), one.size_bytes, ValueOf(one.moved_bytes), RealOrNull(one.factor),
           one.is_input && one.factor ? AnalysisValue(one.excess_bytes) : AnalysisValue()}));
    }
    return OkStatus();
  }

  Status AddSizes() {
    for (size_t i = 0; i < kDescriptorClasses; ++i) {
      const DescriptorClass& of = traffic_.descriptors[i];
      if (of.transfers == 0) continue;
      const bool is_last = i + 1 == kDescriptorClasses;
      RETURN_IF_ERROR(Add(kSizeRows, {i == 0 ? int64_t{0} : kDescriptorLimits[i - 1],
                                      is_last ? AnalysisValue() : AnalysisValue(kDescriptorLimits[i]), of.transfers,
                                      of.bytes, PercentOf(of.bytes, traffic_.descriptor_bytes), of.sum_ns,
                                      int64_t{i > 0 && kDescriptorLimits[i - 1] >= kGoodDescriptorBytes}}));
    }
    return OkStatus();
  }

  void Tell() {
    if (!traffic_.has_rows) {
      answer_.AddNote("the profile has no DMA rows: it is a summary alone, or nothing was recorded");
    } else if (!traffic_.is_of_packets) {
      answer_.AddNote(
          "no DMA packets were recorded: times are those of whole transfers, and how long DMA was active is "
          "not known; capture with --enable-dge-notifs, or compile with --disable-dge");
    }
    if (traffic_.bytes > 0 && traffic_.unknown_bytes > traffic_.bytes / 10) {
      answer_.AddNote(
          "most variables, or many, are unknown: descriptors were made on the device; "
          "NEURON_RT_ENABLE_DGE_NOTIFICATIONS=1 names them");
    }
  }

  const AnalysisTraces& traces_;
  const DeviceProfile& profile_;
  const ProfileWindow& window_;
  AnalysisAnswer& answer_;
  DmaTraffic traffic_;
  ProfileWork work_;
  std::map<int64_t, std::vector<Interval>> compute_;
  int64_t active_ns_ = 0;
  int64_t hidden_ns_ = 0;
};

Result<AnalysisAnswer> AnswerDma(const AnalysisTraces& traces, const AnalysisOptions& options, const StopSignal& stop) {
  AnalysisAnswer answer(traces);
  ASSIGN_OR_RETURN(const AskedProfiles asked, FindAskedProfiles(traces, options, answer, stop));
  AnalysisAnswer::Row facts(10);
  for (const DeviceProfile& profile : asked.profiles) {
    DmaMaker maker(traces, profile, asked.window, answer);
    RETURN_IF_ERROR(maker.Make(asked.core, stop));
    if (asked.profiles.size() == 1) facts = maker.Facts();
  }
  answer.SetFacts(std::move(facts));
  return answer;
}

// The columns that queues and kinds of queues have in common.
std::vector<AnalysisColumn> WithTotals(std::vector<AnalysisColumn> columns) {
  using enum AnalysisType;
  const std::vector<AnalysisColumn> totals = {
      {"packets", kInteger, "", "Rows: packets, or transfers where no packets were recorded"},
      {"bytes", kInteger, "bytes", "That they moved"},
      {"percent", kReal, "percent", "bytes of all"},
      {"sum_ns", kInteger, "ns", "Of these together"},
      {"active_ns", kInteger, "ns", "The union of them"},
      {"throughput_bytes_per_s", kReal, "", "Bytes/s; bytes in active_ns"},
      {"mean_bytes", kReal, "bytes", "Of one"},
      {"hidden_ns", kInteger, "ns", "Of active_ns, in which an engine worked, too"},
      {"unhidden_ns", kInteger, "ns", "In which none did"},
      {"core", kInteger, "", "The physical core within the logical one"},
      kExecutionColumn};
  columns.insert(columns.end(), totals.begin(), totals.end());
  return columns;
}

}  // namespace

AnalysisKind Dma() {
  using enum AnalysisType;
  return {
      .name = "dma",
      .version = 1,
      .question = "What did the DMA engines of the NeuronCore move, how fast, and what more than once?",
      .options = {kProfileScope},
      .facts = {{"active_ns", kInteger, "ns", "In which a packet was under way; null, as those below: not known"},
                {"hidden_ns", kInteger, "ns", "Of that, in which an engine worked, too"},
                {"unhidden_ns", kInteger, "ns", "In which none did"},
                {"bytes", kInteger, "bytes", "That were moved"},
                {"spill_save_bytes", kInteger, "bytes", "To spilled memory: VIRTUAL is the destination"},
                {"spill_reload_bytes", kInteger, "bytes", "Back from there"},
                {"spill_cost_bytes", kInteger, "bytes", "Twice the reloads: some saves are missing in the data"},
                {"reload_excess_bytes", kInteger, "bytes", "Of inputs and weights, beyond their sizes"},
                {"small_descriptor_percent", kReal, "percent", "Of bytes, in pieces of less than 4 KiB a partition"},
                {"unknown_percent", kReal, "percent", "Of bytes, of variables that nobody knows"}},
      .tables = {{"queues", WithTotals({{"run", kText, "", "The run", true},
                                        {"rank", kInteger, "", "The rank; null where nobody knows it"},
                                        {"queue", kText, "", "As the profile calls it"},
                                        {"type", kText, "", "data, input, software_dynamic, instruction, ..."}})},
                 {"types", WithTotals({{"run", kText, "", "The run", true},
                                       {"rank", kInteger, "", "The rank"},
                                       {"type", kText, "", "The kind of queue"}})},
                 {"variables",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"variable", kText, "", "What was moved; null: nobody knows"},
                   {"transfers", kInteger, "", "Rows: transfers, or packets where there are no transfers"},
                   {"bytes", kInteger, "bytes", "That they moved"},
                   {"percent", kReal, "percent", "bytes of all variables"},
                   {"sum_ns", kInteger, "ns", "Of these together"},
                   {"is_spill", kBoolean, "", "Its source or destination is VIRTUAL"},
                   {"source", kText, "", "Of the first"},
                   {"dest", kText, "", "Of the first"},
                   kExecutionColumn}},
                 {"tensors",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"tensor", kText, "", "Of the program"},
                   {"kind", kText, "", "input, output, weight"},
                   {"size_bytes", kInteger, "bytes", "Of the tensor"},
                   {"moved_bytes", kInteger, "bytes", "By DMA; null: no row names it"},
                   {"factor", kReal, "", "moved_bytes / size_bytes: 1 is once"},
                   {"excess_bytes", kInteger, "bytes", "moved_bytes beyond the size; null: it is no input"},
                   kExecutionColumn}},
                 {"sizes",
                  {{"run", kText, "", "The run", true},
                   {"rank", kInteger, "", "The rank"},
                   {"from_bytes", kInteger, "bytes", "Of a transfer, for each SBUF partition"},
                   {"to_bytes", kInteger, "bytes", "Less than that; null: no limit"},
                   {"transfers", kInteger, "", "Of that size"},
                   {"bytes", kInteger, "bytes", "Of these"},
                   {"percent", kReal, "percent", "bytes of all whose partitions are known"},
                   {"sum_ns", kInteger, "ns", "Of these together"},
                   {"is_good", kBoolean, "", "4 KiB and more, as AWS advises"},
                   kExecutionColumn}}},
      .answer = &AnswerDma};
}

}  // namespace kprof
