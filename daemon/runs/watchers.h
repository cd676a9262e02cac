// Who follows one run or one session, and is told of each change. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace kprof {

using WatchId = uint64_t;  // of one run's or session's watchers

template <typename View>
class Watchers {
 public:
  using Changed = std::function<void(const View&)>;

  WatchId Add(Changed changed) {
    all_[++last_id_] = std::move(changed);
    return last_id_;
  }
  // Unknown ones are fine.
  void Remove(WatchId id) { all_.erase(id); }

  bool empty() const { return all_.empty(); }

  // REQUIRES: whoever is told removes no other watcher.
  void Tell(const View& view) const {
    const auto all = all_;  // but possibly itself
    for (const auto& [id, changed] : all) changed(view);
  }

 private:
  WatchId last_id_ = 0;
  std::map<WatchId, Changed> all_;
};

}  // namespace kprof
