// Finds a vendor's program, such as ncu: in the folders that the configuration names, then in PATH, then where its
// installer puts it, the newest version first. Relative entries of PATH do not count.
//
// kprof-launch looks as the run's caller, with the variables of its request. Where it is not of kprofd's own user,
// KPROF_TOOL_PATH may be kprofd's word, and must not make a caller run what kprofd likes: then a program counts only if
// nobody but root could have put it there.
//
// Blocks for the file system. Stateless; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

struct ToolNeeds;

struct ProgramSearch {
  bool trusts_tool_path = true;  // else its programs must be root's
  std::string root = {};         // of the usual folders; a test's
};

// The path of the program. kToolMissing with a remedy. `environment`: KPROF_TOOL_PATH and PATH.
Result<std::string> FindVendorProgram(std::string_view name, const std::vector<std::string>& environment,
                                      const ProgramSearch& search = {});

// The program that a tool needs, or else the other one that serves. kToolMissing names both.
Result<std::string> FindProgramOf(const ToolNeeds& needs, const std::vector<std::string>& environment,
                                  const ProgramSearch& search = {});

// Where to get the program from, for people: "install Nsight Compute, or ...".
std::string RemedyForMissing(std::string_view name);

// True if only root can change what the path leads to: it and all folders above it are root's, and writable by root
// alone, or sticky.
bool IsRootsAlone(const std::string& path);

// The version in what a program or a driver prints: its first word of digits and dots, without what a vendor adds to
// it: "2024.3.1.0". Empty: there is none.
std::string VersionIn(std::string_view text);

// Year and release of a version of Nsight Compute or Nsight Systems, as 202403; 0: it has another form.
int64_t ReleaseOf(std::string_view version);

}  // namespace kprof
