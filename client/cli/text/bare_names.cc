#include "client/cli/text/bare_names.h"

#include <algorithm>
#include <cstddef>

namespace kprof::cli {
namespace {

constexpr std::string_view kUnnamed = "(anonymous namespace)::";

// Where the parameters begin: at the bracket that belongs to the last one. npos: it does not end with parameters.
size_t BeginOfParameters(std::string_view name) {
  if (!name.ends_with(')')) return name.npos;
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i > 0 && name[i - 1] != ' ' ? i : name.npos;
  }
  return name.npos;
}

// Where the last word begins that is not within the arguments of a template: behind blanks and namespaces.
size_t BeginOfWord(std::string_view name) {
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    if (depth > 0) continue;
    if (name[i] == ' ' || (name[i] == ':' && i > 0 && name[i - 1] == ':')) begin = i + 1;
  }
  return begin < name.size() ? begin : 0;
}

// A name without the tags that Numba puts behind it: "copy[v1,cw51cX]" is copy.
std::string_view WithoutTags(std::string_view name) {
  for (const std::string_view tags : {"[v1,", "[abi:"}) {
    const size_t at = name.find(tags);
    if (at != name.npos && at > 0 && name.ends_with(']')) return name.substr(0, at);
  }
  return name;
}

}  // namespace

std::string WithoutSignature(std::string_view name) {
  std::string text(name);
  for (size_t at = text.find(kUnnamed); at != text.npos; at = text.find(kUnnamed)) text.erase(at, kUnnamed.size());
  const size_t parameters = BeginOfParameters(text);
  if (parameters == text.npos) return std::string(name);
  text.erase(parameters);
  text = WithoutTags(text);
  return text.substr(BeginOfWord(text));
}

std::string BareName(std::string_view name) {
  const std::string text = WithoutSignature(name);
  const size_t arguments = text.find('<');
  return arguments == 0 || arguments == text.npos ? text : text.substr(0, arguments);
}

}  // namespace kprof::cli
