#include "daemon/process/supervisor/launch_options.h"

#include <string_view>

#include "daemon/launch/launch_request.h"

namespace kprof {

std::optional<LaunchOptions> ParseLaunchOptions(int argc, const char* const* argv) {
  constexpr std::string_view kDigest = "--digest=";
  LaunchOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--kept") {
      options.kept = true;
    } else if (word == "--pass-output") {
      options.passes_output = true;
    } else if (word == "--control-fd=0") {
      options.control_fd = 0;
    } else if (word == "--control-fd=3") {
      options.control_fd = 3;
    } else if (word.starts_with(kDigest) && LooksLikeLaunchDigest(word.substr(kDigest.size()))) {
      options.digest = word.substr(kDigest.size());
    } else {
      return std::nullopt;
    }
  }
  if (options.kept && options.digest.empty()) return std::nullopt;
  return options;
}

}  // namespace kprof
