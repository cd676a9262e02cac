#include "client/cli/verbs/verb_completion.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string_view>
#include <vector>

#include "client/cli/grammar/command_line.h"
#include "client/cli/verbs/verbs.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {

namespace {

// Enough to choose from; older ones are typed.
constexpr int32_t kRunsOffered = 50;

// The words of a kind, as the daemon knows them; none where it cannot be asked.
std::vector<std::string> WordsOf(const std::string& kind, KprofClient& client) {
  std::vector<std::string> words;
  if (kind == "runs") {
    v1::ListRunsRequest request;
    request.set_page_size(kRunsOffered);
    const Result<v1::ListRunsResponse> list = client.ListRuns(request);
    if (!list.ok()) return words;
    if (!list->runs().empty()) words.emplace_back("@last");
    for (const v1::Run& run : list->runs()) words.push_back(run.id());
  } else if (kind == "sessions") {
    v1::ListSessionsRequest request;
    request.set_page_size(kRunsOffered);
    const Result<v1::ListSessionsResponse> list = client.ListSessions(request);
    if (!list.ok()) return words;
    if (!list->sessions().empty()) words.emplace_back("@last");
    for (const v1::Session& session : list->sessions()) words.push_back(session.id());
  } else if (kind == "tools") {
    const Result<v1::ListToolsResponse> list = client.ListTools();
    if (!list.ok()) return words;
    for (const v1::Tool& tool : list->tools()) words.push_back(tool.name());
  } else if (kind == "devices") {
    const Result<v1::ListDevicesResponse> list = client.ListDevices();
    if (!list.ok()) return words;
    for (const v1::Device& device : list->devices()) words.push_back(device.id());
  } else if (kind == "analyses") {
    const Result<v1::ListAnalysesResponse> list = client.ListAnalyses();
    if (!list.ok()) return words;
    for (const v1::AnalysisKind& one : list->kinds()) words.push_back(one.name());
  }
  return words;
}

// False for a word that a shell would run or split: it comes from a daemon that may be anybody's.
bool IsPlainWord(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._:@+,-").find(c) != std::string_view::npos;
  });
}

}  // namespace

Status RunVerb(const CompletionArgs& args, const VerbContext& context) {
  if (args.words.empty()) {
    ASSIGN_OR_RETURN(std::string script, CompletionScript(args.shell, DescribeCommandLine()));
    context.output.Write(script);
    return OkStatus();
  }
  // A shell that completes wants no errors between its words.
  const Result<std::unique_ptr<KprofClient>> client = context.connect();
  if (!client.ok()) return OkStatus();
  for (const std::string& word : WordsOf(args.words, **client)) {
    if (IsPlainWord(word)) context.output.Write(word + "\n");
  }
  return OkStatus();
}

namespace {

// The values that an option may have, or the words that may stand at a place.
struct Value {
  std::string_view place;
  std::string_view option;  // empty: of the words that are no options
  std::string_view words;   // of every daemon
  std::string_view asked;   // what a daemon is asked for (--words)
};

constexpr std::string_view kRunStateWords = "queued preparing running collecting done failed cancelled";

constexpr Value kValues[] = {
    {"capture", "", "command", "tools"},
    {"capture", "--device", "all cpu none", "devices"},
    {"capture", "--clocks", "none base lock lock!", ""},
    {"capture", "--session", "", "sessions"},
    {"capture", "--baseline", "@last", "runs"},
    {"import", "--format",
     "auto pftrace perfetto scalene nccl-inspector nkipy neuron-system ncu-rep ncu-csv kineto "
     "chrome nsys-sqlite neuron-json neuron-parquet",
     ""},
    {"session open", "--device", "all cpu", "devices"},
    {"session open", "--clocks", "none base lock lock!", ""},
    {"session close", "", "@last", "sessions"},
    {"session show", "", "@last", "sessions"},
    {"session list", "--state", "queued open closing closed lost", ""},
    {"clocks lock", "--device", "all", "devices"},
    {"clocks release", "--device", "", "devices"},
    {"peaks", "--device", "", "devices"},
    {"peaks record", "", "@last", "runs"},
    {"peaks forget", "--device", "", "devices"},
    {"runs", "--state", kRunStateWords, ""},
    {"runs", "--tool", "command import", "tools"},
    {"show", "", "@last", "runs"},
    {"wait", "", "@last", "runs"},
    {"cancel", "", "@last", "runs"},
    {"delete", "", "@last", "runs"},
    {"pin", "", "@last", "runs"},
    {"unpin", "", "@last", "runs"},
    {"logs", "", "@last", "runs"},
    {"artifacts", "", "@last", "runs"},
    {"export", "", "@last", "runs"},
    {"export", "--format", "chrome perfetto csv", ""},
    {"analyze", "", "@last", "analyses runs"},
    {"analyze", "--format", "table csv json", ""},
    {"compare", "", "@last", "runs"},
    {"compare", "--fail-on", "slower inconclusive", ""},
    {"compare", "--format", "table csv json", ""},
    {"query", "--run", "@last", "runs"},
    {"query", "--format", "table csv json ndjson", ""},
    {"completion", "", "bash zsh fish", ""},
};

// The values at a place: of an option by one of its spellings, or, with none, of other words. Null: not known.
const Value* FindValue(std::string_view place, const std::vector<std::string>& spellings) {
  for (const Value& value : kValues) {
    if (value.place != place) continue;
    if (spellings.empty() && value.option.empty()) return &value;
    if (std::find(spellings.begin(), spellings.end(), value.option) != spellings.end()) return &value;
  }
  return nullptr;
}

// A place on the command line: "" before the verb, "runs", "artifacts get".
struct Place {
  std::string path;
  const CommandDescription* command;
  std::vector<OptionDescription> options;  // the program's own, which may stand anywhere, and the command's
};

bool IsTyped(const OptionDescription& option, std::string_view spelling) {
  for (const std::string& known : option.spellings) {
    if (known == spelling) return true;
  }
  return false;
}

void AddPlaces(const CommandDescription& command, const std::string& path,
               const std::vector<OptionDescription>& inherited, std::vector<Place>& places) {
  Place place{path, &command, command.options};
  for (const OptionDescription& option : inherited) {
    if (!IsTyped(option, "--help") && !IsTyped(option, "--version")) place.options.push_back(option);
  }
  std::vector<OptionDescription> pass_on = path.empty() ? command.options : inherited;
  places.push_back(std::move(place));
  for (const CommandDescription& below : command.commands) {
    AddPlaces(below, path.empty() ? below.name : path + " " + below.name, pass_on, places);
  }
}

std::vector<Place> PlacesOf(const CommandDescription& program) {
  std::vector<Place> places;
  AddPlaces(program, "", {}, places);
  return places;
}

// "status devices ...".
std::string VerbWords(const CommandDescription& program) {
  std::string words;
  for (const CommandDescription& verb : program.commands) words += verb.name + " ";
  return words;
}

// "  <indent>'runs:get') at='runs get' ;;" for each step from a place to one below it.
std::string Steps(const std::vector<Place>& places, const std::string& indent) {
  std::string text;
  for (const Place& place : places) {
    for (const CommandDescription& below : place.command->commands) {
      std::string next = place.path.empty() ? below.name : place.path + " " + below.name;
      text += indent + SingleQuoted(place.path + ":" + below.name) + ") at=" + SingleQuoted(next) + " ;;\n";
    }
  }
  return text;
}

std::string BashScript(const CommandDescription& program) {
  const std::vector<Place> places = PlacesOf(program);
  std::string script =
      "# Completion of kprofctl for bash:  source <(kprofctl completion bash)\n"
      "_kprofctl() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at='' i kind found='' asked=''\n"
      "  local -a daemon=()\n"
      "  COMPREPLY=()\n"
      "  # bash takes the @ of @last for a word of its own\n"
      "  if [[ $prev == @ ]]; then cur=@$cur prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    [[ ${COMP_WORDS[i]} == -- ]] && return\n"
      "    case ${COMP_WORDS[i]} in --socket|--node|--ca|--cert|--key)\n"
      "      # bash takes the = of --socket=PATH for a word of its own\n"
      "      [[ ${COMP_WORDS[i+1]} == = ]] && daemon+=(\"${COMP_WORDS[i]}=${COMP_WORDS[i+2]}\") ||\n"
      "        daemon+=(\"${COMP_WORDS[i]}\" \"${COMP_WORDS[i+1]}\") ;;\n"
      "    esac\n"
      "    case \"$at:${COMP_WORDS[i]}\" in\n" +
      Steps(places, "      ") +
      "    esac\n"
      "  done\n"
      "  case \"$at\" in\n";
  for (const Place& place : places) {
    std::string words;
    std::string values;
    std::string valued;
    for (const CommandDescription& below : place.command->commands) words += below.name + " ";
    for (const OptionDescription& option : place.options) {
      std::string pattern;
      for (const std::string& spelling : option.spellings) {
        words += spelling + " ";
        pattern += (pattern.empty() ? "" : "|") + spelling;
      }
      if (!option.takes_value) continue;
      const Value* value = FindValue(place.path, option.spellings);
      if (value == nullptr) {
        valued += (valued.empty() ? "" : "|") + pattern;
      } else {
        values += "        " + pattern + ") found=" + SingleQuoted(value->words) +
                  " asked=" + SingleQuoted(value->asked) + " ;;\n";
      }
    }
    std::string asked;
    if (const Value* value = FindValue(place.path, {})) {
      words += std::string(value->words) + " ";
      asked = value->asked;
    }
    if (place.path == "help") words += VerbWords(program);
    script += "    " + SingleQuoted(place.path) + ")\n      case \"$prev\" in\n" + values;
    if (!valued.empty()) script += "        " + valued + ") return ;;\n";
    script += "        *) found=" + SingleQuoted(words) + " asked=" + SingleQuoted(asked) + " ;;\n      esac ;;\n";
  }
  script +=
      "  esac\n"
      "  if [[ $cur != -* ]]; then\n"
      "    for kind in $asked; do\n"
      "      found+=\" $(command kprofctl \"${daemon[@]}\" completion --words \"$kind\" 2>/dev/null)\"\n"
      "    done\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$found\" -- \"$cur\" | sort -u))\n"
      "  return 0\n"
      "}\n"
      "complete -o default -F _kprofctl kprofctl\n";
  return script;
}

// "'name:what it does'" for _describe.
std::string ZshEntry(std::string_view name, std::string_view help) {
  std::string text(name);
  text += ':';
  for (char c : help) {
    if (c == ':' || c == '\\') text += '\\';
    text += c;
  }
  return SingleQuoted(text);
}

// "@last :runs": words, and behind a colon what is asked for.
std::string OfferedWords(const Value& value) {
  std::string text(value.words);
  std::string_view asked = value.asked;
  while (!asked.empty()) {
    const size_t end = std::min(asked.find(' '), asked.size());
    text += (text.empty() ? ":" : " :") + std::string(asked.substr(0, end));
    asked.remove_prefix(std::min(end + 1, asked.size()));
  }
  return text;
}

std::string ZshScript(const CommandDescription& program) {
  const std::vector<Place> places = PlacesOf(program);
  std::string script =
      "#compdef kprofctl\n"
      "# Completion of kprofctl for zsh:  source <(kprofctl completion zsh), or a file _kprofctl in $fpath\n"
      "_kprofctl() {\n"
      "  local at='' word kind asked='' last=''\n"
      "  local -a verbs options valued offers daemon\n"
      "  local -A values\n"
      "  for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
      "    if [[ $word == -- ]]; then _files; return; fi\n"
      "    case $last in --socket|--node|--ca|--cert|--key) daemon+=(\"$last\" \"$word\") ;; esac\n"
      "    case $word in (--socket=*|--node=*|--ca=*|--cert=*|--key=*) daemon+=(\"$word\") ;; esac\n"
      "    last=$word\n"
      "    case \"$at:$word\" in\n" +
      Steps(places, "      ") +
      "    esac\n"
      "  done\n"
      "  case \"$at\" in\n";
  for (const Place& place : places) {
    script += "    " + SingleQuoted(place.path) + ")\n      verbs=(";
    for (const CommandDescription& below : place.command->commands) script += ZshEntry(below.name, below.help) + " ";
    if (place.path == "help") {
      for (const CommandDescription& verb : program.commands) script += ZshEntry(verb.name, verb.help) + " ";
    }
    script += ")\n      options=(";
    std::string valued;
    std::string values;
    for (const OptionDescription& option : place.options) {
      const Value* value = option.takes_value ? FindValue(place.path, option.spellings) : nullptr;
      for (const std::string& spelling : option.spellings) {
        script += ZshEntry(spelling, option.help) + " ";
        if (option.takes_value) valued += spelling + " ";
        if (value != nullptr) values += spelling + " " + SingleQuoted(OfferedWords(*value)) + " ";
      }
    }
    const Value* value = FindValue(place.path, {});
    script += ")\n      valued=(" + valued + ")\n      values=(" + values +
              ")\n      asked=" + SingleQuoted(value == nullptr ? "" : OfferedWords(*value)) + " ;;\n";
  }
  script +=
      "  esac\n"
      "  if (( ${valued[(Ie)$last]} )); then asked=${values[$last]}; options=() verbs=()\n"
      "  elif [[ ${words[CURRENT]} == -* ]]; then _describe -o option options; return; fi\n"
      "  for kind in ${=asked}; do\n"
      "    if [[ $kind == :* ]]; then\n"
      "      offers+=(${(f)\"$(command kprofctl \"${daemon[@]}\" completion --words \"${kind#:}\" 2>/dev/null)\"})\n"
      "    else\n"
      "      offers+=(\"$kind\")\n"
      "    fi\n"
      "  done\n"
      "  if (( ${#offers} )); then compadd -a offers && return; fi\n"
      "  if (( ${#verbs} )); then _describe verb verbs && return; fi\n"
      "  _files\n"
      "}\n"
      "if [[ ${funcstack[1]} == _kprofctl ]]; then _kprofctl \"$@\"; else compdef _kprofctl kprofctl; fi\n";
  return script;
}

std::string FishScript(const CommandDescription& program) {
  const std::vector<Place> places = PlacesOf(program);
  std::string script =
      "# Completion of kprofctl for fish:  kprofctl completion fish | source\n"
      "function __kprofctl_at\n"
      "  set -l at ''\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$at:$word\"\n";
  for (const Place& place : places) {
    for (const CommandDescription& below : place.command->commands) {
      std::string next = place.path.empty() ? below.name : place.path + " " + below.name;
      script +=
          "      case " + SingleQuoted(place.path + ":" + below.name) + "\n        set at " + SingleQuoted(next) + "\n";
    }
  }
  script +=
      "      case '*:--'\n"
      "        return 1\n"
      "    end\n"
      "  end\n"
      "  test \"$at\" = \"$argv[1]\"\n"
      "end\n"
      "function __kprofctl_daemon\n"
      "  set -l last ''\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch $last\n"
      "      case --socket --node --ca --cert --key\n"
      "        printf '%s\\n' $last $word\n"
      "    end\n"
      "    switch $word\n"
      "      case '--socket=*' '--node=*' '--ca=*' '--cert=*' '--key=*'\n"
      "        printf '%s\\n' $word\n"
      "    end\n"
      "    set last $word\n"
      "  end\n"
      "end\n"
      "function __kprofctl_words\n"
      "  for kind in $argv\n"
      "    if string match -q ':*' -- $kind\n"
      "      command kprofctl (__kprofctl_daemon) completion --words (string sub -s 2 -- $kind) 2>/dev/null\n"
      "    else\n"
      "      echo $kind\n"
      "    end\n"
      "  end\n"
      "end\n";
  for (const Place& place : places) {
    const std::string condition = "complete -c kprofctl -n " + SingleQuoted("__kprofctl_at \"" + place.path + "\"");
    for (const CommandDescription& below : place.command->commands) {
      script += condition + " -f -a " + below.name + " -d " + SingleQuoted(below.help) + "\n";
    }
    for (const OptionDescription& option : place.options) {
      script += condition;
      for (const std::string& spelling : option.spellings) {
        bool is_long = spelling.starts_with("--");
        script += (is_long ? " -l " : " -s ") + spelling.substr(is_long ? 2 : 1);
      }
      if (const Value* value = option.takes_value ? FindValue(place.path, option.spellings) : nullptr) {
        script += " -x -a " + SingleQuoted("(__kprofctl_words " + OfferedWords(*value) + ")");
      }
      script += (option.takes_value ? " -r -d " : " -d ") + SingleQuoted(option.help) + "\n";
    }
    if (const Value* value = FindValue(place.path, {})) {
      script += condition + " -f -a " + SingleQuoted("(__kprofctl_words " + OfferedWords(*value) + ")") + "\n";
    }
    if (place.path == "help") script += condition + " -f -a " + SingleQuoted(VerbWords(program)) + "\n";
  }
  return script;
}

}  // namespace

std::vector<std::string> CompletedValues() {
  std::vector<std::string> values;
  for (const Value& value : kValues) {
    values.push_back(std::string(value.place) + (value.option.empty() ? "" : " " + std::string(value.option)));
  }
  return values;
}

Result<std::string> CompletionScript(const std::string& shell, const CommandDescription& program) {
  if (shell == "bash") return BashScript(program);
  if (shell == "zsh") return ZshScript(program);
  if (shell == "fish") return FishScript(program);
  return Fail(ErrorCode::kUsage, "complete for " + shell, "it is none of bash, zsh and fish");
}

}  // namespace kprof::cli
