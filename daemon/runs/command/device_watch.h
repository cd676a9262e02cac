// Watches a run's devices while its command runs: keeps what they tell as a part of its trace, and says at the end
// under which conditions it measured, and who else was there. A device that was not well when the run began, while it
// ran or just after it is told of, however short the run.
//
// Io loop only. Nothing blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/clocks/conditions.h"
#include "daemon/devices/node_devices.h"
#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

// The part's name, which no other part of a run has.
inline constexpr std::string_view kSamplePart = "samples";

// Removes the part that a run left when it was cut off. Blocking.
Status RemoveSamplePart(Files& files, const Layout& layout, const std::string& run_id);

// Keeps what a run's devices told while they were watched, as a part of its trace: a counter for each quantity of each
// device. Written as it comes, so that a run that lasts for days takes no more memory than one of a minute.
//
// Io loop only. Nothing blocks: the file is written on a worker. Its own jobs keep it alive; without Finish it leaves
// nothing behind.
class KeptSamples : public std::enable_shared_from_this<KeptSamples> {
 public:
  // The most rows that wait while the disk takes none. More are counted, and the part tells their number.
  static constexpr size_t kMostWaitingRows = 1 << 20;

  struct WatchedDevice {
    std::string id;
    std::string name;
    std::vector<std::string> counters;  // by their numbers
  };
  // Time 0 of the part is now. REQUIRES: the run's folder is there, and stays until `finished` is called.
  KeptSamples(const RunContext& context, std::string run_id, std::vector<WatchedDevice> devices);
  ~KeptSamples() { DropFile(); }
  KeptSamples(const KeptSamples&) = delete;
  KeptSamples& operator=(const KeptSamples&) = delete;

  // `device`: the index of one of these.
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
  std::shared_ptr<File> file_;  // used by one job at a time; null: none was begun
  bool writing_ = false;
  Status failed_;
  std::function<void(Result<std::optional<TracePartRow>>)> finished_;
};

// The results of a watch, for the run's row.
struct WatchedDevices {
  std::vector<TrustReason> trust;
  std::vector<MetricRow> metrics;
  std::optional<TracePartRow> part;
  // GPUs that were looked at often and never seen at work.
  std::vector<std::string> idle;
};

class DeviceWatch {
 public:
  // Watches from here on. Counts of Neuron devices begin at the last ones that were told before. REQUIRES: the context
  // has node_devices, and so user_names; the run's folder is there until `ended` is called.
  DeviceWatch(const RunContext& context, const RunRow& run);
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // The command runs as this process. Before this, and where it is not known, no process on a device counts as somebody
  // else's.
  void NoteCommand(pid_t command);

  // `ended` is called once, from the loop: when the devices have told all that they saw by now and how they are now,
  // and that is on the disk. One that takes longer than a second, or an NVIDIA device longer than two, is not waited
  // for.
  void End(std::function<void(WatchedDevices)> ended);

 private:
  struct OneDevice {
    std::string id;
    Conditions conditions;
    bool is_neuron = false;
    size_t cores = 0;                  // of a Neuron device, when the run began
    size_t counters = 0;               // that the part has of it
    int64_t reported_mono_ns = 0;      // its last report; earlier ones are not the run's
    std::string trouble = {};          // when it was first not seen well, and why; empty: it always was
    bool has_answered = false;         // how it is now that the run is over
    std::optional<DeviceFacts> whose;  // the last that it told of the processes on it
    std::shared_ptr<void> watching;
  };

  void TakeSamples(size_t device, const std::vector<NvidiaSample>& samples);
  void TakeState(size_t device, const NvidiaState& state);
  void TakeNeuron(size_t device, const NeuronDevice& told);
  void LookForOthers(OneDevice& device);
  void TakeEvent(const DeviceEvent& event);
  void TakeAfter(OneDevice& device, const Result<NvidiaSample>& sample);
  static void NoteTrouble(OneDevice& device, const char* when, const Status& why);
  void LookWhetherWell(OneDevice& device, const char* when);
  int64_t lasted_ns() const { return ended_mono_ns_ - begun_mono_ns_; }
  void OnTold();
  void OnPart(Result<std::optional<TracePartRow>> part);
  static bool IsUnwatched(const OneDevice& device, int64_t lasted_ns, double share);
  void Report(const OneDevice& device, WatchedDevices& report) const;

  const RunContext context_;
  const std::string run_id_;
  std::vector<OneDevice> devices_;
  std::optional<pid_t> supervisor_;
  std::shared_ptr<KeptSamples> part_;
  std::shared_ptr<void> listening_;
  const int64_t begun_mono_ns_;
  int64_t ended_mono_ns_ = 0;
  size_t owed_ = 0;  // devices that have not told all yet, until the limit
  IoLoop::Timer told_limit_;
  std::function<void(WatchedDevices)> ended_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // answers may come when it is gone
};

}  // namespace kprof
