// Whether the daemon serves, and who wants to hear when it no longer does. Io loop only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace kprof {

class ServingState {
 public:
  using WatchId = uint64_t;

  bool serving() const { return serving_; }

  // For good. Tells all who watch.
  void End() {
    serving_ = false;
    const auto watches = watches_;  // who is told may go
    for (const auto& [id, ended] : watches) {
      if (watches_.count(id) != 0) ended();
    }
  }

  WatchId Watch(std::function<void()> ended) {
    watches_[++last_id_] = std::move(ended);
    return last_id_;
  }
  void Unwatch(WatchId id) { watches_.erase(id); }

 private:
  bool serving_ = true;
  WatchId last_id_ = 0;
  std::map<WatchId, std::function<void()>> watches_;
};

}  // namespace kprof
