// A keeper's life: gives back what was left, answers (keeper_protocol.h) for as long as somebody is there, gives back
// what is held, ends. What cannot be given back is tried again, ever more slowly.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/clocks/hold_files.h"
#include "daemon/clocks/keeper/clock_keeper.h"
#include "daemon/clocks/keeper_protocol.h"
#include "daemon/process/call_page.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class KeeperServer {
 public:
  struct Options {
    std::string library;  // of NVML; empty: the usual one
    std::string folder;   // of hold_files.h
    std::string uuid;
    std::string boot_id;
  };
  KeeperServer(Options options, Files& files, UniqueFd channel, UniqueFd signals, CallPage page);

  // Until whoever asks is gone, or a signal asks for the end. Fails where something stays held.
  Status Run();

 private:
  Status TakeRight();
  Status Open();
  void CloseAfter(const Status& failed);
  Status ReleaseLeftover();
  bool Receive();
  KeeperMessage Answer(const KeeperMessage& request);
  KeeperMessage Lock(const KeeperLock& request);
  void ReleaseLeftoverWhenDue();
  Status ReleaseBeforeEnd();

  const RealClock clock_;
  const Options options_;
  HoldFiles files_;
  const UniqueFd channel_;
  const UniqueFd signals_;
  CallPage page_;
  std::unique_ptr<File> right_;  // the lock of hold_files.h
  std::optional<NvmlLibrary> library_;
  std::optional<NvmlDevice> device_;
  std::optional<ClockKeeper> keeper_;
  Status leftover_;  // why what was left is not given back yet
  int tries_ = 0;
  int64_t again_ns_ = 0;
};

}  // namespace kprof
