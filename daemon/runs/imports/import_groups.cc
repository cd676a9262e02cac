#include "daemon/runs/imports/import_groups.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/runs/imports/part_ranks.h"

namespace kprof {
namespace {

constexpr int64_t kUnknownGapNs = std::numeric_limits<int64_t>::max();

// A text with each number in it as one #: names that differ in numbers alone are equal then.
std::string PatternOf(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
      pattern += c;
    } else if (pattern.empty() || pattern.back() != '#') {
      pattern += '#';
    }
  }
  return pattern;
}

// The facts in the path of a source.
struct NamedPlace {
  std::string folder;   // of its job: without the folder of its rank
  std::string pattern;  // of the part of the name that has the rank
  std::optional<int64_t> rank;
};

NamedPlace PlaceOf(const std::string& name, std::optional<int64_t> rank) {
  const size_t slash = name.rfind('/');
  NamedPlace place{.folder = slash == name.npos ? "" : name.substr(0, slash), .pattern = {}, .rank = rank};
  const std::string file = name.substr(slash + 1);
  const size_t before = place.folder.rfind('/');
  const std::string last = place.folder.substr(before + 1);
  if (RankInName(last)) {
    if (!RankInName(file)) place.pattern = PatternOf(last);
    place.folder = before == place.folder.npos ? "" : place.folder.substr(0, before);
  }
  if (place.pattern.empty()) place.pattern = PatternOf(file);
  return place;
}

// The times at which sources begin, from the first to the last.
class TimeSpan {
 public:
  void Add(const SourceFacts& facts) {
    if (facts.start_unix_ns) unix_.Add(*facts.start_unix_ns, *facts.start_unix_ns);
    if (facts.start_unix_ns) of_quarter_.Add(*facts.start_unix_ns % kQuarterNs, *facts.start_unix_ns % kQuarterNs);
    if (facts.start_of_quarter_ns) of_quarter_.Add(*facts.start_of_quarter_ns, *facts.start_of_quarter_ns);
  }
  void Add(const TimeSpan& other) {
    if (other.unix_.is_known) unix_.Add(other.unix_.first_ns, other.unix_.last_ns);
    if (other.of_quarter_.is_known) of_quarter_.Add(other.of_quarter_.first_ns, other.of_quarter_.last_ns);
  }
  // 0 where they overlap; kUnknownGapNs where one of them is not known.
  int64_t GapTo(const TimeSpan& other) const {
    if (unix_.is_known && other.unix_.is_known) return unix_.GapTo(other.unix_);
    if (of_quarter_.is_known && other.of_quarter_.is_known) return of_quarter_.GapTo(other.of_quarter_);
    return kUnknownGapNs;
  }
  bool IsNear(const TimeSpan& other) const {
    const int64_t gap_ns = GapTo(other);
    return gap_ns == kUnknownGapNs || gap_ns <= kNearNs;
  }

 private:
  struct Range {
    bool is_known = false;
    int64_t first_ns = 0;
    int64_t last_ns = 0;

    void Add(int64_t first, int64_t last) {
      first_ns = is_known ? std::min(first_ns, first) : first;
      last_ns = is_known ? std::max(last_ns, last) : last;
      is_known = true;
    }
    int64_t GapTo(const Range& other) const {
      return std::max<int64_t>({0, first_ns - other.last_ns, other.first_ns - last_ns});
    }
  };
  Range unix_;
  Range of_quarter_;
};

TimeSpan SpanOf(const SourceFacts& facts) {
  TimeSpan span;
  span.Add(facts);
  return span;
}

// The sources of one run, as far as they are known.
class JobCluster {
 public:
  JobCluster(size_t source, const GroupedSource& of, std::optional<int64_t> rank) : sources_{source} {
    const SourceFacts& facts = of.facts;
    job_ = facts.job;
    backend_ = facts.backend;
    library_ = facts.library;
    world_size_ = facts.world_size;
    if (rank) ranks_.insert(*rank);
    for (const SourceFacts::Group& group : facts.groups) groups_[group.name].push_back(&group);
    span_.Add(facts);
  }

  bool MayBeOfOneJob(const JobCluster& other) const {
    return MayBeSame(job_, other.job_) && MayBeSame(backend_, other.backend_) && MayBeSame(library_, other.library_) &&
           (!world_size_ || !other.world_size_ || world_size_ == other.world_size_) && RanksFit(other) &&
           (IsKnownToShare(other) || span_.IsNear(other.span_)) && GroupsFit(other);
  }
  bool HasRoomFor(int64_t rank, const TimeSpan& at) const {
    const bool is_free = !ranks_.empty() && ranks_.count(rank) == 0;
    return is_free && (!world_size_ || rank < *world_size_) && span_.IsNear(at);
  }
  // The trace of that rank, or the only one: of which nobody knows the rank, or which is asked for without one.
  bool HasTraceOf(std::optional<int64_t> rank, const TimeSpan& at) const {
    const bool is_only = traces_ == 1 && (!rank || ranks_.empty());
    return (is_only || (rank && ranks_.count(*rank) > 0)) && span_.IsNear(at);
  }
  int64_t GapTo(const TimeSpan& at) const { return span_.GapTo(at); }

  void Merge(JobCluster&& other) {
    sources_.insert(sources_.end(), other.sources_.begin(), other.sources_.end());
    traces_ += other.traces_;
    if (job_.empty()) job_ = other.job_;
    if (backend_.empty()) backend_ = other.backend_;
    if (library_.empty()) library_ = other.library_;
    if (!world_size_) world_size_ = other.world_size_;
    ranks_.merge(other.ranks_);
    for (auto& [name, groups] : other.groups_) {
      std::vector<const SourceFacts::Group*>& ours = groups_[name];
      for (const SourceFacts::Group* group : groups) {
        const bool is_known = std::any_of(ours.begin(), ours.end(), [&](const auto* of) { return *of == *group; });
        if (!is_known) ours.push_back(group);
      }
    }
    span_.Add(other.span_);
  }
  void Take(size_t source, int64_t rank) {
    sources_.push_back(source);
    ++traces_;
    ranks_.insert(rank);
  }
  void TakeBesideTrace(size_t source) { sources_.push_back(source); }
  bool HasRank(int64_t rank) const { return ranks_.count(rank) > 0; }

  const std::vector<size_t>& sources() const { return sources_; }

 private:
  static bool MayBeSame(const std::string& one, const std::string& other) {
    return one.empty() || other.empty() || one == other;
  }

  // A rank is one part of a run: the same rank again is of another job, or of another time of it. So may a source of
  // which nobody knows the rank be.
  bool RanksFit(const JobCluster& other) const {
    if (ranks_.empty() || other.ranks_.empty()) return false;
    const bool is_few = ranks_.size() < other.ranks_.size();
    const std::set<int64_t>& few = is_few ? ranks_ : other.ranks_;
    const std::set<int64_t>& many = is_few ? other.ranks_ : ranks_;
    return std::none_of(few.begin(), few.end(), [&](int64_t rank) { return many.count(rank) > 0; });
  }

  bool IsKnownToShare(const JobCluster& other) const { return !job_.empty() && job_ == other.job_; }

  // Groups of one name that share a rank are one group, if they are of one job.
  bool GroupsFit(const JobCluster& other) const {
    for (const auto& [name, groups] : other.groups_) {
      const auto ours = groups_.find(name);
      if (ours == groups_.end()) continue;
      for (const SourceFacts::Group* one : ours->second) {
        for (const SourceFacts::Group* two : groups) {
          if (!(*one == *two) && SharesRank(*one, *two)) return false;
        }
      }
    }
    return true;
  }
  static bool SharesRank(const SourceFacts::Group& one, const SourceFacts::Group& other) {
    for (auto a = one.ranks.begin(), b = other.ranks.begin(); a != one.ranks.end() && b != other.ranks.end();) {
      if (*a == *b) return true;
      *a < *b ? ++a : ++b;
    }
    return false;
  }

  std::vector<size_t> sources_;
  size_t traces_ = 1;  // of them; the others have joined one
  std::string job_;
  std::string backend_;
  std::string library_;
  std::optional<int64_t> world_size_;
  std::set<int64_t> ranks_;
  std::map<std::string, std::vector<const SourceFacts::Group*>> groups_;
  TimeSpan span_;
};

class Grouping {
 public:
  explicit Grouping(const std::vector<GroupedSource>& sources) : sources_(sources), joined_(sources.size()) {
    std::vector<std::string_view> names;
    names.reserve(sources.size());
    for (const GroupedSource& source : sources) names.push_back(source.name);
    const std::vector<std::optional<int64_t>> in_names = RanksInNames(names);
    for (size_t i = 0; i < sources.size(); ++i) places_.push_back(PlaceOf(sources[i].name, in_names[i]));
  }

  std::vector<SourceGroup> Run() {
    std::vector<size_t> told;
    std::vector<size_t> others;
    std::vector<size_t> joining;
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i].no_trace || sources_[i].copy_of) continue;
      if (sources_[i].facts.is_table) {
        JoinTables(i);
        continue;
      }
      if (sources_[i].facts.joins_trace) {
        joining.push_back(i);
        continue;
      }
      (sources_[i].rank || sources_[i].facts.says_job() ? told : others).push_back(i);
    }
    for (const size_t i : told) {
      std::optional<int64_t> rank = RankOf(i);
      if (!rank) rank = joined_[i] = RankInNameLikeOthers(i);
      AddCluster(i, rank);
    }
    MergeAll(told, /*by_pattern=*/false);
    std::vector<size_t> alone;
    for (const size_t i : others) {
      if (!JoinJobBeside(i)) alone.push_back(i);
    }
    GroupByNames(alone);
    std::vector<size_t> without_trace;
    const std::vector<std::optional<int64_t>> ranks = RanksOfJoining(joining);
    for (size_t i = 0; i < joining.size(); ++i) {
      if (!JoinTrace(joining[i], ranks[i])) without_trace.push_back(joining[i]);
    }
    // Those that say their job are one run of it without a trace, too.
    std::vector<size_t> without_job;
    std::vector<size_t> with_job;
    for (const size_t i : without_trace) (sources_[i].facts.says_job() ? with_job : without_job).push_back(i);
    for (const size_t i : with_job) AddCluster(i, RankOf(i));
    MergeAll(with_job, /*by_pattern=*/false);
    GroupByNames(without_job);
    return Groups();
  }

 private:
  std::optional<int64_t> RankOf(size_t i) const { return sources_[i].rank ? sources_[i].rank : RankSaidOf(i); }
  // A source that says its job may leave its rank to its name.
  std::optional<int64_t> RankSaidOf(size_t i) const {
    return sources_[i].facts.rank ? sources_[i].facts.rank : places_[i].rank;
  }

  void AddCluster(size_t i, std::optional<int64_t> rank) {
    cluster_of_[i] = clusters_.size();
    clusters_.emplace_back(JobCluster(i, sources_[i], rank));
  }

  // The tables in one folder are one trace.
  void JoinTables(size_t i) {
    const auto [first, is_new] = tables_.try_emplace(places_[i].folder, i);
    if (is_new) return AddCluster(i, RankOf(i));
    cluster_of_[i] = cluster_of_.at(first->second);
    clusters_[cluster_of_[i]]->TakeBesideTrace(i);
  }

  // Likelier pairs come first: beside each other, then near in time.
  void MergeAll(const std::vector<size_t>& which, bool by_pattern) {
    using Pair = std::tuple<bool, int64_t, size_t, size_t>;
    std::vector<Pair> pairs;
    for (size_t a = 0; a < which.size(); ++a) {
      for (size_t b = a + 1; b < which.size(); ++b) {
        const NamedPlace& one = places_[which[a]];
        const NamedPlace& other = places_[which[b]];
        if (by_pattern && (one.folder != other.folder || one.pattern != other.pattern)) continue;
        const int64_t gap_ns = SpanOf(sources_[which[a]].facts).GapTo(SpanOf(sources_[which[b]].facts));
        pairs.emplace_back(one.folder != other.folder, gap_ns, which[a], which[b]);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    std::set<std::pair<size_t, size_t>> refused;  // clusters only grow: what does not fit never will
    for (const auto& [is_apart, gap_ns, a, b] : pairs) {
      const size_t one = std::min(cluster_of_.at(a), cluster_of_.at(b));
      const size_t other = std::max(cluster_of_.at(a), cluster_of_.at(b));
      if (one == other || refused.count({one, other}) > 0) continue;
      if (!clusters_[one]->MayBeOfOneJob(*clusters_[other])) {
        refused.insert({one, other});
        continue;
      }
      for (const size_t source : clusters_[other]->sources()) cluster_of_[source] = one;
      clusters_[one]->Merge(std::move(*clusters_[other]));
      clusters_[other].reset();
    }
  }

  // Takes a source that says nothing into the job in its folder, else the only job there is, if its name gives a rank
  // that is free there. Of several such jobs the nearest in time; nothing where that is not known.
  bool JoinJobBeside(size_t i) {
    const std::optional<int64_t> rank = RankInNameLikeOthers(i);
    if (!rank) return false;
    const TimeSpan at = SpanOf(sources_[i].facts);
    for (const bool beside : {true, false}) {
      std::vector<std::pair<int64_t, JobCluster*>> jobs;
      size_t seen = 0;
      for (std::optional<JobCluster>& job : clusters_) {
        if (!job || (beside && !IsBeside(i, *job))) continue;
        ++seen;
        if (job->HasRoomFor(*rank, at)) jobs.emplace_back(job->GapTo(at), &*job);
      }
      if (!beside && seen > 1) return false;
      std::sort(jobs.begin(), jobs.end());
      if (!jobs.empty() && (jobs.size() == 1 || jobs[0].first < jobs[1].first)) {
        jobs[0].second->Take(i, *rank);
        joined_[i] = rank;
        return true;
      }
      if (seen > 0) return false;
    }
    return false;
  }

  // As they were asked for, else by a word in their names, else the number in which alike names of one folder differ.
  std::vector<std::optional<int64_t>> RanksOfJoining(const std::vector<size_t>& joining) const {
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> alike;  // places in `joining`
    std::vector<std::optional<int64_t>> ranks;
    for (const size_t i : joining) {
      ranks.push_back(RankOf(i));
      if (!ranks.back()) alike[{places_[i].folder, places_[i].pattern}].push_back(ranks.size() - 1);
    }
    for (const auto& [place, of] : alike) {
      std::vector<std::string_view> names;
      for (const size_t at : of) names.push_back(sources_[joining[at]].name);
      const std::vector<std::optional<int64_t>> numbers = RanksInWhichNamesDiffer(names);
      for (size_t at = 0; at < of.size(); ++at) ranks[of[at]] = numbers[at];
    }
    return ranks;
  }

  // Puts a source that says more of a trace beside that of its rank: in its folder, else anywhere. Of several the
  // nearest in time; none where that is not known.
  bool JoinTrace(size_t i, std::optional<int64_t> rank) {
    const TimeSpan at = SpanOf(sources_[i].facts);
    for (const bool beside : {true, false}) {
      std::vector<std::pair<int64_t, JobCluster*>> jobs;
      for (std::optional<JobCluster>& job : clusters_) {
        if (!job || (beside && !IsBeside(i, *job)) || !job->HasTraceOf(rank, at)) continue;
        jobs.emplace_back(job->GapTo(at), &*job);
      }
      if (jobs.empty()) continue;
      std::sort(jobs.begin(), jobs.end());
      if (jobs.size() > 1 && jobs[0].first == jobs[1].first) return false;
      jobs[0].second->TakeBesideTrace(i);
      if (rank && jobs[0].second->HasRank(*rank) && !sources_[i].rank) joined_[i] = rank;
      return true;
    }
    return false;
  }

  bool IsBeside(size_t i, const JobCluster& job) const {
    return std::any_of(job.sources().begin(), job.sources().end(),
                       [&](size_t of) { return places_[of].folder == places_[i].folder; });
  }

  // The rank that a word in its name says; else a number in it, where that of each source of a job whose name is alike
  // is its rank.
  std::optional<int64_t> RankInNameLikeOthers(size_t i) const {
    if (places_[i].rank) return places_[i].rank;
    std::vector<size_t> alike{i};
    for (size_t other = 0; other < sources_.size(); ++other) {
      const bool is_told = sources_[other].facts.rank.has_value() && !sources_[other].copy_of;
      const bool is_alike = places_[other].folder == places_[i].folder && places_[other].pattern == places_[i].pattern;
      if (is_told && is_alike) alike.push_back(other);
    }
    if (alike.size() < 2) return std::nullopt;
    std::vector<std::string_view> names;
    names.reserve(alike.size());
    for (const size_t of : alike) names.push_back(sources_[of].name);
    const std::vector<std::optional<int64_t>> numbers = RanksInWhichNamesDiffer(names);
    for (size_t of = 1; of < alike.size(); ++of) {
      if (numbers[of] != sources_[alike[of]].facts.rank) return std::nullopt;
    }
    return numbers[0];
  }

  // Sources that say nothing are of one job if their names are alike, and say their ranks by a word or by numbers that
  // count up.
  void GroupByNames(const std::vector<size_t>& alone) {
    std::vector<size_t> named;
    std::map<std::pair<std::string, std::string>, std::vector<size_t>> alike;  // by folder and pattern of the name
    for (const size_t i : alone) {
      if (places_[i].rank) {
        named.push_back(i);
      } else {
        alike[{places_[i].folder, places_[i].pattern}].push_back(i);
      }
    }
    for (const size_t i : named) AddCluster(i, places_[i].rank);
    MergeAll(named, /*by_pattern=*/true);
    std::map<std::string, std::vector<size_t>>
        of_folders;  // those that are alone in theirs: 0/trace.json, 1/trace.json
    for (const auto& [place, sources] : alike) {
      if (sources.size() > 1) {
        GroupByNumbers(sources, /*most_first=*/1);
      } else {
        of_folders[PatternOf(sources_[sources[0]].name)].push_back(sources[0]);
      }
    }
    for (const auto& [pattern, sources] : of_folders) GroupByNumbers(sources, /*most_first=*/0);
  }

  // One run of sources whose names differ in one number that counts up without a gap, from `most_first` at most; else
  // a run of each.
  void GroupByNumbers(const std::vector<size_t>& alike, int64_t most_first) {
    std::vector<std::string_view> names;
    names.reserve(alike.size());
    for (const size_t i : alike) names.push_back(sources_[i].name);
    const std::vector<std::optional<int64_t>> numbers = RanksInWhichNamesDiffer(names);
    const auto [first, last] = std::minmax_element(numbers.begin(), numbers.end());
    const bool count_up =
        first->has_value() && **first <= most_first && **last - **first == static_cast<int64_t>(numbers.size()) - 1;
    for (size_t i = 0; i < alike.size(); ++i) AddCluster(alike[i], count_up ? numbers[i] : std::nullopt);
    for (size_t i = 1; i < alike.size() && count_up; ++i) {
      JobCluster& into = *clusters_[cluster_of_.at(alike[0])];
      std::optional<JobCluster>& other = clusters_[cluster_of_.at(alike[i])];
      if (!into.MayBeOfOneJob(*other)) continue;
      into.Merge(std::move(*other));
      other.reset();
    }
  }

  // Copies go to their originals, where the import refuses them; what is no trace to the run that begins in its folder.
  std::vector<SourceGroup> Groups() {
    std::vector<SourceGroup> groups;
    std::map<size_t, size_t> group_of;  // by source
    for (const std::optional<JobCluster>& cluster : clusters_) {
      if (!cluster) continue;
      for (const size_t source : cluster->sources()) group_of[source] = groups.size();
      groups.emplace_back();
    }
    if (groups.empty()) groups.emplace_back();
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i].no_trace) group_of[i] = GroupInFolderOf(i, group_of);
      if (sources_[i].copy_of) group_of[i] = group_of.at(*sources_[i].copy_of);
      groups[group_of.at(i)].members.push_back({i, joined_[i]});
    }
    std::sort(groups.begin(), groups.end(), [](const SourceGroup& one, const SourceGroup& other) {
      return one.members.front().source < other.members.front().source;
    });
    return groups;
  }
  size_t GroupInFolderOf(size_t i, const std::map<size_t, size_t>& group_of) const {
    for (const auto& [source, group] : group_of) {
      if (!sources_[source].no_trace && places_[source].folder == places_[i].folder) return group;
    }
    return 0;
  }

  const std::vector<GroupedSource>& sources_;
  std::vector<NamedPlace> places_;
  std::vector<std::optional<JobCluster>> clusters_;  // those that became a part of another one are empty
  std::map<size_t, size_t> cluster_of_;              // by source
  std::map<std::string, size_t> tables_;             // by folder: its first table
  std::vector<std::optional<int64_t>> joined_;       // by source
};

}  // namespace

std::vector<SourceGroup> GroupSources(const std::vector<GroupedSource>& sources) {
  return Grouping(sources).Run();
}

}  // namespace kprof
