// The stages of a kernel and the work of each as its maker tells it: FLOP and bytes of one execution, which no counter
// has to measure. Captures, reports and analyses read them here, so that what one takes the others take too.
//
//   {"attention": {"flops": 8.6e9, "bytes": 2.1e8, "dtype": "bf16"}, "combine": {"bytes": 4e6}}
//   [{"name": "attention", "flops": 8.6e9}, {"name": "combine"}]
//
// Or either as the member `stages` of an object, such as the parameters of a run. That object's `dtype` is that of
// each stage without one. Further members of a stage are not read. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

struct StageCost {
  std::string stage;
  std::optional<double> flops;
  std::optional<double> bytes;
  std::string dtype;            // of the table of peaks: "bf16"; empty: not told
  std::optional<double> times;  // how often the report has it executed; nothing: told by its kernels
};

// In the order in which they stand. Fails with kUsage for a text of another form and for more than 256 stages, and
// names the place. `what` names the text: "--stages".
Result<std::vector<StageCost>> ReadStageCosts(std::string_view text, const std::string& what);

// The stages of a request: those of `stages`, or else the member `stages` of `params`. Empty: it names none. A member
// that is neither an object nor a list of objects is a parameter like others. Fails as ReadStageCosts does.
Result<std::vector<StageCost>> ReadGivenStages(std::string_view stages, std::string_view params);

// The same as one text for ReadStageCosts. Empty: there are none. Fails with kUsage where `stages` is no JSON; `params`
// that are none do not count.
Result<std::string> GivenStagesText(std::string_view stages, std::string_view params);

}  // namespace kprof
