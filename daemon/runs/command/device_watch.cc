#include "daemon/runs/command/device_watch.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/clocks/device_counters.h"
#include "daemon/clocks/locks/device_clocks.h"
#include "daemon/devices/quiet_wait.h"
#include "daemon/launch/process_table.h"
#include "storage/trace/write/part_writer.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {
namespace {

constexpr size_t kRowsAtOnce = 32'768;
constexpr const char* kFormat = "samples";

std::optional<int64_t> NumberOf(const std::string& device_id) {
  int64_t number = 0;
  const char* end = device_id.data() + device_id.size();
  const std::from_chars_result read = std::from_chars(device_id.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

Status RemoveSamplePart(Files& files, const Layout& layout, const std::string& run_id) {
  const std::string path = layout.TracePartPath(run_id, kSamplePart);
  RETURN_IF_ERROR(files.Remove(path + std::string(kPartialEnding)));
  return files.Remove(path);
}

// The part while it is written; on a worker.
class KeptSamples::File {
 public:
  File(const RunContext& context, const KeptSamples& of)
      : context_(context), run_id_(of.run_id_), devices_(of.devices_), base_unix_ns_(of.base_unix_ns_) {}

  // `is_all`: no more will come.
  Status Write(const EventRows& rows, bool is_all) {
    if (!part_) RETURN_IF_ERROR(Begin(is_all ? kSmallPartPageBytes : kPartPageBytes));
    if (rows.size() == 0) return OkStatus();
    SegmentMaker maker(EventKind::kCounter, rows);
    for (size_t i = 0; i < maker.segments(); ++i) RETURN_IF_ERROR(part_->AddSegment(maker.Encode(i)));
    return OkStatus();
  }

  Result<TracePartRow> Finish(int64_t left_out) {
    if (left_out > 0) {
      RETURN_IF_ERROR(part_->SetFact(
          "warning.0", std::to_string(left_out) + " samples were not kept: the disk did not take them in time"));
    }
    TracePartRow row;
    row.name = kSamplePart;
    row.source_format = kFormat;
    ASSIGN_OR_RETURN(row.bytes, part_->Finish({}));
    RETURN_IF_ERROR(context_.files.SyncFolder(context_.catalog.layout().RunFolder(run_id_)));
    RETURN_IF_ERROR(context_.files.SyncFolder(context_.catalog.layout().RunsFolder()));
    row.counters = part_->rows(EventKind::kCounter);
    row.tracks = part_->tracks();
    return row;
  }

 private:
  Status Begin(int page_bytes) {
    const std::string path = context_.catalog.layout().TracePartPath(run_id_, kSamplePart);
    ASSIGN_OR_RETURN(part_, PartWriter::Create(context_.files, path, nullptr, page_bytes));
    RETURN_IF_ERROR(part_->AddString(0, ""));
    RETURN_IF_ERROR(part_->SetFact("base_unix_ns", base_unix_ns_));
    RETURN_IF_ERROR(part_->SetFact("base_source_ns", int64_t{0}));
    RETURN_IF_ERROR(part_->SetFact("clock", "unix"));
    RETURN_IF_ERROR(part_->SetFact("source_format", kFormat));
    if (context_.imports != nullptr && !context_.imports->limits.made_by.empty()) {
      RETURN_IF_ERROR(part_->SetFact("made_by", context_.imports->limits.made_by));
    }
    for (const WatchedDevice& device : devices_) {
      for (const std::string& counter : device.counters) {
        TrackRow track;
        track.id = static_cast<uint32_t>(part_->tracks());
        track.kind = "counter";
        track.name = counter;
        track.process = "device " + device.id + (device.name.empty() ? "" : " (" + device.name + ")");
        track.device = NumberOf(device.id);
        RETURN_IF_ERROR(part_->AddTrack(track));
      }
    }
    return OkStatus();
  }

  const RunContext context_;
  const std::string run_id_;
  const std::vector<WatchedDevice> devices_;
  const int64_t base_unix_ns_;
  std::unique_ptr<PartWriter> part_;
};

KeptSamples::KeptSamples(const RunContext& context, std::string run_id, std::vector<WatchedDevice> devices)
    : context_(context),
      run_id_(std::move(run_id)),
      devices_(std::move(devices)),
      base_mono_ns_(context.clock.mono_ns()),
      base_unix_ns_(context.clock.unix_ns()) {
  size_t tracks = 0;
  for (const WatchedDevice& device : devices_) {
    first_tracks_.push_back(tracks);
    tracks += device.counters.size();
  }
}

void KeptSamples::Add(size_t device, size_t counter, int64_t mono_ns, double value) {
  if (!failed_.ok() || finished_) return;
  if (rows_.size() >= kMostWaitingRows) {
    ++left_out_;
    return;
  }
  rows_.of(EventColumn::kTime).push_back(mono_ns - base_mono_ns_);
  rows_.of(EventColumn::kTrack).push_back(static_cast<int64_t>(first_tracks_[device] + counter));
  rows_.of(EventColumn::kShape).push_back(kNoArgs);
  rows_.of(EventColumn::kValue).push_back(std::bit_cast<int64_t>(value));
  if (rows_.size() >= kRowsAtOnce) Flush();
}

void KeptSamples::Flush() {
  if (writing_) return;
  writing_ = true;
  if (!file_) file_ = std::make_shared<File>(context_, *this);
  auto write = [self = shared_from_this(), file = file_, rows = std::make_shared<EventRows>(std::move(rows_)),
                is_last = finished_ != nullptr, left_out = left_out_] {
    Status written = file->Write(*rows, is_last);
    if (!is_last) return self->context_.loop.Post([self, written] { self->OnWritten(written); });
    Result<TracePartRow> row = written.ok() ? file->Finish(left_out) : written;
    self->context_.loop.Post([self, row] { self->OnFinished(row); });
  };
  rows_ = EventRows();
  const Status submitted = context_.files_work.Submit(std::move(write));
  if (!submitted.ok()) context_.loop.Post([self = shared_from_this(), submitted] { self->OnWritten(submitted); });
}

void KeptSamples::OnWritten(const Status& written) {
  writing_ = false;
  if (failed_.ok()) failed_ = written;
  if (!failed_.ok()) {
    DropFile();
    rows_ = EventRows();
    if (finished_) OnFinished(failed_);
  } else if (finished_ || rows_.size() >= kRowsAtOnce) {
    Flush();
  }
}

void KeptSamples::Finish(std::function<void(Result<std::optional<TracePartRow>>)> finished) {
  KPROF_ON_IO_LOOP(context_.loop);
  finished_ = std::move(finished);
  if (writing_) return;  // OnWritten goes on
  const bool has_none = !file_ && rows_.size() == 0;
  if (failed_.ok() && !has_none) return Flush();
  context_.loop.Post([self = shared_from_this()] {
    const auto finished = std::exchange(self->finished_, nullptr);
    self->failed_.ok() ? finished(std::optional<TracePartRow>()) : finished(self->failed_);
  });
}

// What was written goes with it, which a disk may take its time for.
void KeptSamples::DropFile() {
  if (file_) (void)context_.files_work.Submit([file = std::move(file_)] {});
}

void KeptSamples::OnFinished(Result<TracePartRow> row) {
  DropFile();
  const auto finished = std::exchange(finished_, nullptr);
  row.ok() ? finished(std::optional<TracePartRow>(*std::move(row))) : finished(row.status());
}

namespace {

constexpr char kUnwatched[] = "device_unwatched";
constexpr char kSamplesNotKept[] = "samples_not_kept";
// Of a shorter run a few samples that are missing say nothing.
constexpr int64_t kLongEnoughNs = 2 * kNanosPerSecond;
// An answer that comes later, from a driver that hangs or a slow tool, is not waited for. An NVIDIA driver answers
// within milliseconds; silence is a reason not to trust the run, and on a busy node takes longer to be sure of.
constexpr int64_t kTellLimitNs = kNanosPerSecond;
constexpr int64_t kAnswerAfterLimitNs = 2 * kNanosPerSecond;
constexpr char kAtBegin[] = "when the run began";
constexpr char kMeanwhile[] = "while it ran";
constexpr char kJustAfter[] = "just after the run";
constexpr double kWatchedEnough = 0.5;
constexpr int64_t kEnoughLooks = 5;  // to say that a device did nothing
// neuron-monitor tells every 5 s, of which one report may be missing.
constexpr int64_t kLongEnoughForToolsNs = 25 * kNanosPerSecond;
constexpr int64_t kReportStandsNs = 11 * kNanosPerSecond;

std::optional<uint32_t> LockedOn(const RunContext& context, const std::string& device_id) {
  if (context.clocks == nullptr) return std::nullopt;
  const std::optional<DeviceClocks::Held> held = context.clocks->HeldOn(device_id);
  return held ? held->what.held.sm_mhz : std::nullopt;
}

void AddErrors(const NeuronDevice& device, Conditions& conditions) {
  const auto add = [&](const std::optional<int64_t>& count, Conditions::Memory memory) {
    if (count && *count >= 0) conditions.AddMemoryErrors(static_cast<uint64_t>(*count), memory);
  };
  add(device.ecc.mem_uncorrected, Conditions::Memory::kDevice);
  add(device.ecc.mem_repairable_uncorrected, Conditions::Memory::kRepairable);
  add(device.ecc.sram_uncorrected, Conditions::Memory::kSram);
  conditions.AddExecutionErrors(device.execution_errors);
}

}  // namespace

DeviceWatch::DeviceWatch(const RunContext& context, const RunRow& run)
    : context_(context), run_id_(run.id), begun_mono_ns_(context.clock.mono_ns()) {
  KPROF_ON_IO_LOOP(context_.loop);
  std::vector<KeptSamples::WatchedDevice> watched;
  for (const std::string& id : run.devices) {
    const Result<DeviceFacts> facts = context_.node_devices->FactsOf(id);
    if (!facts.ok() || facts->kind == DeviceKind::kCpu) continue;
    const bool is_known = facts->nvidia || facts->neuron;
    if (!is_known && facts->health == DeviceHealth::kOk) continue;  // nothing here tells of its kind
    const bool is_neuron = facts->kind == DeviceKind::kNeuron;
    const int64_t stands_ns = is_neuron ? kReportStandsNs : Conditions::kLongestStandNs;
    OneDevice one{.id = id,
                  .conditions = Conditions(id, LockedOn(context_, id), stands_ns),
                  .is_neuron = is_neuron,
                  .reported_mono_ns = begun_mono_ns_,
                  .whose = std::nullopt,
                  .watching = nullptr};
    if (facts->neuron) {
      one.cores = facts->neuron->cores.size();
      AddErrors(*facts->neuron, one.conditions);
      watched.push_back({id, facts->neuron->chip, NeuronCounters(*facts->neuron)});
    } else if (!is_neuron) {
      watched.push_back(
          {id, facts->nvidia ? facts->nvidia->name : "", {kSampleCounters.begin(), kSampleCounters.end()}});
    } else {
      watched.push_back({id, "", {}});
    }
    one.counters = watched.back().counters.size();
    LookWhetherWell(one, kAtBegin);
    devices_.push_back(std::move(one));
  }
  if (devices_.empty()) return;
  part_ = std::make_shared<KeptSamples>(context_, run_id_, std::move(watched));
  listening_ = context_.node_devices->Listen([this](const DeviceEvent& event) { TakeEvent(event); });
  for (size_t i = 0; i < devices_.size(); ++i) {
    NodeDevices::Telemetry telemetry;
    telemetry.samples = [this, i](const std::vector<NvidiaSample>& samples) { TakeSamples(i, samples); };
    telemetry.state = [this, i](const NvidiaState& state) { TakeState(i, state); };
    telemetry.neuron = [this, i](const NeuronDevice& told) { TakeNeuron(i, told); };
    devices_[i].watching = context_.node_devices->Watch(devices_[i].id, std::move(telemetry));
  }
}

void DeviceWatch::TakeSamples(size_t device, const std::vector<NvidiaSample>& samples) {
  for (const NvidiaSample& sample : samples) {
    if (ended_ && sample.mono_ns > ended_mono_ns_) continue;
    devices_[device].conditions.Add(sample);
    ForEachCounter(sample, [&](size_t counter, double value) { part_->Add(device, counter, sample.mono_ns, value); });
  }
}

void DeviceWatch::TakeState(size_t device, const NvidiaState& state) {
  devices_[device].conditions.AddMemoryErrors(state.ecc_uncorrected);
  devices_[device].whose = DeviceFacts{.kind = DeviceKind::kNvidia, .nvidia_state = state};
  LookForOthers(devices_[device]);
  const int64_t now_ns = context_.clock.mono_ns();
  if (ended_) return;
  ForEachCounter(state, [&](size_t counter, double value) { part_->Add(device, counter, now_ns, value); });
}

// Whatever was asked, all that is known is told again: only what neuron-monitor has not said before is a sample. Of
// clocks there is nothing.
void DeviceWatch::TakeNeuron(size_t device, const NeuronDevice& told) {
  OneDevice& one = devices_[device];
  AddErrors(told, one.conditions);
  one.whose = DeviceFacts{.kind = DeviceKind::kNeuron, .neuron = told};
  LookForOthers(one);
  const int64_t at_ns = told.reported_mono_ns;
  if (at_ns <= one.reported_mono_ns || (ended_ && at_ns > ended_mono_ns_)) return;
  one.reported_mono_ns = at_ns;
  one.conditions.Add(NvidiaSample{.mono_ns = at_ns});
  if (one.counters == 0) return;  // it was not there when the run began
  ForEachCounter(told, one.cores, [&](size_t counter, double value) { part_->Add(device, counter, at_ns, value); });
}

void DeviceWatch::NoteCommand(pid_t command) {
  supervisor_ = SupervisorOf(command);
  for (OneDevice& device : devices_) LookForOthers(device);
}

// Of whom it cannot be told nobody is blamed for.
void DeviceWatch::LookForOthers(OneDevice& device) {
  if (!supervisor_ || !device.whose) return;
  const auto may_be_own = [this](pid_t pid) { return DescentFrom(*supervisor_, pid) != Descent::kNo; };
  for (const ForeignProcess& other : FindForeign(*device.whose, may_be_own).users) {
    device.conditions.AddForeign(static_cast<uint32_t>(other.on_device.pid),
                                 KnownAs(other.known, *context_.user_names));
  }
}

void DeviceWatch::TakeEvent(const DeviceEvent& event) {
  for (OneDevice& device : devices_) {
    if (device.id != event.device_id) continue;
    if (event.kind == DeviceEvent::Kind::kXid) device.conditions.AddXid(event.value);
    if (event.kind == DeviceEvent::Kind::kHealth) LookWhetherWell(device, ended_ ? kJustAfter : kMeanwhile);
  }
}

void DeviceWatch::NoteTrouble(OneDevice& device, const char* when, const Status& why) {
  if (device.trouble.empty()) device.trouble = std::string(when) + ": " + why.why();
}

// One that is only being asked who it is may answer in time.
void DeviceWatch::LookWhetherWell(OneDevice& device, const char* when) {
  const Result<DeviceFacts> facts = context_.node_devices->FactsOf(device.id);
  if (!facts.ok()) return NoteTrouble(device, when, facts.status());
  if (facts->health != DeviceHealth::kOk && facts->health != DeviceHealth::kStarting) {
    NoteTrouble(device, when, facts->trouble);
  }
}

void DeviceWatch::TakeAfter(OneDevice& device, const Result<NvidiaSample>& sample) {
  if (owed_ == 0) return;  // too late
  device.has_answered = true;
  if (!sample.ok()) return NoteTrouble(device, kJustAfter, sample.status());
  if (lasted_ns() < kLongEnoughNs) device.conditions.AddAfter(*sample);
}

void DeviceWatch::End(std::function<void(WatchedDevices)> ended) {
  KPROF_ON_IO_LOOP(context_.loop);
  ended_ = std::move(ended);
  ended_mono_ns_ = context_.clock.mono_ns();
  owed_ = 1;
  const auto told = [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired() && owed_ > 0 && --owed_ == 0) OnTold();
  };
  const bool has_nvidia =
      std::any_of(devices_.begin(), devices_.end(), [](const OneDevice& device) { return !device.is_neuron; });
  told_limit_ = context_.loop.After(has_nvidia ? kAnswerAfterLimitNs : kTellLimitNs, [this] {
    owed_ = 0;
    OnTold();
  });
  for (OneDevice& device : devices_) {
    if (!device.is_neuron) {
      ++owed_;
      context_.node_devices->SampleNow(
          device.id, [this, &device, told, alive = std::weak_ptr<bool>(alive_)](const Result<NvidiaSample>& sample) {
            if (alive.expired()) return;
            TakeAfter(device, sample);
            told();
          });
    }
    ++owed_;
    context_.node_devices->TellNow(device.id, told);
  }
  context_.loop.Post(told);
}

void DeviceWatch::OnTold() {
  told_limit_.Cancel();
  for (OneDevice& device : devices_) {
    LookWhetherWell(device, kJustAfter);
    if (!device.is_neuron && !device.has_answered) {
      NoteTrouble(device, kJustAfter,
                  Fail(ErrorCode::kTimedOut, "look at device " + device.id,
                       "it did not answer within " + std::to_string(kAnswerAfterLimitNs / kNanosPerSecond) + " s"));
    }
    LookForOthers(device);  // their users' names are known by now
    device.conditions.End(ended_mono_ns_);
    device.watching.reset();
  }
  listening_.reset();
  if (!part_) return OnPart(std::optional<TracePartRow>());
  part_->Finish([this, alive = std::weak_ptr<bool>(alive_)](Result<std::optional<TracePartRow>> part) {
    if (!alive.expired()) OnPart(std::move(part));
  });
}

void DeviceWatch::OnPart(Result<std::optional<TracePartRow>> part) {
  WatchedDevices report;
  for (const OneDevice& device : devices_) Report(device, report);
  if (part.ok()) {
    report.part = *std::move(part);
  } else {
    LogWarning("samples of devices are not kept", {{"run", run_id_}, {"error", part.status().ToString()}});
    report.trust.push_back({kSamplesNotKept, "what its devices told while it ran is not kept: " + part.status().why()});
  }
  const auto ended = std::exchange(ended_, nullptr);
  ended(std::move(report));
}

bool DeviceWatch::IsUnwatched(const OneDevice& device, int64_t lasted_ns, double share) {
  return lasted_ns >= (device.is_neuron ? kLongEnoughForToolsNs : kLongEnoughNs) && share < kWatchedEnough;
}

void DeviceWatch::Report(const OneDevice& device, WatchedDevices& report) const {
  const Conditions& seen = device.conditions;
  const double share = lasted_ns() <= 0 ? 1 : static_cast<double>(seen.watched_ns()) / static_cast<double>(lasted_ns());
  const std::string unknown = "device " + device.id + ": nobody knows how it was ";
  if (IsUnwatched(device, lasted_ns(), share)) {
    char percent[32];
    std::snprintf(percent, sizeof percent, "for %.0f %% of the run", 100 * (1 - share));
    report.trust.push_back(
        {kUnwatched, unknown + percent + (device.trouble.empty() ? "" : ", first " + device.trouble)});
  } else if (!device.trouble.empty()) {
    report.trust.push_back({kUnwatched, unknown + device.trouble});
  }
  for (Condition& reason : seen.Reasons()) report.trust.push_back({std::move(reason.code), std::move(reason.message)});
  const auto add = [&](const char* name, const auto& value, const char* unit, double per = 1) {
    if (!value) return;
    report.metrics.push_back(MetricRow{
        .name = "device_" + device.id + "_" + name, .value = static_cast<double>(*value) / per, .unit = unit});
  };
  add("samples", std::optional(seen.samples()), "count");
  if (!device.is_neuron && seen.samples() >= kEnoughLooks) {
    const double watched_ns = static_cast<double>(std::max<int64_t>(seen.watched_ns(), 1));
    add("busy_percent", std::optional(100 * static_cast<double>(seen.busy_ns()) / watched_ns), "percent");
    if (seen.busy_ns() == 0) report.idle.push_back(device.id);
  }
  if (seen.locked_mhz() != 0) add("sm_clock_locked_mhz", seen.locked_mhz(), "MHz");
  add("sm_clock_least_mhz", seen.least_sm_mhz(), "MHz");
  add("sm_clock_most_mhz", seen.most_sm_mhz(), "MHz");
  add("temperature_most_c", seen.hottest_c(), "C");
  add("power_most_w", seen.most_power_mw(), "W", 1000);
}

}  // namespace kprof
