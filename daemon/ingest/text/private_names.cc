#include "daemon/ingest/text/private_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <vector>

namespace kprof {
namespace {

// In lower case, without what stands between words.
constexpr std::array<std::string_view, 35> kNames = {
    // Who.
    "user", "username", "userid", "uid", "login", "loginname", "owner", "startedby", "launchedby", "account", "email",
    // Where.
    "host", "hostname", "hostnames", "nodename", "machine", "machinename", "cwd", "home", "homedir", "homedirectory",
    "workdir", "workingdir", "workingdirectory", "ipaddress",
    // What.
    "argv", "args", "arguments", "cmd", "cmdline", "command", "commandline", "commandlinearguments", "launchcommand",
    "programarguments"};
constexpr size_t kLongestPersonalName = 64;

}  // namespace

bool IsPersonalName(std::string_view name) {
  if (name.size() > kLongestPersonalName) return false;
  std::string letters;
  for (const char c : name) {
    if (c != '_' && c != '-' && c != ' ') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::find(kNames.begin(), kNames.end(), letters) != kNames.end();
}

namespace {

constexpr std::array<std::string_view, 4> kWords = {"env", "envs", "environment", "environments"};
// Each of them alone, or of two words.
constexpr std::array<std::string_view, 10> kVariablesWords = {"environ",
                                                              "envp",
                                                              "envvar",
                                                              "envvars",
                                                              "envvariable",
                                                              "envvariables",
                                                              "environvar",
                                                              "environvars",
                                                              "environmentvariable",
                                                              "environmentvariables"};
// What the name of an event may have before one of these, and be one as a whole.
constexpr std::array<std::string_view, 5> kWhose = {"process", "proc", "os", "system", "host"};
// What processes have of a login, and how loaders and interpreters are told where things are.
constexpr std::array<std::string_view, 19> kTelling = {
    "CONDA_PREFIX",   "HOME",      "HOSTNAME",   "LD_LIBRARY_PATH", "LD_PRELOAD",     "LOGNAME",       "OLDPWD",
    "PATH",           "PWD",       "PYTHONHOME", "PYTHONPATH",      "SHELL",          "SSH_AUTH_SOCK", "SSH_CLIENT",
    "SSH_CONNECTION", "SUDO_USER", "USER",       "VIRTUAL_ENV",     "XDG_RUNTIME_DIR"};
// How names of secrets end. NUM_TOKEN and MAX_NEW_TOKEN are none.
constexpr std::array<std::string_view, 17> kSecret = {
    "ACCESS_KEY", "ACCESS_KEY_ID", "ACCESS_TOKEN", "API_KEY",      "API_TOKEN",    "AUTH_TOKEN",
    "BOT_TOKEN",  "CREDENTIALS",   "GH_TOKEN",     "GITHUB_TOKEN", "HF_TOKEN",     "HUB_TOKEN",
    "PASSWORD",   "PRIVATE_KEY",   "SECRET",       "SECRET_KEY",   "SESSION_TOKEN"};
constexpr size_t kLongestVariableName = 256;

char Lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}

bool IsUpper(char c) {
  return c >= 'A' && c <= 'Z';
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsStep(char c) {
  return c == '.' || c == ':' || c == '/';
}

template <typename List>
bool IsIn(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool IsWord(std::string_view word) {
  return IsIn(kWords, word) || IsIn(kVariablesWords, word);
}

struct Word {
  std::string letters;  // in lower case
  size_t begin = 0;
  size_t end = 0;
};

// A capital begins one, of several the last before a small letter.
std::vector<Word> WordsOf(std::string_view name) {
  std::vector<Word> words;
  char before = '\0';
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (IsLower(c) || IsUpper(c) || IsDigit(c)) {
      const bool ends_capitals = i + 1 < name.size() && IsLower(name[i + 1]);
      const bool is_begin = (!IsLower(before) && !IsUpper(before) && !IsDigit(before)) ||
                            (IsUpper(c) && (!IsUpper(before) || ends_capitals)) || IsDigit(c) != IsDigit(before);
      if (is_begin) words.push_back({"", i, i});
      words.back().letters += Lower(c);
      words.back().end = i + 1;
    }
    before = c;
  }
  return words;
}

bool IsVariables(const std::vector<Word>& words, size_t i) {
  return IsIn(kVariablesWords, words[i].letters) ||
         (i + 1 < words.size() && IsIn(kVariablesWords, words[i].letters + words[i + 1].letters));
}

// Of the steps of a name, the last one. What is no letter may stand between its words.
std::string_view LastStep(std::string_view name) {
  for (size_t at = name.size(); at-- > 0;) {
    if (IsStep(name[at])) return name.substr(at + 1);
  }
  return name;
}

std::string LettersOf(std::string_view step) {
  std::string letters;
  for (const char c : step) {
    if (c != '_' && c != '-' && c != ' ') letters += Lower(c);
  }
  return letters;
}

bool IsWhole(std::string_view letters) {
  return IsWord(letters) || std::any_of(kWhose.begin(), kWhose.end(), [&](std::string_view whose) {
           return letters.starts_with(whose) && IsWord(letters.substr(whose.size()));
         });
}

bool IsPlain(char c) {
  return IsLower(c) || IsUpper(c) || IsDigit(c) || c == '_' || c == '-' || c == ' ' || c == '.' || c == ':';
}

}  // namespace

bool MayHaveEnvironmentWord(std::string_view text) {
  for (const char last : {'v', 'V'}) {
    for (size_t at = text.find(last); at != text.npos; at = text.find(last, at + 1)) {
      if (at >= 2 && (text[at - 1] | 0x20) == 'n' && (text[at - 2] | 0x20) == 'e') return true;
    }
  }
  return false;
}

bool IsVariableName(std::string_view name) {
  const auto is_of_one = [](char c) { return IsUpper(c) || IsDigit(c) || c == '_'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_of_one) &&
         std::any_of(name.begin(), name.end(), IsUpper) && !IsDigit(name[0]);
}

bool TellsOfEnvironment(std::string_view name) {
  return name.size() > 2 && name.size() <= kLongestVariableName && IsVariableName(name) &&
         (IsIn(kTelling, name) ||
          std::any_of(kSecret.begin(), kSecret.end(), [&](std::string_view end) { return name.ends_with(end); }));
}

std::string_view VariableOf(std::string_view name) {
  if (name.size() > kLongestVariableName || !MayHaveEnvironmentWord(name)) return {};
  // Behind a step that is one as a whole.
  for (size_t begin = 0; begin < name.size();) {
    const auto step = std::find_if(name.begin() + static_cast<ptrdiff_t>(begin), name.end(), IsStep);
    const auto end = static_cast<size_t>(step - name.begin());
    if (end + 1 < name.size() && IsWhole(LettersOf(name.substr(begin, end - begin)))) return name.substr(end + 1);
    begin = end + 1;
  }
  const std::string_view last = LastStep(name);
  const std::vector<Word> words = WordsOf(last);
  for (const Word& word : words) {
    if (word.end >= last.size() || last[word.end] != '_' || !IsWord(word.letters)) continue;
    const bool is_small = std::any_of(last.begin() + static_cast<ptrdiff_t>(word.begin),
                                      last.begin() + static_cast<ptrdiff_t>(word.end), IsLower);
    // CONDA_ENV_PATH may be a variable itself, of which nobody says so; NUM_ENVS_MAX is a setting of a program.
    const bool begins = word.begin == 0 && !word.letters.ends_with('s') && !IsVariables(words, 0);
    if ((is_small || begins) && IsVariableName(last.substr(word.end + 1))) return last.substr(word.end + 1);
  }
  return {};
}

EnvironmentName EnvironmentNameOf(std::string_view name) {
  if (!VariableOf(name).empty()) return EnvironmentName::kVariable;
  if (TellsOfEnvironment(name)) return EnvironmentName::kVariables;
  if (name.size() > kLongestVariableName || !MayHaveEnvironmentWord(name)) return EnvironmentName::kNone;
  const std::vector<Word> words = WordsOf(name);
  bool has_word = IsWord(LettersOf(LastStep(name)));  // as EnViron
  for (size_t i = 0; i < words.size(); ++i) {
    if (IsVariables(words, i)) return EnvironmentName::kVariables;
    has_word |= IsWord(words[i].letters);
  }
  return has_word ? EnvironmentName::kWord : EnvironmentName::kNone;
}

EnvironmentEvent EnvironmentEventOf(std::string_view name) {
  if (name.size() > kLongestVariableName || !MayHaveEnvironmentWord(name) ||
      !std::all_of(name.begin(), name.end(), IsPlain)) {
    return EnvironmentEvent::kNone;
  }
  if (IsWhole(LettersOf(LastStep(name)))) return EnvironmentEvent::kWhole;
  const std::vector<Word> words = WordsOf(name);
  const auto is_one = [](const Word& word) { return IsWord(word.letters); };
  if (words.empty() || std::none_of(words.begin(), words.end(), is_one)) return EnvironmentEvent::kNone;
  // Several (num_envs) are counted, not held.
  const bool is_last = IsWord(words.back().letters) && !words.back().letters.ends_with('s');
  const bool is_last_two =
      words.size() > 1 && IsIn(kVariablesWords, words[words.size() - 2].letters + words.back().letters);
  return is_last || is_last_two ? EnvironmentEvent::kLast : EnvironmentEvent::kWord;
}

}  // namespace kprof
