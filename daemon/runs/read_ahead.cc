#include "daemon/runs/read_ahead.h"

#include <fcntl.h>

#include <chrono>
#include <condition_variable>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/ingest/source_formats.h"
#include "storage/base/random_name.h"
#include "storage/layout.h"

namespace kprof {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(100);  // how long a request to stop may wait

void RemovePart(Files& files, const std::string& path) {
  const Status removed = files.Remove(path);
  if (!removed.ok()) LogWarning("a part that nobody took is not removed", {{"error", removed.ToString()}});
}

}  // namespace

struct ReadAhead::Reading {
  Reading(Files& its_files, WorkerPool& its_removal) : files(its_files), removal(its_removal) {}

  Files& files;
  WorkerPool& removal;
  // Set once.
  UniqueFd fd;
  std::string name;
  bool may_be_none = false;
  std::string path;                          // of the part
  std::shared_ptr<SpooledBytes> part_bytes;  // its reader's, then theirs who have its part

  SourceGrowth growth;
  std::stop_source stop;
  mutable Mutex mu;
  std::condition_variable_any ended;
  std::optional<Result<ImportedPart>> result KPROF_GUARDED_BY(mu);
  ImportProgress progress KPROF_GUARDED_BY(mu);
  bool given_up KPROF_GUARDED_BY(mu) = false;  // what comes of it is to be removed
  bool has_part KPROF_GUARDED_BY(mu) = false;  // at its path

  void End(Result<ImportedPart> came) {
    bool is_wanted = false;
    const bool made_part = came.ok() && !came->no_trace;
    {
      MutexLock lock(mu);
      is_wanted = !given_up;
      has_part = made_part && is_wanted;
      result = std::move(came);
    }
    ended.notify_all();
    if (made_part && !is_wanted) RemovePart(files, path);
  }

  void GiveUp() {
    stop.request_stop();
    MutexLock lock(mu);
    given_up = true;
    if (!std::exchange(has_part, false)) return;
    const auto remove = [&all_files = files, part = path, counted = std::move(part_bytes)] {
      RemovePart(all_files, part);
    };
    if (!removal.Submit(remove).ok()) remove();
  }
};

ReadAhead::~ReadAhead() {
  reading_->GiveUp();
}

void ReadAhead::Tell(const SourceGrowth::State& grown) {
  reading_->growth.Tell(grown);
}

std::optional<Status> ReadAhead::bad_source() const {
  const Reading& reading = *reading_;
  MutexLock lock(reading.mu);
  if (!reading.result || reading.result->ok()) return std::nullopt;
  const Status& why = reading.result->status();
  return why.code() == ErrorCode::kBadInput ? std::optional(why) : std::nullopt;
}

std::optional<ImportedPart> ReadAhead::Take(const Wanted& wanted, const std::string& part_path,
                                            const std::stop_token& stop,
                                            const std::function<void(const ImportProgress&)>& progress) {
  Reading& reading = *reading_;
  const SourceFormat* format = FindSourceFormat(wanted.format);  // null: its bytes decide, as they did here
  if (wanted.name != reading.name || (format != nullptr && !format->is_text)) {
    reading.GiveUp();
    return std::nullopt;
  }
  std::optional<ImportedPart> part;
  while (!part) {
    ImportProgress now;
    {
      MutexLock lock(reading.mu);
      reading.ended.wait_for(reading.mu, kLookEvery,
                             [&]() KPROF_REQUIRES(reading.mu) { return reading.result.has_value(); });
      now = reading.progress;
      if (reading.result) {
        if (!reading.result->ok()) return std::nullopt;
        part = **reading.result;
      }
    }
    progress(now);
    if (!part && stop.stop_requested()) {
      reading.GiveUp();
      return std::nullopt;
    }
  }
  const bool is_other = !part->no_trace && format != nullptr && part->format != format->name;
  if (is_other || (part->no_trace && !wanted.may_be_none)) return std::nullopt;
  if (part->no_trace) return part;
  MutexLock lock(reading.mu);
  if (!reading.has_part || !reading.files.Rename(reading.path, part_path).ok()) return std::nullopt;
  reading.has_part = false;
  reading.part_bytes = nullptr;  // its run counts it
  return part;
}

ReadAheads::ReadAheads(Parts parts, const Options& options)
    : parts_(std::move(parts)), options_(options), pool_({.threads = options.at_once}) {}

ReadAheads::~ReadAheads() {
  End();
}

void ReadAheads::End() {
  stop_.request_stop();
  pool_.End();
}

bool ReadAheads::TakePlace() {
  MutexLock lock(mu_);
  if (reading_ == options_.at_once) return false;
  ++reading_;
  return true;
}

void ReadAheads::GiveBackPlace() {
  MutexLock lock(mu_);
  --reading_;
}

std::shared_ptr<ReadAhead> ReadAheads::Begin(Source source, const SourceGrowth::State& grown) {
  if (grown.bytes < options_.least_bytes || source.name.size() > options_.longest_name_bytes) return nullptr;
  if (!TakePlace()) return nullptr;
  auto reading = std::make_shared<ReadAhead::Reading>(parts_.files, parts_.removal);
  reading->fd = UniqueFd(::fcntl(source.fd, F_DUPFD_CLOEXEC, 0));
  reading->name = std::move(source.name);
  reading->may_be_none = source.may_be_none;
  reading->part_bytes = std::move(source.part_bytes);
  reading->path = parts_.folder + "/" + RandomName() + std::string(kTracePartEnding);
  reading->growth.Tell(grown);
  const auto read = [this, reading] {
    Read(*reading);
    GiveBackPlace();
  };
  if (reading->fd.valid() && pool_.Submit(read).ok()) return std::shared_ptr<ReadAhead>(new ReadAhead(reading));
  GiveBackPlace();
  return nullptr;
}

void ReadAheads::Read(ReadAhead::Reading& reading) {
  const std::stop_callback end_with_all(stop_.get_token(), [&] { reading.stop.request_stop(); });
  const auto progress = [&](const ImportProgress& now) {
    MutexLock lock(reading.mu);
    reading.progress = now;
  };
  const ImportSource source{.fd = reading.fd.get(),
                            .name = reading.name,
                            .format = std::string(kAnyFormat),
                            .may_be_none = reading.may_be_none,
                            .growth = &reading.growth};
  Result<ImportedPart> came =
      parts_.import(source, parts_.limits, parts_.files, reading.path, reading.stop.get_token(), progress);
  if (came.ok() && !came->no_trace) {
    const Status counted = CountPart(reading, came->bytes);
    if (!counted.ok()) {
      RemovePart(parts_.files, reading.path);
      came = counted;
    }
  }
  reading.End(std::move(came));
}

Status ReadAheads::CountPart(const ReadAhead::Reading& reading, int64_t part_bytes) {
  const std::string act = "read " + reading.name + " while it comes";
  ASSIGN_OR_RETURN(const int64_t free_bytes, parts_.files.ReadFreeBytes(parts_.folder));
  if (free_bytes < options_.kept_free_bytes)
    return Fail(ErrorCode::kStorageFull, act, "too little of the disk is free");
  return reading.part_bytes->Grow(part_bytes, act);
}

}  // namespace kprof
