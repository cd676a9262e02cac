// What a run's devices told while they were watched, as a part of its trace: a counter for each thing of each device.
// Written as it comes, so that a run that lasts for days takes no more memory than one of a minute.
//
// Io loop only. Nothing blocks: the file is written on a worker. Kept by its own jobs; one that is let go of before
// Finish leaves nothing behind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/trace_part_row.h"
#include "storage/trace/write/event_rows.h"

namespace kprof {

// The part's name, which no other part of a run has.
inline constexpr std::string_view kSamplePart = "samples";

// Removes what a run that was cut off left of it. Blocking.
Status RemoveSamplePart(Files& files, const Layout& layout, const std::string& run_id);

class KeptSamples : public std::enable_shared_from_this<KeptSamples> {
 public:
  // What comes while the disk takes nothing is kept up to this; what is more is counted, and told in the part.
  static constexpr size_t kMostWaitingRows = 1 << 20;

  struct WatchedDevice {
    std::string id;
    std::string name;
    std::vector<std::string> counters;  // by their numbers
  };
  // Its time 0 is now. REQUIRES: the run's folder is there, and stays until `finished` is called.
  KeptSamples(const RunContext& parts, std::string run_id, std::vector<WatchedDevice> devices);
  ~KeptSamples() { DropFile(); }
  KeptSamples(const KeptSamples&) = delete;
  KeptSamples& operator=(const KeptSamples&) = delete;

  // `device`: which one of these.
  void Add(size_t device, size_t counter, int64_t mono_ns, double value);

  // Nothing is added from here on. `finished` is called once, from the loop: with nothing where there were no samples.
  void Finish(std::function<void(Result<std::optional<TracePartRow>>)> finished);

 private:
  class File;

  void Flush();
  void OnWritten(const Status& written);
  void OnFinished(Result<TracePartRow> row);
  void DropFile();

  const RunContext context_;
  const std::string run_id_;
  const std::vector<WatchedDevice> devices_;
  std::vector<size_t> first_tracks_;  // of each device
  const int64_t base_mono_ns_;
  const int64_t base_unix_ns_;
  EventRows rows_;
  int64_t left_out_ = 0;
  std::shared_ptr<File> file_;  // of one job at a time; null: none was begun
  bool writing_ = false;
  Status failed_;
  std::function<void(Result<std::optional<TracePartRow>>)> finished_;
};

}  // namespace kprof
