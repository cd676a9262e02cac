// Which part of a command's environment is kept with its run: names that explain a measurement, and never a secret.
// The command itself gets all of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kprof {

// Whether a value is a secret by its look, whatever its variable is called: what issuers mark as theirs (tokens of code
// forges, clouds and model hubs, private keys), what a URL logs in with, and settings that name one ("--token=...").
// Errs on the side of silence: a value that is no secret may be taken for one, and is then not kept.
bool LooksSecret(std::string_view value);

// Whether a name suggests that its value is nobody else's business: TOKEN, PASS, KEY, ... in it, in any case. PWD and
// OLDPWD, the shell's folders, are none.
bool IsSecretName(std::string_view name);

// Allow-listed, and no secret by its name.
bool IsStoredVariable(std::string_view name);

// The variables of "NAME=value" that are stored, by name: IsStoredVariable, without those whose values look secret
// (stored_environment.h). Values over 4 KiB are cut there.
std::vector<std::pair<std::string, std::string>> StoredEnvironment(const std::vector<std::string>& environment);

}  // namespace kprof
