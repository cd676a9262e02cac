// What a signal is called wherever people read of one: daemon and client say it alike.
#pragma once

#include <string>

namespace kprof {

// "signal 9 (SIGKILL)"; "signal 77" for one without a name.
std::string SignalName(int signal);

}  // namespace kprof
