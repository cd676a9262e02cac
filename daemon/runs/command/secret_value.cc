#include "daemon/runs/command/secret_value.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace kprof {
namespace {

bool IsLetterOrDigit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool IsWordCharacter(char c) {
  return IsLetterOrDigit(c) || c == '_' || c == '-';
}

// What an issuer begins its tokens with, and how many letters and digits follow at least. Long enough that no name of a
// folder is taken for one.
struct Mark {
  std::string_view begin;
  size_t least;
};
constexpr std::array<Mark, 15> kMarks = {{{"ghp_", 30},
                                          {"gho_", 30},
                                          {"ghu_", 30},
                                          {"ghs_", 30},
                                          {"ghr_", 30},
                                          {"github_pat_", 20},
                                          {"glpat-", 16},
                                          {"hf_", 30},
                                          {"sk-", 20},
                                          {"xoxb-", 8},
                                          {"xoxp-", 8},
                                          {"AKIA", 16},
                                          {"ASIA", 16},
                                          {"AIza", 30},
                                          {"eyJ", 30}}};

constexpr std::string_view kPrivateKey = "-----BEGIN";

// What stands before the '=' of a setting ends with one of these.
constexpr std::array<std::string_view, 11> kSettings = {"token",       "secret",     "password",   "passwd",
                                                        "api_key",     "apikey",     "api-key",    "access_key",
                                                        "private_key", "credential", "credentials"};

bool HasMark(std::string_view value, const Mark& mark) {
  for (size_t at = value.find(mark.begin); at != std::string_view::npos; at = value.find(mark.begin, at + 1)) {
    if (at > 0 && IsWordCharacter(value[at - 1])) continue;
    const std::string_view rest = value.substr(at + mark.begin.size());
    const auto end = std::find_if_not(rest.begin(), rest.end(), IsLetterOrDigit);
    if (static_cast<size_t>(end - rest.begin()) >= mark.least) return true;
  }
  return false;
}

bool NamesASecret(std::string_view value) {
  for (size_t equals = value.find('='); equals != std::string_view::npos; equals = value.find('=', equals + 1)) {
    size_t begin = equals;
    while (begin > 0 && IsWordCharacter(value[begin - 1])) --begin;
    std::string name(value.substr(begin, equals - begin));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool has_value =
        equals + 1 < value.size() && std::isspace(static_cast<unsigned char>(value[equals + 1])) == 0;
    if (has_value && std::any_of(kSettings.begin(), kSettings.end(),
                                 [&](std::string_view setting) { return name.ends_with(setting); })) {
      return true;
    }
  }
  return false;
}

// "scheme://user:password@host": an '@' anywhere after "://", because passwords that should be escaped often are not.
bool HasUrlCredentials(std::string_view value) {
  const size_t url = value.find("://");
  return url != std::string_view::npos && value.find('@', url) != std::string_view::npos;
}

}  // namespace

bool LooksSecret(std::string_view value) {
  return HasUrlCredentials(value) || value.find(kPrivateKey) != std::string_view::npos || NamesASecret(value) ||
         std::any_of(kMarks.begin(), kMarks.end(), [&](const Mark& mark) { return HasMark(value, mark); });
}

}  // namespace kprof
