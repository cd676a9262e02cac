// The run that a verb is about, before the verb does its work: for verbs that need its whole id, because @last moves
// on.
#pragma once

#include <string>

#include "client/cpp/kprof_client.h"

namespace kprof::cli {

// Fails as KprofClient::GetRun, but in the verb's own words: `act` ("wait for run") begins the message, because who
// asked to wait has not asked to see.
Result<v1::Run> FindRun(KprofClient& client, const std::string& name, const std::string& act);

}  // namespace kprof::cli
