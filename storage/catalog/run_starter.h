// Who starts a run's supervisor: settled when the run is submitted, and stored with it.
#pragma once

namespace kprof {

enum class RunStarter { kDaemon, kClient, kHelper };

}  // namespace kprof
