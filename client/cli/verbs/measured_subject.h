// The subject of a capture, as its caller names it: kernel, version, parameters, and the run to compare with. All are
// labels of the run, by which runs are found; the parameters are also its artifact params.json.
#pragma once

#include <string>

#include "client/cli/verbs/verbs.h"
#include "kprof/v1/runs.pb.h"
#include "storage/base/status.h"

namespace kprof::cli {

// JSON as it was typed, or of the file behind an @, checked: bytes that kprofd names are those that the caller sees.
// kUsage names the byte that is wrong. `what`: "--params".
Result<std::string> ReadJsonWord(const std::string& word, const std::string& what);

// Adds them to a run that is about to be submitted. The baseline is resolved now: @last is not the new run. Fails with
// kUsage for parameters that are no object, kNotFound for a baseline that is not there.
Status AddMeasuredSubject(const CaptureArgs& args, const VerbContext& context, v1::RunSpec& spec);

}  // namespace kprof::cli
