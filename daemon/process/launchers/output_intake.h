// Takes what supervisors that are not kprofd's user's send of their commands' output (command_output.h), and
// writes it into the runs' logs by kprofd's own limits. The files stay kprofd's alone: whoever the supervisor is, and
// whatever it does with its sockets, a log holds what its limits allow, and nothing that came after its run's end.
//
// Everything of it that touches a file runs on `work`, a loop whose thread may wait for a disk; a piece of each log in
// turn, so that one that floods delays the others by a piece. Who floods faster than the disk waits, as with any full
// pipe. Memory: one piece in all, and what the kernel holds of each socket.
//
// Sockets, not pipes: the writer of a pipe holds its lock while it copies, and one whose memory comes from a file
// system of its own would hold up the reader of all for as long as it likes. For the same reason nothing relies on a
// flag of theirs: each read says itself that it does not wait.
//
// `home` loop only, but for what the loops do themselves; they outlive it, and it outlives its takings.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <thread>

#include "daemon/base/io_loop.h"
#include "daemon/launch/output_log.h"
#include "daemon/process/launchers/launcher.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

class OutputTaking;

// The most that is taken at once.
using OutputBlock = std::array<char, 256 << 10>;

class OutputIntake {
 public:
  // Answers go to `home`.
  OutputIntake(IoLoop& work, IoLoop& home);

  // Begins to take one run's output into `files`, which stay the caller's; copies of them are held until Finish, or
  // until the taking is destroyed. Fails when no descriptor is left.
  Result<std::unique_ptr<OutputTaking>> Begin(const OutputFiles& files, OutputLimits limits);

 private:
  IoLoop& work_;
  IoLoop& home_;
  const std::shared_ptr<OutputBlock> block_;  // `work`'s
};

// One run's. Destroying it without Finish ends it, too, some time later.
class OutputTaking {
 public:
  ~OutputTaking();

  // What the supervisor gets. Valid until GaveEnds.
  OutputFiles ends() const;
  // They have been handed over: ours are closed.
  void GaveEnds();

  // Takes what has been sent by now, and then nothing any more: when `done` is called, from `home`, nobody writes to
  // the files. Says errno of the first write that failed, 0 for none. Once.
  void Finish(std::function<void(int first_error)> done);

 private:
  friend class OutputIntake;
  class Streams;

  OutputTaking(IoLoop& work, IoLoop& home, std::shared_ptr<Streams> streams, UniqueFd stdout_end, UniqueFd stderr_end);

  IoLoop& work_;
  IoLoop& home_;
  std::shared_ptr<Streams> streams_;  // `work`'s
  UniqueFd stdout_end_;
  UniqueFd stderr_end_;
};

// An OutputIntake with what it runs on: a loop and a thread of its own, which may wait for a disk.
//
// Made and destroyed on the main thread, while `home` runs or before; destroyed after all takings. What has not been
// taken then stays untaken: the runs whose it is are over.
class OutputThread {
 public:
  explicit OutputThread(IoLoop& home);
  ~OutputThread();

  OutputIntake& intake() { return intake_; }

 private:
  IoLoop loop_;
  OutputIntake intake_;
  std::thread thread_;
};

}  // namespace kprof
