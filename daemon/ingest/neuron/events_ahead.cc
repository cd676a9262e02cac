#include "daemon/ingest/neuron/events_ahead.h"

#include <system_error>

namespace kprof {

EventsAhead::EventsAhead() {
  current_ = batches_.data();
  MutexLock lock(mu_);
  for (size_t i = 1; i < kBatches; ++i) free_.push_back(&batches_[i]);
}

EventsAhead::~EventsAhead() {
  Stop();
  Join();
}

SystemEvent& EventsAhead::Place() {
  if (current_->events.size() == current_->count) current_->events.emplace_back();
  return current_->events[current_->count];
}

std::optional<std::string> EventsAhead::Fresh() {
  MutexLock lock(mu_);
  changed_.wait(mu_, [this]() KPROF_REQUIRES(mu_) { return is_stopped_ || !free_.empty(); });
  if (is_stopped_) return std::nullopt;
  next_ = free_.back();
  free_.pop_back();
  next_->count = 0;
  return std::move(next_->text);
}

void EventsAhead::Keep(std::string old) {
  // An event that does not end in its piece is scanned again, in the next one.
  current_->text = std::move(old);
  MutexLock lock(mu_);
  ready_.push_back(std::exchange(current_, next_));
  changed_.notify_all();
}

bool EventsAhead::Start(std::function<void()> scan) {
  try {
    thread_ = std::thread([this, scan = std::move(scan)] {
      scan();
      MutexLock lock(mu_);
      ready_.push_back(current_);
      has_ended_ = true;
      changed_.notify_all();
    });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

EventsAhead::Batch* EventsAhead::Next() {
  MutexLock lock(mu_);
  changed_.wait(mu_, [this]() KPROF_REQUIRES(mu_) { return has_ended_ || !ready_.empty(); });
  if (ready_.empty()) return nullptr;
  Batch* const batch = ready_.front();
  ready_.erase(ready_.begin());
  return batch;
}

void EventsAhead::Return(Batch* batch) {
  MutexLock lock(mu_);
  free_.push_back(batch);
  changed_.notify_all();
}

void EventsAhead::Stop() {
  MutexLock lock(mu_);
  is_stopped_ = true;
  changed_.notify_all();
}

void EventsAhead::Join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace kprof
