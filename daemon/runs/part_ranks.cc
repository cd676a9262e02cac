#include "daemon/runs/part_ranks.h"

#include <cctype>
#include <map>

namespace kprof {
namespace {

constexpr size_t kMostDigits = 7;

bool IsLetter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool IsDigit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// The number at `at`, behind at most one of "-_= ".
std::optional<int64_t> NumberAt(std::string_view text, size_t at) {
  if (at < text.size() && std::string_view("-_= ").find(text[at]) != std::string_view::npos) ++at;
  size_t end = at;
  int64_t number = 0;
  while (end < text.size() && IsDigit(text[end])) {
    if (end - at == kMostDigits) return std::nullopt;
    number = number * 10 + (text[end++] - '0');
  }
  if (end == at) return std::nullopt;
  return number;
}

class FreeRanks {
 public:
  // Nobody has it yet.
  bool Take(int64_t rank, const std::string& name) { return taken_.try_emplace(rank, name).second; }
  const std::string& Whose(int64_t rank) const { return taken_.at(rank); }
  int64_t TakeLowest(const std::string& name) {
    while (!Take(lowest_, name)) ++lowest_;
    return lowest_;
  }

 private:
  std::map<int64_t, std::string> taken_;
  int64_t lowest_ = 0;
};

}  // namespace

std::optional<int64_t> RankInName(std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash != name.npos) {
    const std::optional<int64_t> of_file = RankInName(name.substr(slash + 1));
    const std::string_view folders = name.substr(0, slash);
    return of_file ? of_file : RankInName(folders.substr(folders.rfind('/') + 1));
  }
  const std::string text = Lower(name);
  std::optional<int64_t> found;
  for (size_t at = 0; at < text.size(); ++at) {
    if (at > 0 && (IsLetter(text[at - 1]) || IsDigit(text[at - 1]))) continue;
    for (const std::string_view word : {"rank", "worker", "r"}) {
      if (text.compare(at, word.size(), word) != 0) continue;
      if (std::optional<int64_t> number = NumberAt(text, at + word.size())) found = number;
      break;
    }
  }
  return found;
}

std::vector<PartRank> RanksOf(const std::vector<SourceRank>& sources) {
  std::vector<PartRank> parts(sources.size());
  if (sources.size() == 1) {
    parts[0].rank = sources[0].rank;
    parts[0].part = sources[0].rank ? "rank" + std::to_string(*sources[0].rank) : "trace";
    return parts;
  }
  FreeRanks ranks;
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::optional<int64_t> wanted = sources[i].rank ? sources[i].rank : RankInName(sources[i].name);
    if (!wanted) continue;
    if (ranks.Take(*wanted, sources[i].name)) {
      parts[i].rank = wanted;
    } else {
      parts[i].warning = "it is of rank " + std::to_string(*wanted) + ", as '" + ranks.Whose(*wanted) + "' is";
    }
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    PartRank& part = parts[i];
    if (!part.rank) part.rank = ranks.TakeLowest(sources[i].name);
    if (!part.warning.empty()) part.warning += "; it is taken for rank " + std::to_string(*part.rank);
    part.part = "rank" + std::to_string(*part.rank);
  }
  return parts;
}

}  // namespace kprof
