#include "storage/db/restore_remedy.h"

#include "storage/base/shell_text.h"

namespace kprof {

std::string RestoreRemedy(const std::string& state_folder) {
  return "put a backup in its place with kprofd --user --state-dir " + ShellWord(state_folder) + " --restore FILE";
}

}  // namespace kprof
