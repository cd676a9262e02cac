// The releases of Nsight Systems that captures can use, for the tool `nsys` and for the doctor. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "storage/base/status.h"

namespace kprof {

// The releases whose options and exports are known, as ReleaseOf has them. Earlier ones write report.qdrep.
inline constexpr int64_t kFirstNsysRelease = 202104;
inline constexpr int64_t kLastNsysRelease = 202602;

// Fails with kToolMissing for a release before the first. `program`: as messages name it. A version that is not known,
// or of another form, is taken.
Status CheckNsysRelease(const std::string& program, const std::string& version);

}  // namespace kprof
