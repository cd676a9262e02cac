// What no reader keeps and no export lets out: the environment of who was profiled, under whatever name a source has
// it. Of Nsight Systems exports a few variables are kept (kept_environment.h); they do not leave either.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kprof {

// A fact, a member or an argument of that name is left out. Upper and lower case are the same here, and so are words
// together, with - and with _ between them. Of a name that is a path (metadata.env.HOME) each step counts.
bool IsEnvironmentName(std::string_view name);

// The same, and where the last word of such a name is one: worker_env, userEnvironment, my_env_vars. For what holds a
// text, a list or an object: a number is no environment (num_env), nor is what only begins with that word
// (environment_id), or counts them (num_envs).
bool EndsInEnvironmentName(std::string_view name);

// The same where any of its words is one (UNKNOWN_ENV, processEnv): for names of tables and their columns. Those of
// arguments are asked for as a whole: num_envs counts what a robot is trained in.
bool HasEnvironmentWord(std::string_view name);

// False: no member in this list or object has such a name. Costs next to nothing; for what comes by the million.
bool MayNameEnvironment(std::string_view json);

// A list or an object without the members of such names, at whatever depth, also in texts that hold JSON, or a dict as
// Python prints it. All else stays byte by byte.
std::string WithoutEnvironment(std::string_view json);

// The same of a text, as it stands between its quotes: a configuration kept as JSON in a string. Nothing where it has
// no such member, which costs next to nothing to tell of what is no JSON.
std::optional<std::string> TextWithoutEnvironment(std::string_view quoted);

}  // namespace kprof
