// Texts that callers and vendors' programs give: JSON of an option, what ncu says of itself. Any bytes are read or
// refused.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/capture/ncu_answers.h"
#include "daemon/capture/tools.h"
#include "daemon/capture/vendor_program.h"
#include "daemon/launch/given/json_text.h"
#include "storage/base/readable_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<GivenJson> json = ReadJson(text, "it");
  if (json.ok()) {
    // Once written it is the same for ever.
    const std::string written = JsonOf(*json);
    const Result<GivenJson> again = ReadJson(written, "it");
    KPROF_CHECK(written.size() > kMostJsonBytes || (again.ok() && JsonOf(*again) == written));
    KPROF_CHECK(IsUtf8(written));
  } else {
    KPROF_CHECK(json.status().code() == ErrorCode::kUsage);
  }
  for (const char* tool : {"annotation", "nsys"}) {
    (void)CheckToolRequest(*FindTool(tool), {"prog"}, {"stages=" + std::string(text)});
    (void)CheckToolRequest(*FindTool(tool), {"prog"}, {"delay=" + std::string(text)});
  }
  const std::string version = VersionIn(text);
  KPROF_CHECK(version.find_first_not_of("0123456789.") == std::string::npos);
  (void)ReleaseOf(version);
  const auto names = MetricNamesIn(text);
  KPROF_CHECK(!names || !names->empty() || text.find("Device") != std::string_view::npos);
  return 0;
}
