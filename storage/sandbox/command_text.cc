#include "storage/sandbox/command_text.h"

#include "storage/base/shell_text.h"
#include "storage/catalog/string_list.h"

namespace kprof {

std::string CommandText(std::string_view zero_ended_arguments) {
  std::string text;
  for (const std::string& word : Split(zero_ended_arguments)) {
    if (!text.empty()) text += ' ';
    text += ShellWord(word);
  }
  return text;
}

}  // namespace kprof
