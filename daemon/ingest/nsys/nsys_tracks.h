// The tracks that events of an Nsight Systems export lie on; each is made when its first event comes.
//
// One thread. Past kMostTracks, which no real export has, all that is new lies on one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/nsys/nsys_database.h"
#include "daemon/ingest/nsys/nsys_processes.h"

namespace kprof {

class NsysTracks {
 public:
  static constexpr size_t kMostTracks = 1 << 16;
  static constexpr int64_t kNone = -1;  // of a number that an event does not have

  // All are borrowed.
  NsysTracks(NsysDatabase& database, BatchBuilder& batch, NsysProcesses& processes);

  // A thread's own.
  uint32_t Thread(int64_t global_tid);
  // Of what is said of a thread apart from its own slices, which it may cross: "OS runtime".
  uint32_t BesideThread(int64_t global_tid, std::string_view what);
  // Of what happens in a process, on no thread; or, where `global_pid` is kNone, in none.
  uint32_t OfProcess(int64_t global_pid, std::string_view kind, std::string_view what);
  // Work of a GPU. Contexts may use the same numbers for their streams.
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
