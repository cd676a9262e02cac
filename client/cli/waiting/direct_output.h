// The output of a capture's command, straight from its supervisor: whole and in order, while the daemon keeps head
// and tail of the same bytes as the run's logs. The supervisor waits for us to take it
// (daemon/launch/launch_protocol.h), and so does the command.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof::cli {

// The ends that the supervisor is given.
struct SupervisorEnds {
  UniqueFd out;
  UniqueFd err;
};

// One thread. Never waits.
class DirectOutput {
 public:
  enum Stream : size_t { kOut, kErr };

  // Makes new sockets; former ones are closed. Fails when no descriptor is left.
  Result<SupervisorEnds> Open();
  // Nothing comes any more.
  void Close();

  // True from Open to Close, also once the supervisor has closed its ends.
  bool is_in_use() const { return is_in_use_; }
  // Readable (poll) when there is something to take; -1 once nothing comes.
  int fd(Stream stream) const { return ends_[stream].get(); }

  // The next piece of the stream; empty: nothing now.
  std::string Take(Stream stream);
  // Says that the reader of what the stream is written to is gone: the supervisor closes the pipe that the command
  // prints into. Nothing of the stream comes any more.
  void TellReaderGone(Stream stream);

  // Taken since Open.
  int64_t taken_bytes(Stream stream) const { return taken_bytes_[stream]; }

 private:
  std::array<UniqueFd, 2> ends_;
  std::array<UniqueFd, 2> told_;  // kept open: closed ones would say that all of us is gone
  std::array<int64_t, 2> taken_bytes_ = {};
  bool is_in_use_ = false;
};

}  // namespace kprof::cli
