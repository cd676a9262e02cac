// Follows one run to its end from a thread of its own, and goes on following when the daemon restarts in between. With
// hold, the run lives while this does. What to do with the news is the caller's.
//
// The object belongs to one thread; a thread inside talks to the daemon. News waits until it is taken; of several
// changes the newest is kept, so nothing piles up. The destructor ends the stream and joins.
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

// Follows a node's devices from a thread of its own (NodeService.WatchDevices), and goes on when the daemon was away.
//
// The object belongs to one thread; a thread inside talks to the daemon. News waits until it is taken: of each device
// the newest state, and the newest events. The destructor ends the stream and joins.
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

// Done, failed or cancelled: nothing changes any more.
bool IsEnded(v1::RunState state);

class RunFollower {
 public:
  using Connect = std::function<Result<std::unique_ptr<KprofClient>>()>;

  struct Options {
    bool hold = false;
    int64_t reconnect_ms = 10'000;  // how long after the stream broke; the daemon waits as long for a held run
  };

  // What happened since the last Take.
  struct News {
    std::optional<v1::WatchRunResponse> update;  // the newest state, if it changed
    bool disconnected = false;                   // the stream is broken now, and being resumed
    bool resumed = false;                        // it was, and the update comes from whoever serves now
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
  // One connection's worth; true: `result` is final.
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
