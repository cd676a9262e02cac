// Turns a session's row into its message, a run into a round of it, and a message that opens one into a request.
// Functions of their arguments. Any thread.
#pragma once

#include "daemon/access/caller.h"
#include "daemon/runs/sessions/session_request.h"
#include "kprof/v1/sessions.pb.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"

namespace kprof {

// `out` is empty before.
void FillSession(const SessionRow& row, v1::Session& out);
void FillRound(const RunRow& run, v1::Round& out);

v1::SessionState ToWire(SessionState state);
// REQUIRES: not unspecified and known.
SessionState FromWire(v1::SessionState state);

// Converts only; CheckSessionRequest checks it.
SessionRequest RequestOf(const Caller& caller, const v1::OpenSessionRequest& message);

}  // namespace kprof
