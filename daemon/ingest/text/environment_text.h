// Removes environments of profiled processes from lists, objects and texts. private_names.h knows the names.
//
// A member with such a name is removed if it holds settings: a text with a setting (NAME=value), a list or an object
// with texts. A number stays, and so does a word: "env": "CartPole-v1" is where something is trained. Under a name of
// variables (environ, env_vars) every text is removed. The value of a pair {"name": "env", "value": ...} is treated
// like a member. A list with several settings whose names are in upper case loses them. A text that sets variables
// (printed_text.h) becomes empty, wherever it stands.
//
// Pure; any thread. Takes JSON and Python's text (single quotes, tuples), cut off or not. Costs about as much as
// reading it once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/ingest/text/private_names.h"

namespace kprof {

// The variables that are kept. kListed: those on the list of private_names.h, for imports. kNone: none, for exports.
enum class EnvironmentKept : uint8_t { kListed, kNone };

// A quick check, for lists and objects that come by the million. False: this one has nothing of an environment.
bool MayNameEnvironment(std::string_view json);

// A list or an object without environments, at any depth, also in texts in it that hold lists or objects. All else
// stays byte by byte.
std::string WithoutEnvironment(std::string_view json, EnvironmentKept kept = EnvironmentKept::kListed);

// The same for a text, as it stands between its quotes: a configuration kept as JSON in a string, or the output of a
// program (env={...}, environ({...})). Nothing: the text stays as it is. Costs next to nothing for most texts.
std::optional<std::string> QuotedWithoutEnvironment(std::string_view quoted,
                                                    EnvironmentKept kept = EnvironmentKept::kListed);
// The same for a text without escapes.
std::optional<std::string> TextWithoutEnvironment(std::string_view text,
                                                  EnvironmentKept kept = EnvironmentKept::kListed);

// True if a text has a setting, or a list or an object with texts.
bool HoldsSettings(std::string_view text);

// The part of a value (JSON, a string with its quotes) that is kept. `name` is its name: one of an environment, or of a
// variable beside one that tells (EnvironmentName::kNone). Nothing: the whole value is removed.
std::optional<std::string> KeptOfEnvironment(std::string_view name, std::string_view value,
                                             EnvironmentKept kept = EnvironmentKept::kListed);

}  // namespace kprof
