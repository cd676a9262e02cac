#include "client/cli/waiting/find_run.h"

#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

constexpr size_t kNameLimitBytes = 64;

}  // namespace

Result<v1::Run> FindRun(KprofClient& client, const std::string& name, const std::string& act) {
  Result<v1::GetRunResponse> found = client.GetRun(name);
  if (found.ok()) return std::move(*found->mutable_run());
  const Status& failure = found.status();
  return Fail(failure.code(), act + " " + ClippedText(name, kNameLimitBytes), failure.why(), failure.remedy());
}

}  // namespace kprof::cli
