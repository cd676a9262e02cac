// The processes and threads of an Nsight Systems export, and the tracks that its events lie on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/nsys/nsys_database.h"
#include "daemon/ingest/nsys/nsys_strings.h"

namespace kprof {

// A global number is hardware << 56 | vm << 48 | pid << 24 | tid.
constexpr int64_t PidOf(int64_t global) {
  return global >> 24 & 0xffffff;
}
constexpr int64_t TidOf(int64_t global) {
  return global & 0xffffff;
}

// The processes and threads of an export, by their global numbers, and their names. An export lists every process of
// its host; only names of profiled processes get out of here.
//
// One thread.
class NsysProcesses {
 public:
  // Reads PROCESSES, ThreadNames and the names that NVTX gave to threads. All are borrowed.
  NsysProcesses(NsysDatabase& database, NsysStrings& strings);

  // Call for a process with events that only a profiled process makes. From now on its names may be told.
  void MarkProfiled(int64_t global) {
    if (ProcessOf(global) == last_profiled_) return;
    last_profiled_ = ProcessOf(global);
    profiled_.insert(last_profiled_);
  }

  // Nothing: the process was not profiled, or has no name.
  std::optional<std::string> ProcessName(int64_t global) const;
  std::optional<std::string> ThreadName(int64_t global_tid);

  // A text for the pid that no other process of the file has: the number; for processes of another virtual machine than
  // most, with the machine's number before it.
  std::string PidText(int64_t global) const;

  // A correlation that is unique in the file: processes use the same ids. Nothing: `correlation_id` is none that CUDA
  // gives.
  std::optional<int64_t> Correlation(int64_t global, int64_t correlation_id);

  // The global number of a process of which only the pid is known.
  int64_t GlobalOfPid(int64_t pid) const;

 private:
  static int64_t ProcessOf(int64_t global) { return global >> 24; }
  void ReadProcesses();
  void ReadThreadNames();
  void ReadNvtxNames();
  bool IsProfiled(int64_t global) const { return all_profiled_ || profiled_.contains(ProcessOf(global)); }

  NsysDatabase& database_;
  NsysStrings& strings_;
  bool all_profiled_ = false;                               // the tool looked at nothing but what it had started
  int64_t machine_ = 0;                                     // hardware and vm of most
  std::unordered_map<int64_t, std::string> process_names_;  // by what ProcessOf says
  std::unordered_map<int64_t, int64_t> thread_names_;       // by global tid: a number of StringIds
  std::unordered_map<int64_t, std::string> nvtx_names_;     // the same, by the program itself
  std::unordered_set<int64_t> profiled_;
  int64_t last_profiled_ = -1;
  std::unordered_map<int64_t, int64_t> numbers_;  // of processes, from 0
};

// The tracks of an export. Each is made when its first event comes. Past kMostTracks, which no real export has, all new
// events lie on one track.
//
// One thread.
class NsysTracks {
 public:
  static constexpr size_t kMostTracks = 1 << 16;
  static constexpr int64_t kNone = -1;  // a number that an event does not have

  // All are borrowed.
  NsysTracks(NsysDatabase& database, BatchBuilder& batch, NsysProcesses& processes);

  // The track of a thread.
  uint32_t Thread(int64_t global_tid);
  // A track for events of a thread that may cross the slices on its own track: "OS runtime".
  uint32_t BesideThread(int64_t global_tid, std::string_view what);
  // A track for events of a process that are on no thread; `global_pid` kNone: of no process.
  uint32_t OfProcess(int64_t global_pid, std::string_view kind, std::string_view what);
  // The track of a GPU's stream. Contexts may use the same numbers for their streams.
  uint32_t Stream(int64_t global_pid, int64_t device, int64_t context, int64_t stream);
  // `series` tells counters of one name apart.
  uint32_t Counter(std::string_view name, std::string_view series, std::optional<int64_t> device);

 private:
  enum class What : uint8_t { kThread, kBeside, kProcess, kStream, kCounter };
  using Key = std::tuple<What, int64_t, int64_t, int64_t, int64_t, std::string>;
  template <typename Make>
  uint32_t Find(const Key& key, const Make& make);
  uint32_t Overflow();
  std::optional<int64_t> GpuOf(int64_t global_pid, int64_t device) const;

  BatchBuilder& batch_;
  NsysProcesses& processes_;
  std::map<std::pair<int64_t, int64_t>, int64_t> gpus_;                // by pid and the process's number of the device
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> contexts_;  // the first of a process's device and stream
  std::map<Key, uint32_t> tracks_;
  Key last_;
  uint32_t last_track_ = 0;
  std::optional<uint32_t> overflow_;
};

}  // namespace kprof
