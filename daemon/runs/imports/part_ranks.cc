#include "daemon/runs/imports/part_ranks.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace kprof {
namespace {

constexpr size_t kMostDigits = 7;
constexpr size_t kMostDigitsAlone = 5;  // where no word says that it is a rank

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

// The number at `at`, behind at most one of "-_= ". `at` is then behind it.
std::optional<int64_t> TakeNumber(std::string_view text, size_t& at) {
  if (at < text.size() && std::string_view("-_= ").find(text[at]) != std::string_view::npos) ++at;
  size_t end = at;
  int64_t number = 0;
  while (end < text.size() && IsDigit(text[end])) {
    if (end - at == kMostDigits) return std::nullopt;
    number = number * 10 + (text[end++] - '0');
  }
  if (end == at) return std::nullopt;
  at = end;
  return number;
}

std::optional<NamedRank> RankInWords(std::string_view text) {
  std::optional<NamedRank> found;
  for (size_t at = 0; at < text.size(); ++at) {
    if (at > 0 && (IsLetter(text[at - 1]) || IsDigit(text[at - 1]))) continue;
    for (const std::string_view word : {"rank", "worker", "r"}) {
      if (text.compare(at, word.size(), word) != 0) continue;
      const bool is_behind_r = word == "r";
      size_t end = at + word.size();
      const std::optional<int64_t> number = TakeNumber(text, end);
      const bool is_word = end == text.size() || !IsLetter(text[end]);
      if (number && (!is_behind_r || (is_word && (!found || found->is_behind_r)))) found = {*number, is_behind_r};
      break;
    }
  }
  return found;
}

// A name's texts and numbers in turns, a text first.
std::vector<std::string_view> PiecesOf(std::string_view name) {
  std::vector<std::string_view> pieces;
  bool is_number = false;
  while (!name.empty() || pieces.empty()) {
    size_t size = 0;
    while (size < name.size() && IsDigit(name[size]) == is_number) ++size;
    pieces.push_back(name.substr(0, size));
    name.remove_prefix(size);
    is_number = !is_number;
  }
  return pieces;
}

bool IsBehindExec(std::string_view text) {
  constexpr std::string_view kWord = "exec";
  if (text.ends_with('_') || text.ends_with('-')) text.remove_suffix(1);
  if (!Lower(text).ends_with(kWord)) return false;
  return text.size() == kWord.size() || !IsLetter(text[text.size() - kWord.size() - 1]);
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

// Of those that nobody says more of.
void TakeNumbersInNames(const std::vector<SourceRank>& sources, FreeRanks& ranks, std::vector<PartRank>& parts) {
  std::vector<size_t> unknown;
  std::vector<std::string_view> names;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (parts[i].rank) continue;
    unknown.push_back(i);
    names.push_back(sources[i].name);
  }
  const std::vector<std::optional<int64_t>> numbers = RanksInWhichNamesDiffer(names);
  for (size_t i = 0; i < unknown.size(); ++i) {
    if (numbers[i] && ranks.Take(*numbers[i], sources[unknown[i]].name)) parts[unknown[i]].rank = numbers[i];
  }
}

}  // namespace

std::optional<NamedRank> RankInName(std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash == name.npos) return RankInWords(Lower(name));
  const std::optional<NamedRank> of_file = RankInName(name.substr(slash + 1));
  const std::string_view folders = name.substr(0, slash);
  return of_file ? of_file : RankInName(folders.substr(folders.rfind('/') + 1));
}

std::optional<int64_t> ExecutionInName(std::string_view name) {
  const std::vector<std::string_view> pieces = PiecesOf(name.substr(name.rfind('/') + 1));
  for (size_t i = 1; i < pieces.size(); i += 2) {
    size_t at = 0;
    if (IsBehindExec(pieces[i - 1])) return TakeNumber(pieces[i], at);
  }
  return std::nullopt;
}

std::vector<std::optional<int64_t>> RanksInNames(const std::vector<std::string_view>& names) {
  std::vector<std::optional<NamedRank>> named;
  std::set<int64_t> behind_r;
  bool are_different = true;
  for (const std::string_view name : names) {
    const std::optional<NamedRank>& rank = named.emplace_back(RankInName(name));
    if (rank && rank->is_behind_r) are_different &= behind_r.insert(rank->rank).second;
  }
  std::vector<std::optional<int64_t>> ranks;
  for (const std::optional<NamedRank>& rank : named) {
    const bool counts = rank && (are_different || !rank->is_behind_r);
    ranks.push_back(counts ? std::optional(rank->rank) : std::nullopt);
  }
  return ranks;
}

std::vector<std::optional<int64_t>> RanksInWhichNamesDiffer(const std::vector<std::string_view>& names) {
  std::vector<std::optional<int64_t>> ranks(names.size());
  if (names.size() < 2) return ranks;
  std::vector<std::vector<std::string_view>> pieces;
  pieces.reserve(names.size());
  for (const std::string_view name : names) pieces.push_back(PiecesOf(name));
  std::optional<size_t> where;
  for (const std::vector<std::string_view>& other : pieces) {
    if (other.size() != pieces[0].size()) return ranks;
    for (size_t i = 0; i < other.size(); ++i) {
      if (other[i] == pieces[0][i]) continue;
      if (i % 2 == 0 || (where && *where != i)) return ranks;
      where = i;
    }
  }
  if (!where) return ranks;
  if (IsBehindExec(pieces[0][*where - 1])) return ranks;
  std::vector<std::optional<int64_t>> numbers;
  std::set<int64_t> different;
  for (const std::vector<std::string_view>& each : pieces) {
    const std::string_view digits = each[*where];
    if (digits.size() > kMostDigitsAlone) return ranks;
    size_t at = 0;
    numbers.push_back(TakeNumber(digits, at));
    if (!different.insert(*numbers.back()).second) return ranks;
  }
  return numbers;
}

namespace {

// The ranks of sources that each are a rank's own.
std::vector<PartRank> RanksOfTraces(const std::vector<SourceRank>& sources) {
  std::vector<PartRank> parts(sources.size());
  if (sources.size() == 1) {
    parts[0].rank = sources[0].rank;
    parts[0].part = sources[0].rank ? "rank" + std::to_string(*sources[0].rank) : "trace";
    return parts;
  }
  std::vector<std::string_view> names;
  names.reserve(sources.size());
  for (const SourceRank& source : sources) names.push_back(source.name);
  const std::vector<std::optional<int64_t>> in_names = RanksInNames(names);
  FreeRanks ranks;
  std::map<int64_t, int> parts_of;  // of a rank that several say
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::optional<int64_t> wanted = sources[i].rank ? sources[i].rank : in_names[i];
    if (!wanted) continue;
    parts[i].rank = wanted;
    parts[i].part = "rank" + std::to_string(*wanted);
    if (ranks.Take(*wanted, sources[i].name)) continue;
    parts[i].part += "_" + std::to_string(++parts_of.try_emplace(*wanted, 1).first->second);
    parts[i].code = kRankTwice;
    parts[i].warning = "it is of rank " + std::to_string(*wanted) + ", as '" + ranks.Whose(*wanted) +
                       "' is: both are parts of that rank";
  }
  TakeNumbersInNames(sources, ranks, parts);
  size_t in_order = 0;
  PartRank* first_in_order = nullptr;
  for (size_t i = 0; i < sources.size(); ++i) {
    PartRank& part = parts[i];
    if (!part.rank) {
      part.rank = ranks.TakeLowest(sources[i].name);
      ++in_order;
      if (first_in_order == nullptr) first_in_order = &part;
    }
    if (part.part.empty()) part.part = "rank" + std::to_string(*part.rank);
  }
  if (in_order > 0) {
    first_in_order->code = kRankByOrder;
    first_in_order->warning = in_order == 1 ? "neither it nor its name says its rank: it is taken for rank " +
                                                  std::to_string(*first_in_order->rank) + ", the lowest that is left"
                                            : "neither it nor its name says its rank, and so it is with " +
                                                  std::to_string(in_order - 1) +
                                                  " more: they are numbered in the order of the files";
  }
  return parts;
}

}  // namespace

namespace {

// The ranks of sources none of which is a table.
std::vector<PartRank> RanksOfWhole(const std::vector<SourceRank>& sources) {
  std::vector<SourceRank> traces;
  std::vector<std::string_view> joining;
  const bool all_join =
      std::all_of(sources.begin(), sources.end(), [](const SourceRank& source) { return source.joins_trace; });
  const auto is_trace = [all_join](const SourceRank& source) { return all_join ? source.leads : !source.joins_trace; };
  for (const SourceRank& source : sources) {
    if (is_trace(source)) traces.push_back(source);
    if (!is_trace(source)) joining.push_back(source.name);
  }
  if (traces.empty() || joining.empty()) return RanksOfTraces(sources);
  const std::vector<PartRank> of_traces = RanksOfTraces(traces);
  const std::vector<std::optional<int64_t>> in_names = RanksInNames(joining);
  std::set<std::string> taken;
  for (const PartRank& part : of_traces) taken.insert(part.part);
  std::vector<PartRank> parts;
  size_t next_trace = 0;
  size_t next_joining = 0;
  for (const SourceRank& source : sources) {
    if (is_trace(source)) {
      parts.push_back(of_traces[next_trace++]);
      continue;
    }
    PartRank& part = parts.emplace_back();
    part.rank = source.rank ? source.rank : in_names[next_joining];
    ++next_joining;
    const bool has_no_other = traces.size() == 1 && (!part.rank || !of_traces[0].rank);
    if (!part.rank && !has_no_other) {
      part.code = kRankByOrder;
      part.warning = "neither it nor its name says its rank: it is taken for that of '" + traces[0].name + "'";
    }
    if (!part.rank || has_no_other) part.rank = of_traces[0].rank;
    const std::string name = part.rank ? "rank" + std::to_string(*part.rank) : "trace";
    part.part = name;
    for (int i = 2; !taken.insert(part.part).second; ++i) part.part = name + "_" + std::to_string(i);
  }
  return parts;
}

}  // namespace

std::vector<PartRank> RanksOf(const std::vector<SourceRank>& sources) {
  std::vector<SourceRank> others;
  std::vector<std::string_view> tables;
  std::vector<std::string_view> profiles;
  const auto is_beside = [](const SourceRank& source) { return source.is_table || source.is_profile; };
  for (const SourceRank& source : sources) {
    if (!is_beside(source)) others.push_back(source);
    if (is_beside(source)) tables.push_back(source.name);
    if (source.is_profile) profiles.push_back(source.name);
  }
  if (tables.empty()) return RanksOfWhole(sources);
  const std::vector<PartRank> of_others = others.empty() ? std::vector<PartRank>() : RanksOfWhole(others);
  const std::vector<std::optional<int64_t>> in_names = RanksInNames(tables);
  const std::vector<std::optional<int64_t>> of_profiles = RanksInWhichNamesDiffer(profiles);
  std::set<std::string> taken;
  for (const PartRank& part : of_others) taken.insert(part.part);
  std::vector<PartRank> parts;
  size_t next_other = 0;
  size_t next_table = 0;
  size_t next_profile = 0;
  for (const SourceRank& source : sources) {
    if (!is_beside(source)) {
      parts.push_back(of_others[next_other++]);
      continue;
    }
    PartRank& part = parts.emplace_back();
    part.rank = source.rank ? source.rank : in_names[next_table];
    ++next_table;
    std::optional<int64_t> execution;
    if (source.is_profile) {
      if (!part.rank) part.rank = of_profiles[next_profile];
      ++next_profile;
      execution = ExecutionInName(source.name);
    }
    std::string name = part.rank ? "rank" + std::to_string(*part.rank) : "trace";
    if (execution) name = (part.rank ? name + "_" : "") + "exec" + std::to_string(*execution);
    part.part = name;
    for (int i = 2; !taken.insert(part.part).second; ++i) part.part = name + "_" + std::to_string(i);
  }
  return parts;
}

}  // namespace kprof
