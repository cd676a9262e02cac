// Whether a value is a secret by its look, whatever its variable is called: what issuers mark as theirs (tokens of code
// forges, clouds and model hubs, private keys), what a URL logs in with, and settings that name one ("--token=...").
// Errs on the side of silence: a value that is no secret may be taken for one, and is then not kept.
#pragma once

#include <string_view>

namespace kprof {

bool LooksSecret(std::string_view value);

}  // namespace kprof
