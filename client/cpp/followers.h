// Follow a node's devices or one run, each from a thread of its own, and go on when the daemon restarts in between. The
// caller decides what to do with the news.
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
#include "storage/base/descriptors.h"
#include "storage/base/mutex.h"

namespace kprof {

// Follows a node's devices (NodeService.WatchDevices).
//
// The object belongs to one thread; a thread inside talks to the daemon. News waits until it is taken: the newest state
// of each device, and the newest events. The destructor ends the stream and joins.
class DeviceFollower {
 public:
  using Connect = std::function<Result<std::unique_ptr<KprofClient>>()>;

  struct Options {
    v1::WatchDevicesRequest request;
    int64_t reconnect_ms = 10'000;  // how long it tries after the stream broke; below 0: for ever
  };

  // All news since the last Take.
  struct News {
    // By id. A stream begins with all devices and their peaks; then come the changed ones, without peaks.
    std::map<std::string, v1::Device> devices;
    std::vector<v1::DeviceEvent> events;  // oldest first
    uint64_t dropped_events = 0;          // missing before `events`
    bool heard = false;                   // a message came
    bool disconnected = false;            // the stream is broken now, and being resumed
    std::optional<Status> end;            // it is over; kNoDaemon: the daemon did not come back in time
  };

  // The most events that wait to be taken; then the oldest go.
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

// True for done, failed and cancelled: nothing changes any more.
bool IsEnded(v1::RunState state);

// Follows one run to its end. With `hold`, the run lives while this object does.
//
// The object belongs to one thread; a thread inside talks to the daemon. News waits until it is taken; only the newest
// of several changes is kept, so nothing piles up. The destructor ends the stream and joins.
class RunFollower {
 public:
  using Connect = std::function<Result<std::unique_ptr<KprofClient>>()>;

  struct Options {
    bool hold = false;
    int64_t reconnect_ms = 10'000;  // how long it tries after the stream broke; the daemon waits as long for a holder
  };

  // All news since the last Take.
  struct News {
    std::optional<v1::WatchRunResponse> update;  // the newest state, if it changed
    bool disconnected = false;                   // the stream is broken now, and being resumed
    bool resumed = false;                        // it was broken; the update comes from the daemon that serves now
    // It is over. OK: the run has ended and the last update says how. kLostDaemon: the daemon did not come back in
    // time.
    std::optional<Status> end;
  };

  // `connect` is called on the inner thread.
  RunFollower(Connect connect, std::string run_id, Options options);
  ~RunFollower();
  RunFollower(const RunFollower&) = delete;
  RunFollower& operator=(const RunFollower&) = delete;

  // Readable (poll) while there is news.
  int fd() const { return event_.get(); }
  News Take();

 private:
  void Follow(const std::stop_token& stop);
  // Follows over one connection. True: `result` is final.
  bool FollowOnce(const std::stop_token& stop, bool& got_news, Status& result);
  void Tell(const std::function<void(News&)>& change);

  // Set once.
  const Connect connect_;
  const std::string run_id_;
  const Options options_;
  UniqueFd event_;

  Mutex mu_;
  News news_ KPROF_GUARDED_BY(mu_);

  std::jthread thread_;  // last: ends before what it uses
};

}  // namespace kprof
