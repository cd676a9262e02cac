// Takes the output that other users' supervisors send (command_output.h), and writes it into the runs' logs. The log
// files stay kprofd's alone: whatever a supervisor does with its sockets, a log holds no more than kprofd's limits
// allow, and nothing that came after its run's end.
//
// All work on files runs on `work`, a loop whose thread may wait for a disk. It takes a piece of each log in turn, so a
// flood into one delays the others by a piece. A command that floods faster than the disk waits, as with any full pipe.
// Memory: one piece in all, and what the kernel holds of each socket.
//
// Sockets, not pipes: the writer of a pipe holds its lock while it copies. With memory from a file of a file system of
// its own it could hold up the one reader for as long as it likes. For the same reason no flag of the socket is relied
// on: each read says itself that it does not wait.
//
// `home` loop only, except what the loops do themselves. Both loops outlive it, and it outlives its takings.
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

// The largest piece that is taken at once.
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

// The taking of one run's output. Destroying it without Finish ends it, too, some time later.
class OutputTaking {
 public:
  ~OutputTaking();

  // The supervisor's ends. Valid until GaveEnds.
  OutputFiles ends() const;
  // Closes our copies of the ends: they have been handed over.
  void GaveEnds();

  // Takes the output that was sent by now, then no more. Once. When `done` is called, from `home`, nobody writes to the
  // files any more. It gets errno of the first write that failed, 0 for none.
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

// An OutputIntake with a loop and a thread of its own, which may wait for a disk.
//
// Made and destroyed on the main thread, while `home` runs or before; destroyed after all takings. Output that was not
// taken by then is not taken any more: its runs are over.
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
