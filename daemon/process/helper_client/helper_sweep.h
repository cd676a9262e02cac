// Has the root helper end what a run left, as often as it takes: a helper that is gone may be restarting, and what
// hangs in the kernel dies when it comes out of it.
#pragma once

#include <functional>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/process/helper_client/helper_link.h"
#include "storage/base/status.h"

namespace kprof {

// Calls `done` once, later, from the loop: ok when nobody is left; after two minutes of trying, with why somebody may
// be. Waits longer after each try, from 0.5 s to 10 s. Io loop only; loop and link must outlive it.
void SweepPatiently(IoLoop& loop, HelperLink& link, const std::string& marker, std::function<void(Status)> done);

// And lets go of the run's grant when nobody is left. What could not be ended is not forgotten: without its grant no
// later sweep would reach it. So after `done` was called it goes on, ever more slowly, every ten minutes at last, as
// long as this daemon lives; the next one asks for what it left (helper_grants.h). There are as many of these as runs
// that were started and could not be ended, or not while the helper was away.
void SweepAndForget(IoLoop& loop, HelperLink& link, const std::string& marker, std::function<void(Status)> done);

}  // namespace kprof
