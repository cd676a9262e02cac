// Chooses the part of a command's environment that is kept with its run: names that explain a measurement, and never a
// secret. The command itself gets all of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof {

// True if a value looks like a secret, whatever its variable is called: tokens and keys that their issuers mark (code
// forges, clouds, model hubs, private keys), a URL with a login, and settings that name one ("--token=..."). In doubt
// it is a secret: then a harmless value is not kept.
bool LooksSecret(std::string_view value);

// True if a name suggests that its value is private: TOKEN, PASS, KEY, ... in it, in any case. PWD and OLDPWD, the
// shell's folders, do not.
bool IsSecretName(std::string_view name);

// True if the name is allow-listed, and not a secret's.
bool IsStoredVariable(std::string_view name);

// The variables of "NAME=value" that are stored, by name: IsStoredVariable, without those whose values look secret
// (LooksSecret). Values over 4 KiB are cut there.
std::vector<std::pair<std::string, std::string>> StoredEnvironment(const std::vector<std::string>& environment);

}  // namespace kprof
