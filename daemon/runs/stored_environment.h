// Which part of a command's environment is kept with its run: names that explain a measurement, and never a secret.
// The command itself gets all of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof {

// Whether a name suggests that its value is nobody else's business: TOKEN, PASS, KEY, ... in it, in any case. PWD and
// OLDPWD, the shell's folders, are none.
bool IsSecretName(std::string_view name);

// Whether a value carries what a URL logs in with (scheme://user:password@host): an '@' anywhere after "://", because
// passwords that should be escaped often are not.
bool HasUrlCredentials(std::string_view value);

// Allow-listed, and no secret by its name.
bool IsStoredVariable(std::string_view name);

// The variables of "NAME=value" that are stored, by name: IsStoredVariable, without those whose values have a URL's
// credentials. Values over 4 KiB are cut there.
std::vector<std::pair<std::string, std::string>> StoredEnvironment(const std::vector<std::string>& environment);

}  // namespace kprof
