#include "client/cli/text/short_names.h"

#include <algorithm>

#include "client/cli/text/terminal_text.h"

namespace kprof::cli {
namespace {

constexpr size_t kMostNames = 10'000;
constexpr std::string_view kCut = "...";
// Below this a third of a name says nothing.
constexpr size_t kLeastPiece = 2;

// The first column in which they differ.
size_t FirstDifference(std::string_view a, std::string_view b) {
  size_t column = 0;
  while (true) {
    const std::string_view next_a = ColumnsOf(a, 0, 1);
    const std::string_view next_b = ColumnsOf(b, 0, 1);
    if (next_a.empty() || next_a != next_b) return column;
    a.remove_prefix(next_a.size());
    b.remove_prefix(next_b.size());
    ++column;
  }
}

// The beginning, what is at `place`, and the end; empty where there is no room for three pieces.
std::string ShortenedAround(std::string_view name, size_t place, size_t width) {
  if (width < 2 * kCut.size() + 3 * kLeastPiece) return "";
  const size_t whole = WidthOf(name);
  const size_t piece = (width - 2 * kCut.size()) / 3;
  const size_t middle = width - 2 * kCut.size() - 2 * piece;
  const size_t from = std::min(place, whole - piece - middle);
  if (from <= piece) return "";
  std::string text(ColumnsOf(name, 0, piece));
  text.append(kCut).append(ColumnsOf(name, from, middle)).append(kCut);
  return text.append(ColumnsOf(name, whole - piece, piece));
}

std::string Numbered(std::string_view name, size_t number, size_t width) {
  const std::string mark = ".." + std::to_string(number) + "..";
  const size_t kept = width > mark.size() ? width - mark.size() : 0;
  const size_t tail = kept / 2;
  std::string text(ColumnsOf(name, 0, kept - tail));
  return text.append(mark).append(ColumnsOf(name, WidthOf(name) - tail, tail));
}

}  // namespace

bool ShortNames::Take(const std::string& text, const std::string& name) {
  const auto [at, is_new] = names_.emplace(text, name);
  return is_new || at->second == name;
}

std::string ShortNames::Shorten(const std::string& safe_name) {
  if (width_ == 0 || WidthOf(safe_name) <= width_) return safe_name;
  std::string text = ShortenedInMiddle(safe_name, width_);
  if (names_.size() >= kMostNames) {
    const auto known = names_.find(text);
    if (known == names_.end() || known->second == safe_name) return text;
  }
  if (Take(text, safe_name)) return text;
  std::string around = ShortenedAround(safe_name, FirstDifference(safe_name, names_[text]), width_);
  if (!around.empty() && Take(around, safe_name)) return around;
  for (size_t number = 2; number <= kMostNames; ++number) {
    text = Numbered(safe_name, number, width_);
    if (Take(text, safe_name)) break;
  }
  return text;
}

}  // namespace kprof::cli
