#include "client/cli/text/nearest_name.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace kprof::cli {
namespace {

// Longer words are no slip of a name.
constexpr size_t kLongestTyped = 64;
constexpr size_t kLeastBeginning = 3;

std::string Folded(std::string_view text) {
  std::string folded;
  for (char c : text) {
    folded += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return folded;
}

// Letters to insert, leave out, replace, or swap with their neighbour.
size_t SlipsBetween(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> slips(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) slips[i][0] = i;
  std::iota(slips[0].begin(), slips[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = slips[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      slips[i][j] = std::min({replaced, slips[i - 1][j] + 1, slips[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) slips[i][j] = std::min(slips[i][j], slips[i - 2][j - 2] + 1);
    }
  }
  return slips[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> NearestName(std::string_view typed, const std::vector<std::string>& names) {
  if (typed.empty() || typed.size() > kLongestTyped) return std::nullopt;
  const std::string word = Folded(typed);
  std::optional<std::string> nearest;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::string known = Folded(name);
    const bool begins = word.size() >= kLeastBeginning && (known.starts_with(word) || word.starts_with(known));
    const size_t slips = std::min(SlipsBetween(word, known), begins ? size_t{1} : kLongestTyped);
    if (slips >= fewest) continue;
    fewest = slips;
    nearest = name;
  }
  return nearest;
}

std::string WithSuggestion(std::string_view typed, const std::vector<std::string>& names, const std::string& remedy) {
  const std::optional<std::string> nearest = NearestName(typed, names);
  return nearest ? "did you mean '" + *nearest + "'? " + remedy : remedy;
}

}  // namespace kprof::cli
