// Device profiles of Neuron cores among traces: which parts are one profile, its counters, the rows of its tables, and
// what its engines and its DMA queues did in a window of time. Analyses of device profiles are made of this.
//
// One thread, that of the readers. Reading a profile's work costs a pass over its instructions and DMA rows, and 16
// bytes for each of them that is apart from the others, which the traces' take_memory is asked for.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_reports/report_table_rows.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "storage/base/memory_charge.h"
#include "storage/trace/format/neuron_device_tables.h"

namespace kprof {

// These choose a part of a device profile.
inline constexpr AnalysisOption kProfileScope[] = {
    {"rank", AnalysisType::kInteger, "", "", "Only this rank", "", 0},
    {"core", AnalysisType::kInteger, "", "", "Only this physical core of the logical one", "", 0},
    {"from", AnalysisType::kInteger, "", "ns", "Only from this time on, counted from the start of the execution"},
    {"to", AnalysisType::kInteger, "", "ns", "Only before this time"},
    {"limit", AnalysisType::kInteger, "", "", "At most so many rows of each table", "", 1},
};

// A stretch of time that is asked for; INT64_MIN, INT64_MAX: no bound.
struct ProfileWindow {
  int64_t from_ns = INT64_MIN;
  int64_t to_ns = INT64_MAX;
  bool is_whole() const { return from_ns == INT64_MIN && to_ns == INT64_MAX; }
  // False: nothing of it is in the window.
  bool Clip(int64_t& begin_ns, int64_t& end_ns) const {
    begin_ns = begin_ns < from_ns ? from_ns : begin_ns;
    end_ns = end_ns > to_ns ? to_ns : end_ns;
    return begin_ns < end_ns;
  }
};

struct DeviceProfile {
  std::string run;
  std::optional<int64_t> rank;
  std::optional<int64_t> execution;  // its number, as the name of its file says: profile_exec_4
  std::vector<size_t> parts;         // of the traces
  std::string kernel;                // of the metrics; empty: there are none
  // Numbers of the summary and of the metadata, with units normalised; of several kernels those of the first.
  std::map<std::string, double, std::less<>> counters;
  std::string instance_type;  // "inf2.xlarge"; empty: the profile does not say
  std::string schema;         // its version; empty, the same

  std::optional<double> Find(std::string_view counter) const;
  std::optional<int64_t> FindWhole(std::string_view counter) const;
};

// The parts of a profile that came as one file, or as a folder of tables for each run and rank.
Result<std::vector<DeviceProfile>> FindDeviceProfiles(const AnalysisTraces& traces, const StopSignal& stop);
bool IsDeviceProfile(const TracePart& part);

// The number behind "exec" in the name of a device profile's file.
std::optional<int64_t> ExecutionOf(const PartReader& reader);

// "tensor" for Tensor, PE and the like; another name in small letters.
std::string EngineNameOf(std::string_view name);
inline constexpr std::string_view kEngineNames[] = {"tensor", "vector", "scalar", "gpsimd", "sync"};
// Rows that only wait: their durations are no work.
inline constexpr std::string_view kSemaphoreOpcode = "EVENT_SEMAPHORE";

// A union of intervals that may come in any order.
class BusyUnion {
 public:
  void Add(int64_t begin_ns, int64_t end_ns);
  // Sorts it, if that is needed. Disjoint pieces in order.
  const std::vector<Interval>& Pieces();
  int64_t LengthNs();
  size_t size() const { return pieces_.size(); }

 private:
  std::vector<Interval> pieces_;
  bool in_order_ = true;
};
int64_t LengthOf(const std::vector<Interval>& pieces);
std::vector<Interval> UnionOf(const std::vector<Interval>& a, const std::vector<Interval>& b);

// The text of each number of a part, each read once.
class ProfileTexts {
 public:
  explicit ProfileTexts(PartReader& reader) : reader_(&reader) {}
  // Empty for kNoValue. Valid as long as this lives.
  Result<const std::string*> Find(int64_t number);
  // Numbers are this part's.
  const PartReader* reader() const { return reader_; }

 private:
  PartReader* reader_;
  static constexpr size_t kRecent = 256;  // those asked last, by their numbers' last bits
  struct Recent {
    int64_t number = kNoValue;
    const std::string* text = nullptr;
  };
  std::unordered_map<int64_t, std::unique_ptr<std::string>> texts_;
  std::array<Recent, kRecent> recent_;
  std::string empty_;
};

// Tells which columns of a part's table have any value, where the part says it (NeuronColumnsFact): the others are not
// read, which saves their memory.
class FilledColumns {
 public:
  FilledColumns(const PartReader& reader, const SideTable& table);
  bool Has(size_t column) const { return filled_.empty() || filled_[column]; }
  // A column of no values, as long as any segment.
  static const DecodedColumn& Nothing();

 private:
  std::vector<bool> filled_;  // empty: not known
};

// Calls `see(row, texts)` for each row of a table of the profile.
template <typename Column, typename See>
Status ForEachProfileRow(const AnalysisTraces& traces, const DeviceProfile& profile, const SideTable& table,
                         std::initializer_list<Column> wanted, const StopSignal& stop, See see) {
  for (const size_t part : profile.parts) {
    PartReader& reader = *traces.parts()[part].reader;
    const StoredSideTable* const found = FindReportTable(reader, table);
    if (found == nullptr) continue;
    ProfileTexts texts(reader);
    const FilledColumns filled(reader, table);
    std::vector<DecodedColumn> columns(table.columns.size());
    for (const SideSegment& segment : found->segments) {
      RETURN_IF_ERROR(StillWanted(stop));
      for (const Column column : wanted) {
        const auto place = static_cast<size_t>(column);
        if (filled.Has(place)) {
          ASSIGN_OR_RETURN(columns[place], reader.ReadSide(segment, place));
        } else {
          columns[place] = FilledColumns::Nothing();
        }
      }
      for (size_t row = 0; row < segment.rows; ++row) RETURN_IF_ERROR(see(ReportRow<Column>(columns, row), texts));
    }
  }
  return OkStatus();
}

// The work of one engine of one core in the window.
struct EngineWork {
  std::string engine;
  int64_t core = 0;
  BusyUnion busy;  // of work: without semaphores
  int64_t instructions = 0;
  int64_t rows_ns = 0;  // of all rows, semaphores too
  int64_t work = 0;     // instructions that work
  int64_t work_ns = 0;
  int64_t semaphores = 0;
  int64_t semaphore_ns = 0;
  int64_t wait_ns = 0;  // before instructions: no part of their durations
  int64_t dma_wait_ns = 0;
};

struct DmaWork {
  int64_t core = 0;
  BusyUnion busy;  // of packets
  int64_t packets = 0;
  int64_t packet_ns = 0;
  int64_t packet_bytes = 0;
  int64_t payload_bytes = 0;  // of packets that move no instructions and more than 4 bytes
  int64_t transfers = 0;
  int64_t transfer_ns = 0;
  int64_t transfer_bytes = 0;
  int64_t duplicates = 0;
  int64_t unknown = 0;  // packets whose variable nobody knows
  std::map<std::string, BusyUnion> by_type;
};

// Sums over instructions in the window; nothing where no row has the number.
struct InstructionSums {
  std::optional<int64_t> flops;
  std::optional<int64_t> transpose_flops;
  std::optional<int64_t> matmul_flops;
  std::optional<int64_t> matmul_adjusted_flops;
  std::optional<int64_t> useful_adjusted_flops;  // of MATMUL, without transposes
  std::optional<int64_t> hbm_read;
  std::optional<int64_t> hbm_write;
  std::optional<int64_t> sbuf_read;
  std::optional<int64_t> sbuf_write;
  std::optional<int64_t> psum_read;
  std::optional<int64_t> psum_write;
  std::optional<int64_t> spill_save;
  std::optional<int64_t> spill_reload;
};

struct ProfileWork {
  std::vector<EngineWork> engines;          // of each core, in the order of kEngineNames, then others
  std::vector<DmaWork> dma;                 // of each core
  std::map<int64_t, InstructionSums> sums;  // by core
  std::vector<int64_t> cores;
  int64_t first_ns = 0;  // of all rows, before the window is cut
  int64_t last_ns = 0;
  bool has_instructions = false;
  bool has_packets = false;
  bool is_one_of_several = false;  // KeepCore left other cores out: numbers of the summary are not of this work
  std::unique_ptr<MemoryCharge> charge;

  EngineWork* Find(std::string_view engine, int64_t core);
  DmaWork* FindDma(int64_t core);
  // Leaves all other cores out. False: the core is not there, and nothing is left.
  bool KeepCore(int64_t core);
};

Result<ProfileWork> ReadProfileWork(const AnalysisTraces& traces, const DeviceProfile& profile,
                                    const ProfileWindow& window, std::optional<int64_t> core, const StopSignal& stop);

// Fails with kUsage where `from` is not before `to`.
Result<ProfileWindow> WindowOf(const AnalysisOptions& options);

// The whole: total_time of the summary, else up to the last hardware time stamp, else up to the last row.
struct ProfileTotal {
  int64_t ns = 0;
  std::string source;  // "total_time", "last_hw_timestamp", "rows"
};
ProfileTotal TotalOf(const DeviceProfile& profile, const ProfileWork& work, const ProfileWindow& window);

}  // namespace kprof
