#include "daemon/runs/command/kept_samples.h"

#include <bit>
#include <charconv>
#include <utility>

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
  File(const RunContext& parts, const KeptSamples& of)
      : context_(parts), run_id_(of.run_id_), devices_(of.devices_), base_unix_ns_(of.base_unix_ns_) {}

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

KeptSamples::KeptSamples(const RunContext& parts, std::string run_id, std::vector<WatchedDevice> devices)
    : context_(parts),
      run_id_(std::move(run_id)),
      devices_(std::move(devices)),
      base_mono_ns_(parts.clock.mono_ns()),
      base_unix_ns_(parts.clock.unix_ns()) {
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

}  // namespace kprof
