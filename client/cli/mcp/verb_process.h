// A kprofctl of our own that carries out one call, as if its caller had typed the words. Its standard input is empty,
// and its process group is its own. It is interrupted when this process ends, however that ends: a capture is then
// cancelled, as by Ctrl-C.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof::cli {

// One thread, which has no other threads beside it when it starts one.
class VerbProcess {
 public:
  using Clock = std::chrono::steady_clock;
  using TakeResults = std::function<void(std::string_view)>;

  static constexpr size_t kMostNoteBytes = size_t{64} << 10;  // the end is kept

  // `words`: without the program's name. `take_results` gets its standard output, in pieces, from within Pass.
  // Fails with kSpawnFailed.
  static Result<std::unique_ptr<VerbProcess>> Start(const std::vector<std::string>& words, TakeResults take_results);
  // Kills one that has not ended.
  ~VerbProcess();
  VerbProcess(const VerbProcess&) = delete;
  VerbProcess& operator=(const VerbProcess&) = delete;

  // Adds what to poll for before the next Pass.
  void AddWaits(std::vector<pollfd>& waits) const;
  // Reads what is there without waiting, and goes on with an interrupt that it does not heed: call it every second
  // then. True: it has ended, and all it wrote was read.
  bool Pass();

  // As Ctrl-C. One that has not ended after 20 s gets another, which makes it leave at once, and 5 s later SIGKILL.
  void Interrupt();
  bool is_interrupted() const { return interrupts_ > 0; }

  // The end of one that has ended; 128 and the signal where one ended it.
  int exit_status() const { return exit_status_; }
  // The end of its standard error.
  const std::string& notes() const { return notes_; }

 private:
  VerbProcess(pid_t pid, UniqueFd exit, UniqueFd results, UniqueFd notes, TakeResults take_results);

  // Set once.
  const pid_t pid_;
  const UniqueFd exit_;  // a pidfd
  const TakeResults take_results_;

  UniqueFd results_from_;  // invalid: at its end
  UniqueFd notes_from_;
  std::string notes_;
  bool has_ended_ = false;
  int exit_status_ = 0;
  int interrupts_ = 0;
  Clock::time_point next_interrupt_;
};

}  // namespace kprof::cli
