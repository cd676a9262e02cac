// Whom somebody waits for who is next in the queue.
#pragma once

#include <string>

#include "client/cpp/kprof_client.h"
#include "kprof/v1/node.pb.h"
#include "kprof/v1/run.pb.h"
#include "kprof/v1/sessions.pb.h"

namespace kprof::cli {

// "for device 0, which your session 01se holds", "for devices 0,1, which somebody else holds", "for the round 01jd of
// its session". Empty when nobody holds any of them (any more). `own`: who waits is the reader's. Safe for a terminal.
std::string WaitsFor(const v1::Run& run, const v1::ListDevicesResponse& devices, bool own);
std::string WaitsFor(const v1::Session& session, const v1::ListDevicesResponse& devices, bool own);

}  // namespace kprof::cli
