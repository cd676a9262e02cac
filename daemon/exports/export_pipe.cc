#include "daemon/exports/export_pipe.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace kprof {
namespace {

Status Cancelled() {
  return Fail(ErrorCode::kCancelled, "export it", "it was cancelled");
}

}  // namespace

ExportPipe::ExportPipe(Run run, std::vector<PathMap> path_maps) {
  auto write = [this, run = std::move(run), path_maps = std::move(path_maps)](const std::stop_token& stop) {
    const ExportWatch watch = {.stop = stop,
                               .progress = [this](const ExportProgress& now) { rows_ = now.rows; },
                               .note =
                                   [this](std::string text) {
                                     MutexLock lock(mu_);
                                     notes_.push_back(std::move(text));
                                   },
                               .path_maps = path_maps};
    const Status status = run([&](std::string_view bytes) { return Put(bytes, stop); }, watch);
    MutexLock lock(mu_);
    ended_ = status;
    changed_.notify_all();
  };
  try {
    thread_ = std::jthread(std::move(write));
  } catch (const std::system_error& error) {
    ended_ = Fail(ErrorCode::kQueueFull, "start a thread that exports it", error.what(), "raise the limit of threads");
  }
}

ExportPipe::~ExportPipe() {
  thread_.request_stop();
}

std::vector<std::string> ExportPipe::TakeNotes() {
  MutexLock lock(mu_);
  return std::exchange(notes_, {});
}

// What is there goes first: so there is never more than one piece.
Status ExportPipe::Put(std::string_view bytes, const std::stop_token& stop) {
  MutexLock lock(mu_);
  if (!changed_.wait(mu_, stop, [this]() KPROF_REQUIRES(mu_) { return waiting_.empty(); })) return Cancelled();
  waiting_ = bytes;
  taken_ = 0;
  changed_.notify_all();
  return OkStatus();
}

Result<std::string> ExportPipe::Take(size_t most_bytes, const std::stop_token& stop) {
  MutexLock lock(mu_);
  if (!changed_.wait(mu_, stop, [this]() KPROF_REQUIRES(mu_) { return !waiting_.empty() || ended_; })) {
    return Cancelled();
  }
  if (waiting_.empty()) return ended_->ok() ? Result<std::string>(std::string()) : Result<std::string>(*ended_);
  std::string bytes = waiting_.substr(taken_, most_bytes);
  taken_ += bytes.size();
  if (taken_ == waiting_.size()) {
    waiting_.clear();
    changed_.notify_all();
  }
  return bytes;
}

}  // namespace kprof
