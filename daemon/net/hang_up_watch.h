// Tells when connections have ended that gRPC reads. gRPC owns its sockets and does not tell when they end, but a
// duplicate of the descriptor hears the hang-up, of either side.
//
// It has an epoll of its own: the loop's would wake for every byte that comes, as duplicates share their socket's
// events. This one asks for no event but the hang-up, which epoll always tells.
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

  // Calls `gone` once, from the loop, when the connection has ended. Until then the descriptor stays open, and `Find`
  // returns it. Fails when the kernel takes no more; the descriptor is then closed.
  using Id = uint64_t;
  Result<Id> Add(UniqueFd duplicate, std::function<void()> gone);

  // Its reader takes the bytes that have come already, then finds the end of the connection and hangs up.
  void EndReading(Id id);

  // The watched descriptor, borrowed; -1 when it has gone.
  int Find(Id id) const;

 private:
  struct State;
  explicit HangUpWatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kprof
