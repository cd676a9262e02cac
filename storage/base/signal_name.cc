#include "storage/base/signal_name.h"

#include <csignal>
#include <cstring>

namespace kprof {

std::string SignalName(int signal) {
  std::string text = "signal " + std::to_string(signal);
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? text : text + " (SIG" + name + ")";
}

}  // namespace kprof
