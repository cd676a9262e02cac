// Takes out of lists, objects and texts what an environment says in them. Which names are of one is
// private_names.h's.
//
// A member of such a name goes where it holds settings: a text that has one (NAME=value), a list or an object with
// texts in it. A number stays, and so does a word: "env": "CartPole-v1" is where something is trained. Where it names
// variables (environ, env_vars) each text goes. So does the value of a pair {"name": "env", "value": ...}, and of any
// list the members that are settings with names in upper case, where it has several. A text that sets variables
// (printed_text.h) goes as a whole, wherever it stands: it is empty then.
//
// Pure; any thread. Takes JSON, what Python prints (single quotes, tuples), and what is cut off; costs about as much as
// reading it once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/text/private_names.h"

namespace kprof {

// Of variables those on the list of private_names.h: an import has them, an export has none.
enum class EnvironmentKept : uint8_t { kListed, kNone };

// False: nothing in this list or object is of one. Costs next to nothing; for what comes by the million.
bool MayNameEnvironment(std::string_view json);

// A list or an object without it, at whatever depth, also in texts in it that hold more. All else stays byte by byte.
std::string WithoutEnvironment(std::string_view json, EnvironmentKept kept = EnvironmentKept::kListed);

// The same of a text, as it stands between its quotes: a configuration kept as JSON in a string, or what a program
// printed (env={...}, environ({...})). Nothing where nothing goes, which costs next to nothing to tell of most texts.
std::optional<std::string> QuotedWithoutEnvironment(std::string_view quoted,
                                                    EnvironmentKept kept = EnvironmentKept::kListed);
// The same of a text without escapes.
std::optional<std::string> TextWithoutEnvironment(std::string_view text,
                                                  EnvironmentKept kept = EnvironmentKept::kListed);

// Whether a text has a setting, or a list or an object with texts.
bool HoldsSettings(std::string_view text);

// What is kept of the value (JSON, a string with its quotes) that stands under a name of an environment, or (kNone)
// under that of a variable beside one that tells. Nothing where it goes as a whole.
std::optional<std::string> KeptOfEnvironment(std::string_view name, std::string_view value,
                                             EnvironmentKept kept = EnvironmentKept::kListed);

}  // namespace kprof
