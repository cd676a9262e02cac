// Follows a node's devices from a thread of its own (NodeService.WatchDevices), and goes on when the daemon was away.
//
// The object belongs to one thread; a thread inside talks to the daemon. News waits until it is taken: of each device
// the newest state, and the newest events. The destructor ends the stream and joins.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/cpp/kprof_client.h"
#include "storage/base/mutex.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class DeviceFollower {
 public:
  using Connect = std::function<Result<std::unique_ptr<KprofClient>>()>;

  struct Options {
    v1::WatchDevicesRequest request;
    int64_t reconnect_ms = 10'000;  // how long after the stream broke; below 0: for ever
  };

  // What happened since the last Take.
  struct News {
    // The first ones of a stream are all, with their peaks; later ones are without, as they were told.
    std::map<std::string, v1::Device> devices;
    std::vector<v1::DeviceEvent> events;  // oldest first
    uint64_t dropped_events = 0;          // missing before those
    bool heard = false;                   // a message came
    bool disconnected = false;            // the stream is broken now, and being resumed
    std::optional<Status> end;            // it is over: kNoDaemon where the daemon did not come back in time
  };

  // Events that nobody takes: then the oldest go.
  static constexpr size_t kMostEvents = 4096;

  // `connect` is called on the inner thread.
  DeviceFollower(Connect connect, Options options);
  ~DeviceFollower();
  DeviceFollower(const DeviceFollower&) = delete;
  DeviceFollower& operator=(const DeviceFollower&) = delete;

  // Readable (poll) while there is news.
  int fd() const { return event_.get(); }
  News Take();

 private:
  void Follow(const std::stop_token& stop);
  Status FollowOnce(const std::stop_token& stop, bool& heard);
  void Tell(const std::function<void(News&)>& change);

  // Set once.
  const Connect connect_;
  const Options options_;
  UniqueFd event_;

  Mutex mu_;
  News news_ KPROF_GUARDED_BY(mu_);

  std::jthread thread_;  // last: ends before what it uses
};

}  // namespace kprof
