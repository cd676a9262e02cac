// An export that is pulled: it writes on a thread of its own, and waits until its bytes are taken. Exports push; this
// is for callers that send the bytes on piece by piece (a stream of gRPC).
//
// Take from one thread at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "daemon/exports/trace_export.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

class ExportPipe {
 public:
  // Opens parts and exports them; called on the pipe's thread. Everything that it uses must outlive this.
  using Run = std::function<Status(const ExportSink& sink, const ExportWatch& watch)>;
  explicit ExportPipe(Run run, std::vector<PathMap> path_maps = {});
  // Ends the export if it is not over.
  ~ExportPipe();
  ExportPipe(const ExportPipe&) = delete;
  ExportPipe& operator=(const ExportPipe&) = delete;

  // Waits for the next bytes, at most `most_bytes`; none: that was all. Fails as the export does, and with kCancelled.
  Result<std::string> Take(size_t most_bytes, const std::stop_token& stop);
  // The notes of an export that has ended.
  std::vector<std::string> TakeNotes();
  // The number of rows written; those of bytes that are on their way are not counted yet. Any thread.
  int64_t rows() const { return rows_.load(std::memory_order_relaxed); }

 private:
  Status Put(std::string_view bytes, const std::stop_token& stop);

  Mutex mu_;
  std::condition_variable_any changed_;
  std::string waiting_ KPROF_GUARDED_BY(mu_);
  size_t taken_ KPROF_GUARDED_BY(mu_) = 0;  // of waiting_
  std::optional<Status> ended_ KPROF_GUARDED_BY(mu_);
  std::vector<std::string> notes_ KPROF_GUARDED_BY(mu_);
  std::atomic<int64_t> rows_ = 0;
  std::jthread thread_;  // the last one: it uses the others
};

}  // namespace kprof
