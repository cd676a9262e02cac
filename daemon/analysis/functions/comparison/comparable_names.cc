#include "daemon/analysis/functions/comparison/comparable_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace kprof {
namespace {

constexpr size_t kMostMangled = 2048;
// References to earlier parts double a name's length, so a short hostile one could grow beyond all memory.
constexpr int kMostReferences = 24;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsWordPart(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

bool MayGrow(std::string_view mangled) {
  int references = 0;
  for (size_t i = 0; i + 1 < mangled.size(); ++i) {
    const char next = mangled[i + 1];
    const bool is_number = IsDigit(next) || (next >= 'A' && next <= 'Z') || next == '_';
    references += (mangled[i] == 'S' || mangled[i] == 'T') && is_number ? 1 : 0;
  }
  return references > kMostReferences || mangled.size() > kMostMangled;
}

// "at::native::copy" of "_ZN2at6native4copyI...": the nested name alone. Empty where it has none.
std::string NestedName(std::string_view mangled) {
  if (mangled.starts_with("_Z")) mangled.remove_prefix(2);
  if (mangled.starts_with("N")) mangled.remove_prefix(1);
  std::string name;
  while (!mangled.empty() && IsDigit(mangled.front())) {
    size_t length = 0;
    while (!mangled.empty() && IsDigit(mangled.front())) {
      length = std::min<size_t>(length * 10 + static_cast<size_t>(mangled.front() - '0'), kMostMangled);
      mangled.remove_prefix(1);
    }
    if (length == 0 || length > mangled.size()) return "";
    name += (name.empty() ? "" : "::") + std::string(mangled.substr(0, length));
    mangled.remove_prefix(length);
  }
  return name;
}

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Without the list of parameters at its end: what stands outside all other brackets.
void DropParameters(std::string& name) {
  if (name.empty() || name.back() != ')') {
    // "f(int) const", "f(...) [clone .kd]"
    const size_t end = name.rfind(')');
    if (end == std::string::npos || name.find_first_of(">}]", end) != std::string::npos) return;
    name.resize(end + 1);
  }
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) {
      if (i > 0) name.resize(i);
      return;
    }
  }
}

// "void" or another return type before the name: what stands before a space outside of brackets.
void DropReturnType(std::string& name) {
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') {
      // Brackets behind a name are part of it.
      ++depth;
    } else if (c == '>' || c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ' ' && depth == 0) {
      begin = i + 1;
    }
  }
  name.erase(0, begin);
}

// "(int)128" is "128", "(bool)1" is "true", "4ul" is "4".
void DropCasts(std::string& name) {
  ReplaceAll(name, "(bool)1", "true");
  ReplaceAll(name, "(bool)0", "false");
  for (const std::string_view cast : {"(unsigned long)", "(unsigned int)", "(long)", "(int)"}) {
    for (size_t at = name.find(cast); at != std::string::npos; at = name.find(cast, at + 1)) {
      const size_t next = at + cast.size();
      if (next < name.size() && (IsDigit(name[next]) || name[next] == '-')) name.erase(at, cast.size());
    }
  }
  std::string without;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool begins_number = IsDigit(name[i]) && (i == 0 || !IsWordPart(name[i - 1]));
    if (!begins_number) {
      without += name[i];
      continue;
    }
    while (i < name.size() && IsDigit(name[i])) without += name[i++];
    while (i < name.size() && (name[i] == 'u' || name[i] == 'l' || name[i] == 'U' || name[i] == 'L')) ++i;
    --i;
  }
  name = std::move(without);
}

// "[lambda(float) (instance 1)]" is "{lambda(float)#1}".
void SpellLambdas(std::string& name) {
  ReplaceAll(name, "operator ()", "operator()");
  for (size_t at = name.find("[lambda("); at != std::string::npos; at = name.find("[lambda(", at + 1)) {
    const size_t number = name.find(" (instance ", at);
    const size_t end = number == std::string::npos ? number : name.find(")]", number);
    if (end == std::string::npos) return;
    constexpr size_t kInstanceLetters = 11;
    const std::string digits = name.substr(number + kInstanceLetters, end - number - kInstanceLetters);
    name.replace(number, end + 2 - number, "#" + digits + "}");
    name[at] = '{';
  }
}

// "triton_poi_fused_add_3" is "triton_poi_fused_add".
void DropTritonNumber(std::string& name) {
  if (!name.starts_with("triton_")) return;
  const size_t last = name.find_last_not_of("0123456789");
  if (last != std::string::npos && last + 1 < name.size() && name[last] == '_') name.resize(last);
}

constexpr std::string_view kElementwise[] = {
    "elementwise_kernel",          "elementwise_kernel_manual_unroll", "vectorized_elementwise_kernel",
    "unrolled_elementwise_kernel", "legacy_elementwise_kernel",        "elementwise_kernel_with_index"};

// The words of template arguments that say what an elementwise kernel applies.
std::string AppliedFunction(std::string_view plain) {
  std::string last;
  for (size_t i = 0; i < plain.size();) {
    if (!IsWordPart(plain[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < plain.size() && IsWordPart(plain[end])) ++end;
    const std::string_view word = plain.substr(i, end - i);
    i = end;
    const bool is_wrapper = word == "AUnaryFunctor" || word == "BUnaryFunctor" || word == "BinaryFunctor" ||
                            word.starts_with("gpu_kernel_impl");
    const bool says = word.find("Functor") != std::string_view::npos || word.ends_with("_kernel_cuda") ||
                      word.ends_with("_kernel_impl") || word.ends_with("_op");
    if (says && !is_wrapper) return std::string(word);
    if (says && last.empty()) last = std::string(word);
  }
  return last;
}

std::string BaseOf(std::string_view plain) {
  const std::string_view before = plain.substr(0, plain.find('<'));
  const size_t colons = before.rfind("::");
  return std::string(colons == std::string_view::npos ? before : before.substr(colons + 2));
}

}  // namespace

std::string DemangledName(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  if (MayGrow(name)) {
    const std::string nested = NestedName(name);
    return nested.empty() ? std::string(name) : nested;
  }
  int status = 0;
  const std::string text(name.substr(0, name.find('.')));  // "_Z3foo.kd"
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && readable ? std::string(readable.get()) : std::string(name);
}

std::string PlainKernelName(std::string_view name) {
  if (name.starts_with("Mem")) return std::string(name);  // "Memcpy HtoD (Pageable -> Device)": these are no parameters
  std::string plain = DemangledName(name);
  ReplaceAll(plain, "(anonymous namespace)", "{anonymous}");
  ReplaceAll(plain, "<unnamed>", "{anonymous}");
  SpellLambdas(plain);
  DropCasts(plain);
  DropParameters(plain);
  DropReturnType(plain);
  std::erase(plain, ' ');
  DropTritonNumber(plain);
  return plain.empty() ? std::string(name) : plain;
}

std::string KernelFamilyName(std::string_view name) {
  if (name.starts_with("Mem")) return std::string(name.substr(0, name.find(" (")));
  const std::string plain = PlainKernelName(name);
  const size_t arguments = plain.find('<');
  const std::string base = BaseOf(plain);
  if (std::find(std::begin(kElementwise), std::end(kElementwise), base) != std::end(kElementwise)) {
    const std::string applied = AppliedFunction(std::string_view(plain).substr(std::min(arguments, plain.size())));
    return applied.empty() ? "" : "elementwise(" + applied + ")";
  }
  if (arguments == std::string::npos) return "";
  std::string family = plain.substr(0, arguments);
  bool has_word = false;
  for (size_t i = arguments; i < plain.size(); ++i) {
    const bool begins_number = IsDigit(plain[i]) && !IsWordPart(plain[i - 1]);
    if (!begins_number) {
      family += plain[i];
      has_word |= IsWordPart(plain[i]);
      continue;
    }
    while (i + 1 < plain.size() && IsDigit(plain[i + 1])) ++i;
  }
  return has_word ? family : "";
}

std::string HostCallName(std::string_view name) {
  constexpr std::string_view kModule = "nn.Module: ";
  for (const std::string_view mark : {", seq = ", ", op_id = ", ", sizes = "}) name = name.substr(0, name.find(mark));
  if (name.starts_with(kModule)) {
    const size_t last = name.find_last_not_of("0123456789");
    if (last != std::string_view::npos && last + 1 < name.size() && name[last] == '_') name = name.substr(0, last);
  }
  return std::string(name);
}

}  // namespace kprof
