// Events that are scanned ahead, on a thread of their own, in batches: so that a text is read and scanned while the
// events before are put together. Batches are few and used again, so memory is bounded.
//
// Two threads: the one that scans calls what stands first, the one that takes the events the others.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/ingest/neuron/system_event_scan.h"
#include "daemon/ingest/neuron/text_cursor.h"
#include "storage/base/mutex.h"

namespace kprof {

class EventsAhead final : public TextKeeper {
 public:
  struct Batch {
    std::string text;  // that its events are within
    std::vector<SystemEvent> events;
    size_t count = 0;  // of events; those behind are of an earlier use
    int64_t offset_bytes = 0;
  };

  EventsAhead();
  ~EventsAhead() override;

  // The place for the next event: it counts once Add is called.
  SystemEvent& Place();
  void Add(int64_t offset_bytes) {
    current_->offset_bytes = offset_bytes;
    ++current_->count;
  }
  // As the cursor calls them: its text goes with the events in it.
  std::optional<std::string> Fresh() override;
  void Keep(std::string old) override;

  // Runs `scan` on a thread of its own. False: there is none, and nothing was run.
  bool Start(std::function<void()> scan);
  // The next batch, which is the caller's until Return; null: that was all.
  Batch* Next();
  void Return(Batch* batch);
  // Ends the scanning: Fresh returns nothing from now on.
  void Stop();
  // Waits until the scanning has ended.
  void Join();

 private:
  static constexpr size_t kBatches = 4;

  std::array<Batch, kBatches> batches_;
  Batch* current_ = nullptr;  // the scanning thread's
  Batch* next_ = nullptr;     // the same
  Mutex mu_;
  std::condition_variable_any changed_;
  std::vector<Batch*> free_ KPROF_GUARDED_BY(mu_);
  std::vector<Batch*> ready_ KPROF_GUARDED_BY(mu_);  // the first is the next
  bool is_stopped_ KPROF_GUARDED_BY(mu_) = false;
  bool has_ended_ KPROF_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace kprof
