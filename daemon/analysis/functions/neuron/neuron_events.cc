#include "daemon/analysis/functions/neuron/neuron_events.h"

#include "daemon/analysis/functions/neuron/neuron_parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "storage/trace/format/neuron_tables.h"

namespace kprof {
namespace {

struct CategoryType {
  std::string_view type;
  IdleCategory category;
};
constexpr CategoryType kCategoryTypes[] = {
    {"nrt_tensor_read", IdleCategory::kD2hTransfer},    {"dmem_buf_copyout", IdleCategory::kD2hTransfer},
    {"nrt_tensor_write", IdleCategory::kH2dTransfer},   {"dmem_buf_copyin", IdleCategory::kH2dTransfer},
    {"nrt_tensor_allocate", IdleCategory::kMemoryMgmt}, {"nrt_tensor_free", IdleCategory::kMemoryMgmt},
    {"nrt_dma_mem_alloc", IdleCategory::kMemoryMgmt},   {"nrt_dma_mem_dealloc", IdleCategory::kMemoryMgmt},
    {"nrt_execute", IdleCategory::kExecOverhead},       {"nrt_model_submit", IdleCategory::kExecOverhead},
    {"kbl_exec_pre", IdleCategory::kExecOverhead},      {"kbl_exec_post", IdleCategory::kExecOverhead},
    {"nrt_async_sema_wait", IdleCategory::kSyncWait},   {"tensor_block_while_exec", IdleCategory::kSyncWait},
};
constexpr std::string_view kLinkTypes[] = {"kbl_exec_pre", "kmgr_exec_core", "kbl_exec_wait", "kbl_exec_post",
                                           "nrt_model_submit"};

// The uses of a type of events.
struct TypeUse {
  bool is_execution = false;
  bool is_host_call = false;
  bool is_async = false;
  bool is_link = false;
  bool is_sync_point = false;
  std::optional<IdleCategory> category;
};

TypeUse UseOf(std::string_view type) {
  TypeUse use{.is_execution = type == "nc_exec_running",
              .is_host_call = type == "nrt_execute" || type == "nrta_execute_schedule",
              .is_async = type == "nrta_execute_schedule",
              .is_sync_point = type == "timestamp_sync_point",
              .category = IdleCategoryOf(type)};
  for (const std::string_view link : kLinkTypes) use.is_link |= type == link;
  return use;
}

// The base of a part's times: of those with Unix times, or as their sources counted.
int64_t SourceBaseOf(PartReader& part, bool are_unix) {
  if (are_unix) return part.IntegerFact("base_unix_ns").value_or(0);
  return part.IntegerFact("base_source_ns").value_or(0);
}

int64_t SafeSumOf(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? kFirstTimeNs : kLastTimeNs) : SafeTime(sum);
}

class NeuronEventReading {
 public:
  NeuronEventReading(const AnalysisTraces& traces, const NeuronRank& rank, MemoryCharge& charge, const StopSignal& stop)
      : traces_(traces), rank_(rank), charge_(charge), stop_(stop) {}

  Result<NeuronEvents> Read() {
    bool are_unix = true;
    for (const size_t part : rank_.parts) are_unix &= ReaderOf(part).IntegerFact("base_unix_ns").has_value();
    const int64_t first_base_ns = SourceBaseOf(ReaderOf(rank_.parts.front()), are_unix);
    for (const size_t part : rank_.parts) {
      PartReader& reader = ReaderOf(part);
      shift_ns_ = SafeSumOf(SafeTime(SourceBaseOf(reader, are_unix)), -SafeTime(first_base_ns));
      texts_.clear();
      uses_.clear();
      read_.parts.push_back(part);
      if (const StoredSideTable* table = reader.FindSideTable(NeuronEventSideTable().name)) {
        if (table->table == NeuronEventSideTable()) RETURN_IF_ERROR(ReadEventsOf(reader, *table));
      }
      if (const StoredSideTable* table = reader.FindSideTable(NeuronCallSideTable().name)) {
        if (table->table == NeuronCallSideTable()) RETURN_IF_ERROR(ReadCallsOf(reader, *table));
      }
      ReadFactsOf(reader);
    }
    // The tool's own count is of all that the capture left, which may say it as well.
    read_.dropped_events = std::max(read_.dropped_events, captured_dropped_events_);
    MergeWorkers();
    const auto is_before = [](const NeuronProgramCall& a, const NeuronProgramCall& b) {
      return a.call_index < b.call_index;
    };
    const bool are_numbered = std::none_of(read_.calls.begin(), read_.calls.end(),
                                           [](const NeuronProgramCall& call) { return call.call_index == kNoValue; });
    if (are_numbered) std::stable_sort(read_.calls.begin(), read_.calls.end(), is_before);
    return std::move(read_);
  }

 private:
  PartReader& ReaderOf(size_t part) const { return *traces_.parts()[part].reader; }

  // Events that are of no worker (-1) are of the only one that their process has.
  void MergeWorkers() {
    std::map<uint32_t, std::set<int64_t>> workers;
    const auto see = [&](const NeuronCoreKey& of) {
      if (of.worker >= 0) workers[of.process].insert(of.worker);
    };
    for (const NeuronCoreRow& row : read_.core_rows) see(row.of);
    for (const NeuronHostCall& call : read_.host_calls) see(call.of);
    for (const ExecutionLink& link : read_.links) see(link.of);
    const auto merge = [&](NeuronCoreKey& of) {
      const auto known = workers.find(of.process);
      if (known == workers.end()) {
        of.worker = kNoValue;
      } else if (known->second.size() == 1) {
        of.worker = *known->second.begin();
      }
    };
    for (NeuronCoreRow& row : read_.core_rows) merge(row.of);
    for (NeuronHostCall& call : read_.host_calls) merge(call.of);
    for (ExecutionLink& link : read_.links) merge(link.of);
    for (NeuronCoreKey& core : read_.cores) merge(core);
  }

  // A text of the part, by its number among all texts.
  Result<uint32_t> TextOf(PartReader& reader, int64_t id) {
    if (id == kNoValue) return 0;
    const auto found = texts_.find(id);
    if (found != texts_.end()) return found->second;
    ASSIGN_OR_RETURN(std::string text, reader.ReadString(id));
    RETURN_IF_ERROR(charge_.Grow(static_cast<int64_t>(text.size() + sizeof(std::string))));
    const auto [number, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(read_.texts.size()));
    if (is_new) read_.texts.push_back(std::move(text));
    texts_[id] = number->second;
    return number->second;
  }

  Result<const TypeUse*> UseOfType(PartReader& reader, int64_t id) {
    const auto found = uses_.find(id);
    if (found != uses_.end()) return &found->second;
    ASSIGN_OR_RETURN(const std::string type, reader.ReadString(id));
    return &uses_.emplace(id, UseOf(type)).first->second;
  }

  // A process of the part, by its number among all processes.
  Result<uint32_t> ProcessOf(PartReader& reader, int64_t instance, int64_t process) {
    const std::pair ids(instance, process);
    if (last_process_ && last_process_->first == ids) return last_process_->second;
    const auto [found, is_new] = processes_.try_emplace(ids, 0);
    if (is_new) {
      RuntimeProcess made;
      if (instance != kNoValue) {
        ASSIGN_OR_RETURN(made.instance, reader.ReadString(instance));
      }
      if (process != kNoValue) {
        ASSIGN_OR_RETURN(made.process, reader.ReadString(process));
      }
      RETURN_IF_ERROR(
          charge_.Grow(static_cast<int64_t>(made.instance.size() + made.process.size() + 2 * sizeof(RuntimeProcess))));
      const auto number = static_cast<uint32_t>(read_.processes.size());
      const bool is_told = !made.instance.empty() && !made.process.empty();
      found->second =
          is_told ? told_processes_.try_emplace({made.instance, made.process}, number).first->second : number;
      if (found->second == number) read_.processes.push_back(std::move(made));
    }
    last_process_ = {ids, found->second};
    return found->second;
  }

  // A NeuronCore by its number among those of categorised events.
  Result<uint32_t> CoreOf(const NeuronCoreKey& key) {
    if (last_core_ < read_.cores.size() && read_.cores[last_core_] == key) return last_core_;
    const auto [found, is_new] = cores_.try_emplace(key, static_cast<uint32_t>(read_.cores.size()));
    if (is_new) {
      RETURN_IF_ERROR(charge_.Grow(4 * sizeof(NeuronCoreKey)));
      read_.cores.push_back(key);
    }
    return last_core_ = found->second;
  }

  int64_t Shifted(int64_t time_ns) const { return time_ns == kNoValue ? kNoValue : SafeSumOf(time_ns, shift_ns_); }

  Status ReadEventsOf(PartReader& reader, const StoredSideTable& table) {
    using enum NeuronEventColumn;
    processes_.clear();
    last_process_.reset();
    for (const SideSegment& segment : table.segments) {
      RETURN_IF_ERROR(StillWanted(stop_));
      std::array<DecodedColumn, 16> columns;
      for (const NeuronEventColumn column : {kEvent, kProcess, kWorker, kThread, kNc, kCore, kExecId, kTrackingId,
                                             kSeqId, kModel, kStart, kEnd, kDeviceStart, kDeviceEnd, kInstance}) {
        ASSIGN_OR_RETURN(columns[static_cast<size_t>(column)], reader.ReadSide(segment, static_cast<size_t>(column)));
      }
      const auto at = [&](NeuronEventColumn column, size_t row) {
        return (*columns[static_cast<size_t>(column)])[row];
      };
      int64_t last_type = kNoValue;
      const TypeUse* use = nullptr;
      const size_t had = Taken();
      for (size_t row = 0; row < segment.rows; ++row) {
        const int64_t type = at(kEvent, row);
        if (type == kNoValue) continue;
        if (type != last_type) {
          ASSIGN_OR_RETURN(use, UseOfType(reader, type));
          last_type = type;
        }
        ++read_.events;
        const int64_t start_ns = Shifted(at(kStart, row));
        const int64_t end_ns = Shifted(at(kEnd, row));
        ASSIGN_OR_RETURN(const uint32_t process, ProcessOf(reader, at(kInstance, row), at(kProcess, row)));
        if (!use->is_sync_point) {
          for (const int64_t time_ns : {start_ns, end_ns}) SeeTime(time_ns, read_.processes[process]);
        }
        const NeuronCoreKey key{process, at(kWorker, row), at(kNc, row)};
        if (use->category && start_ns != kNoValue && end_ns > start_ns) {
          ASSIGN_OR_RETURN(const uint32_t core, CoreOf(key));
          read_.categorised.push_back({start_ns, end_ns, *use->category, core});
        }
        if (!use->is_execution && !use->is_host_call && !use->is_link) continue;
        if (use->is_execution) {
          ASSIGN_OR_RETURN(const uint32_t model, TextOf(reader, at(kModel, row)));
          read_.core_rows.push_back({key, at(kCore, row), at(kExecId, row), at(kTrackingId, row), at(kSeqId, row),
                                     start_ns, end_ns, DeviceTime(at(kDeviceStart, row)),
                                     DeviceTime(at(kDeviceEnd, row)), model});
        }
        if (use->is_host_call) {
          read_.host_calls.push_back(
              {key, use->is_async, at(kThread, row), at(kExecId, row), at(kSeqId, row), start_ns, end_ns});
        }
        if (use->is_link && (at(kExecId, row) != kNoValue || at(kSeqId, row) != kNoValue)) {
          read_.links.push_back({key, at(kThread, row), at(kExecId, row), at(kSeqId, row), start_ns});
        }
      }
      RETURN_IF_ERROR(charge_.Grow(static_cast<int64_t>(Taken() - had)));
    }
    return OkStatus();
  }

  void SeeTime(int64_t time_ns, RuntimeProcess& process) {
    if (time_ns == kNoValue) return;
    read_.first_ns = std::min(read_.first_ns.value_or(time_ns), time_ns);
    read_.last_ns = std::max(read_.last_ns.value_or(time_ns), time_ns);
    process.first_ns = std::min(process.first_ns.value_or(time_ns), time_ns);
    process.last_ns = std::max(process.last_ns.value_or(time_ns), time_ns);
  }

  static int64_t DeviceTime(int64_t time_ns) { return time_ns == kNoValue ? kNoValue : SafeTime(time_ns); }

  size_t Taken() const {
    return read_.core_rows.size() * sizeof(NeuronCoreRow) + read_.host_calls.size() * sizeof(NeuronHostCall) +
           read_.links.size() * sizeof(ExecutionLink) + read_.categorised.size() * sizeof(CategorisedEvent) +
           read_.calls.size() * sizeof(NeuronProgramCall);
  }

  Status ReadCallsOf(PartReader& reader, const StoredSideTable& table) {
    using enum NeuronCallColumn;
    for (const SideSegment& segment : table.segments) {
      RETURN_IF_ERROR(StillWanted(stop_));
      std::vector<DecodedColumn> columns;
      for (size_t column = 0; column < table.table.columns.size(); ++column) {
        ASSIGN_OR_RETURN(DecodedColumn values, reader.ReadSide(segment, column));
        columns.push_back(std::move(values));
      }
      const auto at = [&](NeuronCallColumn column, size_t row) { return (*columns[static_cast<size_t>(column)])[row]; };
      RETURN_IF_ERROR(charge_.Grow(static_cast<int64_t>(segment.rows * sizeof(NeuronProgramCall))));
      for (size_t row = 0; row < segment.rows; ++row) {
        NeuronProgramCall call{.line = at(kLine, row),
                               .call_index = at(kCallIndex, row),
                               .thread = at(kThread, row),
                               .nc = at(kNc, row),
                               .seq_id = at(kSeqId, row),
                               .exec_id = at(kExecId, row),
                               .start_ns = Shifted(at(kStart, row)),
                               .end_ns = Shifted(at(kEnd, row))};
        ASSIGN_OR_RETURN(call.file, TextOf(reader, at(kFile, row)));
        ASSIGN_OR_RETURN(call.kernel, TextOf(reader, at(kKernel, row)));
        read_.calls.push_back(call);
      }
    }
    return OkStatus();
  }

  void ReadFactsOf(PartReader& reader) {
    const auto fact = [&](std::string_view name) { return std::max<int64_t>(reader.IntegerFact(name).value_or(0), 0); };
    read_.dropped_events = SaturatingSum(read_.dropped_events, fact("neuron.dropped_events"));
    captured_dropped_events_ = std::max(captured_dropped_events_, fact("capture.dropped_events"));
    read_.is_cut |= fact("neuron.is_cut") > 0;
    read_.begins_alone = SaturatingSum(read_.begins_alone, fact("neuron.begins_alone"));
    read_.ends_alone = SaturatingSum(read_.ends_alone, fact("neuron.ends_alone"));
    const std::optional<int64_t> start_ns = reader.IntegerFact("neuron.wall_start_ns");
    const std::optional<int64_t> stop_ns = reader.IntegerFact("neuron.wall_stop_ns");
    if (!start_ns || !stop_ns || *stop_ns <= *start_ns) return;
    const int64_t from_ns = SafeSumOf(-SafeTime(reader.IntegerFact("base_source_ns").value_or(0)), shift_ns_);
    read_.wall = Interval{SafeSumOf(*start_ns, from_ns), SafeSumOf(*stop_ns, from_ns)};
  }

  const AnalysisTraces& traces_;
  const NeuronRank& rank_;
  MemoryCharge& charge_;
  const StopSignal& stop_;
  NeuronEvents read_;
  int64_t captured_dropped_events_ = 0;
  int64_t shift_ns_ = 0;                         // of the part that is read
  std::unordered_map<int64_t, uint32_t> texts_;  // of the part that is read
  std::unordered_map<int64_t, TypeUse> uses_;
  std::unordered_map<std::string, uint32_t> numbers_;
  // Processes of the part that is read, by the numbers of their texts; those that tell their host, of all parts.
  std::map<std::pair<int64_t, int64_t>, uint32_t> processes_;
  std::optional<std::pair<std::pair<int64_t, int64_t>, uint32_t>> last_process_;
  std::map<std::pair<std::string, std::string>, uint32_t> told_processes_;
  std::map<NeuronCoreKey, uint32_t> cores_;
  uint32_t last_core_ = 0;
};

}  // namespace

std::string_view IdleCategoryName(IdleCategory category) {
  constexpr std::array<std::string_view, kIdleCategories> kNames = {"d2h_transfer",  "h2d_transfer", "memory_mgmt",
                                                                    "exec_overhead", "sync_wait",    "unattributed"};
  return kNames[static_cast<size_t>(category)];
}

std::optional<IdleCategory> IdleCategoryOf(std::string_view event_type) {
  for (const CategoryType& row : kCategoryTypes) {
    if (row.type == event_type) return row.category;
  }
  return std::nullopt;
}

std::vector<NeuronRank> NeuronRanksOf(const AnalysisTraces& traces) {
  std::vector<NeuronRank> ranks;
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    if (!IsNeuronRuntimePart(traces.parts()[part])) continue;
    const std::optional<int64_t> rank = traces.parts()[part].rank;
    const auto of = std::find_if(ranks.begin(), ranks.end(), [&](const NeuronRank& known) {
      return known.run == traces.run(part) && known.rank == rank;
    });
    if (of == ranks.end()) {
      ranks.push_back({traces.run(part), rank, {part}});
    } else {
      of->parts.push_back(part);
    }
  }
  return ranks;
}

Result<NeuronEvents> ReadNeuronEvents(const AnalysisTraces& traces, const NeuronRank& rank, MemoryCharge& charge,
                                      const StopSignal& stop) {
  return NeuronEventReading(traces, rank, charge, stop).Read();
}

std::optional<Interval> NeuronWallOf(const NeuronEvents& events, std::vector<std::string>& notes) {
  if (!events.first_ns) return events.wall;
  const Interval whole{*events.first_ns, *events.last_ns};
  if (!events.wall) return whole;
  if (events.wall->begin_ns < whole.end_ns && events.wall->end_ns > whole.begin_ns) return events.wall;
  notes.emplace_back(
      "the wall time that the profile tells is of another clock than its events: from the first event to the last one "
      "counts");
  return whole;
}

}  // namespace kprof
