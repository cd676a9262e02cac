// What the stand-in for DCGM's host engine is in, in a file that all processes share and that outlives each: lines of
// KEY=VALUE, read and written as a whole under a lock, so that whoever is killed leaves either the one or the other.
// Tests script it: by this class, or by tests/system/dcgm_stand_in.py.
//
//   engine 1|0        a host engine runs
//   paused 1|0        its profiling is paused, by whomever
//   watched 1|0       somebody watches profiling fields
//   devices N         that it has
//   profiles 1|0      its devices have profiling that can be paused
//   error_FUNCTION N  what that function returns instead of working; error_times N: so often, then not any more
//   hang FUNCTION     it does not return while this stands here
//   kill_at N         at the Nth call from now that pauses or resumes, kills kill_pids ("self", "parent", numbers)
//   kill_moment       before or after it has worked
//   pauses, resumes, connects N   calls so far, those that failed as well
#pragma once

#include <map>
#include <string>

namespace kprof::dcgm_stand_in {

// The environment variable that names the file.
constexpr const char* kStateVariable = "KPROF_DCGM_STAND_IN";

// Holds the file's lock while it lives, and writes back what was changed.
class State {
 public:
  // A file that is not there yet has the values of a normal node. Aborts where it cannot be opened: a test is wrong.
  explicit State(const std::string& path);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  long Number(const std::string& key) const;
  std::string Text(const std::string& key) const;
  void Set(const std::string& key, const std::string& value);
  void Set(const std::string& key, long value) { Set(key, std::to_string(value)); }
  void Count(const std::string& key) { Set(key, Number(key) + 1); }

  // Now, not at the end.
  void Write();

 private:
  int fd_ = -1;
  std::map<std::string, std::string> values_;
  bool is_changed_ = false;
};

}  // namespace kprof::dcgm_stand_in
