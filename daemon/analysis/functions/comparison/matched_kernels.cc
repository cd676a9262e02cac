#include "daemon/analysis/functions/comparison/matched_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "daemon/analysis/functions/comparison/comparable_names.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

class KernelMatcher {
 public:
  explicit KernelMatcher(const OfSides<SideFacts>& sides) : sides_(sides) {
    for (const Side side : {kBefore, kAfter}) {
      for (const auto& [name, sum] : sides[side].kernels) left_[side].insert(name);
    }
  }

  std::vector<MatchedKernel> Match() {
    MatchBy("name", [](const std::string& name) { return name; });
    MatchBy("spelling", [](const std::string& name) { return PlainKernelName(name); });
    MatchBy("template", [](const std::string& name) { return KernelFamilyName(name); });
    for (const Side side : {kBefore, kAfter}) {
      std::map<std::string, std::vector<std::string>> alone;
      for (const std::string& name : left_[side]) alone[PlainKernelName(name)].push_back(name);
      for (auto& [key, names] : alone) {
        MatchedKernel row;
        Take(side, std::move(names), row);
        rows_.push_back(std::move(row));
      }
    }
    std::stable_sort(rows_.begin(), rows_.end(), [](const MatchedKernel& a, const MatchedKernel& b) {
      return std::abs(a.delta_ns()) > std::abs(b.delta_ns());
    });
    return std::move(rows_);
  }

 private:
  template <typename KeyOf>
  void MatchBy(const char* how, const KeyOf& key_of) {
    OfSides<std::map<std::string, std::vector<std::string>>> keys;
    for (const Side side : {kBefore, kAfter}) {
      for (const std::string& name : left_[side]) {
        std::string key = key_of(name);
        if (!key.empty()) keys[side][std::move(key)].push_back(name);
      }
    }
    for (auto& [key, names] : keys[kBefore]) {
      const auto other = keys[kAfter].find(key);
      if (other == keys[kAfter].end()) continue;
      MatchedKernel row{.matched_by = how};
      for (const std::string& name : names) left_[kBefore].erase(name);
      for (const std::string& name : other->second) left_[kAfter].erase(name);
      Take(kBefore, std::move(names), row);
      Take(kAfter, std::move(other->second), row);
      rows_.push_back(std::move(row));
    }
  }

  void Take(Side side, std::vector<std::string> names, MatchedKernel& row) const {
    const std::map<std::string, SideSum>& sums = sides_[side].kernels;
    for (const std::string& name : names) row.sums[side].Add(sums.at(name));
    std::stable_sort(names.begin(), names.end(),
                     [&sums](const std::string& a, const std::string& b) { return sums.at(a).ns > sums.at(b).ns; });
    row.names[side] = std::move(names);
  }

  const OfSides<SideFacts>& sides_;
  OfSides<std::set<std::string>> left_;
  std::vector<MatchedKernel> rows_;
};

}  // namespace

std::vector<MatchedKernel> MatchKernels(const OfSides<SideFacts>& sides) {
  return KernelMatcher(sides).Match();
}

SharedWork WorkInBoth(const std::vector<MatchedKernel>& kernels) {
  SharedWork work;
  std::vector<std::pair<double, int64_t>> ratios;  // with weights
  int64_t all = 0;
  for (const MatchedKernel& row : kernels) {
    if (row.matched_by != "name" && row.matched_by != "spelling") continue;
    for (const Side side : {kBefore, kAfter}) work.calls[side] += row.sums[side].count;
    if (row.sums[kBefore].count == 0) continue;  // of several runs, less than one of each
    const int64_t weight = SaturatingSum(row.sums[kBefore].ns, row.sums[kAfter].ns);
    ratios.emplace_back(static_cast<double>(row.sums[kAfter].count) / static_cast<double>(row.sums[kBefore].count),
                        weight);
    all = SaturatingSum(all, weight);
  }
  std::sort(ratios.begin(), ratios.end());
  int64_t passed = 0;
  for (const auto& [ratio, weight] : ratios) {
    passed = SaturatingSum(passed, weight);
    if (passed < all - passed) continue;
    work.ratio = ratio;
    break;
  }
  return work;
}

}  // namespace kprof
