// What bounds callers, each of them and together, so that none of them keeps another from being served. Values.
#pragma once

#include <cstdint>

namespace kprof {

// Of each caller.
struct CallLimits {
  int64_t in_flight = 4096;     // begun and not ended
  int64_t per_second = 20'000;  // on average; twice as many may come at once
  int64_t watches = 2048;       // calls that go on until a run or a session has ended; a client has one, mostly
  // Of answers that were made and that no client has taken yet. The longest command makes an answer of 2 MiB; what is
  // counted is what goes over the wire, memory takes twice that.
  int64_t answer_bytes = int64_t{32} << 20;
  bool operator==(const CallLimits&) const = default;
};

struct ConnectionLimits {
  int64_t connections = 8192;              // in all
  int64_t connections_per_account = 2048;  // of one user with all that count as that user, or one certificate
  // That have a server. No more than kMostCallers, among whom memory is shared out (caller_buffers.h).
  static constexpr int64_t kMostCallers = 256;
  int64_t callers = kMostCallers;
  int64_t callers_per_account = 16;   // of them: one user with other groups, or subordinate uids
  int64_t turned_away = 64;           // connections that are being told so, for each of a few reasons
  int64_t idle_ms = 300'000;          // a server without connections goes after that
  int64_t unknown_place_ms = 10'000;  // a connection whose caller's place nobody knows is to be made anew after that
  CallLimits calls;
  bool operator==(const ConnectionLimits&) const = default;
};

}  // namespace kprof
