#include "daemon/runs/signal_name.h"

#include <csignal>
#include <cstring>

namespace kprof {

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace kprof
