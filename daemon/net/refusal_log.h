// Counts who was not let in, and logs it so that one can act and nobody can fill a disk: of each reason the first few
// at once, later ones a few each ten seconds, the rest as a number. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "daemon/net/tls_refusal.h"

namespace kprof {

class RefusalLog {
 public:
  // Logs it now, or counts it for Flush. `certificate` is the name it shows, empty before it has shown one.
  void Add(TlsRefusal refusal, const std::string& peer, const std::string& certificate);

  // To be called every kFlushMs while `pending`: says how many were not logged, and lets some be logged again.
  static constexpr int kFlushMs = 10'000;
  bool pending() const { return pending_; }
  void Flush();

 private:
  struct Reason {
    int logged = 0;  // since the last Flush
    int64_t unlogged = 0;
    std::string last_peer;
  };
  std::array<Reason, kTlsRefusals> reasons_;
  bool pending_ = false;
};

}  // namespace kprof
