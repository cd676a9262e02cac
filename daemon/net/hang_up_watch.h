// Tells when connections have ended that somebody else reads: gRPC owns its sockets and says nothing of their end, but
// a duplicate of the descriptor hears the hang-up, by whichever side.
//
// Why an epoll of its own: the loop's would wake for every byte that comes, as duplicates share their socket's events;
// this one asks for nothing but the hang-up, which epoll always tells.
//
// Io loop only. The loop must outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/base/io_loop.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

class HangUpWatch {
 public:
  static Result<std::unique_ptr<HangUpWatch>> Create(IoLoop& loop);
  ~HangUpWatch();
  HangUpWatch(const HangUpWatch&) = delete;
  HangUpWatch& operator=(const HangUpWatch&) = delete;

  // Calls `gone` once, from the loop, when the connection has ended; until then the descriptor stays open, and `Find`
  // knows it. Fails when the kernel takes no more; the descriptor is closed then.
  using Id = uint64_t;
  Result<Id> Add(UniqueFd duplicate, std::function<void()> gone);

  // Whoever reads the connection finds its end after what has come already, and hangs up.
  void EndReading(Id id);

  // The watched descriptor, borrowed; -1 when it has gone.
  int Find(Id id) const;

 private:
  struct State;
  explicit HangUpWatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kprof
