// By which names what a source says is of an environment: that of who was profiled, which no reader keeps and no export
// lets out. What of a value goes is environment_text.h's; of each import a few variables are kept (kept_environment.h),
// which do not leave either.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace kprof {

// For what comes often: false where no word of a text can be one.
bool MayHaveEnvironmentWord(std::string_view text);

enum class EnvironmentName : uint8_t {
  kNone,
  kWord,       // one of its words says so (env, rank_env_map, EnvironmentBlock, env_id): what it holds decides
  kVariables,  // it names variables: environ, env_vars, envp; or is one that any environment has, or a secret: HOME
  kVariable,   // or one of them: env_HOME, metadata.env.AWS_SECRET_ACCESS_KEY
};

// Words end at what is no letter, and where a capital or a number begins; upper and lower case are the same, but in
// env_HOME and ENV_HOME, whose variable is in upper case; ENV (or ENVIRONMENT) in upper case begins the name then.
EnvironmentName EnvironmentNameOf(std::string_view name);

// Any but kNone: of tables and their columns, nobody asks what they hold.
inline bool HasEnvironmentWord(std::string_view name) {
  return EnvironmentNameOf(name) != EnvironmentName::kNone;
}

// Of a name that is kVariable: HOME. Empty of others.
std::string_view VariableOf(std::string_view name);
// HOME, not home: of those a number is one's value, too.
bool IsVariableName(std::string_view name);

// HOME, HF_TOKEN: where a text or an object has one of these, what it says of other variables is of an environment,
// too.
bool TellsOfEnvironment(std::string_view name);

// Of events, whose arguments may be variables.
enum class EnvironmentEvent : uint8_t {
  kNone,
  kWord,  // one of its words says so, as env_step: what its arguments are decides
  kLast,  // the last one: worker_env
  kWhole  // environment, os.environ, process_env
};
// Names of functions and of files are none, whatever they call theirs.
EnvironmentEvent EnvironmentEventOf(std::string_view name);

}  // namespace kprof
