#include "client/cli/verbs/verb_completion.h"

#include <string_view>
#include <vector>

#include "client/cli/grammar/command_line.h"
#include "client/cli/verbs/verbs.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {

Status RunVerb(const CompletionArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::string script, CompletionScript(args.shell, DescribeCommandLine()));
  context.output.Write(script);
  return OkStatus();
}

namespace {

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
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at='' i found=''\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    [[ ${COMP_WORDS[i]} == -- ]] && return\n"
      "    case \"$at:${COMP_WORDS[i]}\" in\n" +
      Steps(places, "      ") +
      "    esac\n"
      "  done\n"
      "  case \"$at\" in\n";
  for (const Place& place : places) {
    std::string words;
    std::string valued;
    for (const CommandDescription& below : place.command->commands) words += below.name + " ";
    for (const OptionDescription& option : place.options) {
      for (const std::string& spelling : option.spellings) {
        words += spelling + " ";
        if (option.takes_value) valued += (valued.empty() ? "" : "|") + spelling;
      }
    }
    script += "    " + SingleQuoted(place.path) + ")\n";
    if (!valued.empty()) script += "      case \"$prev\" in " + valued + ") return ;; esac\n";
    script += "      found=" + SingleQuoted(words) + " ;;\n";
  }
  script +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$found\" -- \"$cur\"))\n"
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

std::string ZshScript(const CommandDescription& program) {
  const std::vector<Place> places = PlacesOf(program);
  std::string script =
      "#compdef kprofctl\n"
      "# Completion of kprofctl for zsh:  source <(kprofctl completion zsh), or a file _kprofctl in $fpath\n"
      "_kprofctl() {\n"
      "  local at='' word\n"
      "  local -a verbs options valued\n"
      "  for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
      "    if [[ $word == -- ]]; then _files; return; fi\n"
      "    case \"$at:$word\" in\n" +
      Steps(places, "      ") +
      "    esac\n"
      "  done\n"
      "  case \"$at\" in\n";
  for (const Place& place : places) {
    script += "    " + SingleQuoted(place.path) + ")\n      verbs=(";
    for (const CommandDescription& below : place.command->commands) script += ZshEntry(below.name, below.help) + " ";
    script += ")\n      options=(";
    std::string valued;
    for (const OptionDescription& option : place.options) {
      for (const std::string& spelling : option.spellings) {
        script += ZshEntry(spelling, option.help) + " ";
        if (option.takes_value) valued += spelling + " ";
      }
    }
    script += ")\n      valued=(" + valued + ") ;;\n";
  }
  script +=
      "  esac\n"
      "  if (( ${valued[(Ie)${words[CURRENT-1]}]} )); then _files; return; fi\n"
      "  if [[ ${words[CURRENT]} == -* ]]; then _describe -o option options; return; fi\n"
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
      script += (option.takes_value ? " -r -d " : " -d ") + SingleQuoted(option.help) + "\n";
    }
  }
  return script;
}

}  // namespace

Result<std::string> CompletionScript(const std::string& shell, const CommandDescription& program) {
  if (shell == "bash") return BashScript(program);
  if (shell == "zsh") return ZshScript(program);
  if (shell == "fish") return FishScript(program);
  return Fail(ErrorCode::kUsage, "complete for " + shell, "it is none of bash, zsh and fish");
}

}  // namespace kprof::cli
