// Opens a detached session and waits until it has its devices, with its place in the queue as progress. When the wait
// is interrupted or fails, the session is closed, so that it does not take the devices later; a note says so if that
// fails.
#pragma once

#include "client/cli/verbs/verbs.h"
#include "kprof/v1/sessions.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

Result<v1::Session> OpenDetachedSession(const v1::OpenSessionRequest& request, const VerbContext& context);

}  // namespace kprof::cli
