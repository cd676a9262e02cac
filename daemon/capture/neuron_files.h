// The files of Neuron captures: which NEFF a command left, which NTFFs the vendor's program left, and whether an NTFF
// is whole. Knows no command lines; those are neuron_plan.h.
//
// kprof-launch looks as the run's caller. Blocks for the file system: a bounded number of names, and the first bytes of
// files. Follows no symbolic link to a folder. Stateless; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

struct NeuronFile {
  std::string path;  // below the folder that was searched, absolute
  int64_t size_bytes = 0;
  int64_t changed_ns = 0;  // its last change of any kind, by the file system's clock
  bool operator==(const NeuronFile&) const = default;
};

// The files below `folder` whose name ends with `ending` (".neff"), at most `depth` folders down, by path. Hidden
// folders are not entered. At most kMostNeuronFiles.
std::vector<NeuronFile> FilesEndingWith(const std::string& folder, std::string_view ending, int depth);

inline constexpr size_t kMostNeuronFiles = 10'000;

struct ChosenNeff {
  std::string path;
  std::vector<std::string> notes;  // for the run's trust
};

// The NEFF of a command that ran in `folder`: of those below it that are not older than `begun_ns` the newest. A
// `pattern` (a glob of a path from `folder`, or of a name alone) restricts them; of files that only are older the
// newest one that it matches is taken, with a note: a cached NEFF is not written again. Fails with kToolFailed where
// there is none.
Result<ChosenNeff> ChooseNeff(const std::string& folder, const std::string& pattern, int64_t begun_ns);

// The version in an NTFF's first byte. Fails with kToolFailed for a file that is empty, shorter than its own header
// says, or cannot be read: the vendor's programs do not say that clearly. Lengths are known of version 5 alone.
Result<int> CheckNtff(const std::string& path);

// The NTFFs in a folder that a capture left there for `-s profile.ntff`, by the number in their names: profile.ntff,
// profile_exec_2.ntff, profile_rank_0.ntff.
std::vector<NeuronFile> CapturedNtffs(const std::string& folder);

// "profile_exec_2" of "/x/profile_exec_2.ntff".
std::string StemOf(std::string_view path);

}  // namespace kprof
