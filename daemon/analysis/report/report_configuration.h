// The configuration of a measured kernel, as its params.json has it, and other JSON that reports read. Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof {

// The members of the object in `params` that are no lists or objects, as text: b, s, t and dtype first, then the others
// in their order; without tool, kernel and version, which stand in the heading. A text that is no object leaves a note.
// `params` may be empty.
std::vector<std::pair<std::string, std::string>> ConfigurationOf(const std::string& params,
                                                                 std::vector<std::string>& notes);

// "dram_percent=84.1 %" of the first of a finding's evidence that is no total: [{"metric","value","unit"},...]. Empty:
// it has none.
std::string TriggerOf(const std::string& evidence);

}  // namespace kprof
