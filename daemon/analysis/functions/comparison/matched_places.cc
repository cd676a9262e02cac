#include "daemon/analysis/functions/comparison/matched_places.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/analysis/operators/trace_part.h"

namespace kprof {
namespace {

class PlaceMatcher {
 public:
  PlaceMatcher(const OfSides<const CallPlaces*>& sides, const TextNumbers& texts, const PlaceMatching& matching)
      : texts_(texts), runs_(matching.runs) {
    for (const Side side : {kBefore, kAfter}) {
      nodes_[side] = &sides[side]->nodes();
      const std::vector<CallPlace>& nodes = *nodes_[side];
      own_[side].resize(nodes.size());
      for (size_t i = 0; i < nodes.size(); ++i) {
        own_[side][i] = {nodes[i].kernels, nodes[i].device_ns};
        if (!matching.by_host) continue;
        int64_t covered = 0;
        for (const uint32_t child : nodes[i].children) covered = SaturatingSum(covered, nodes[child].host_ns);
        own_[side][i] = {nodes[i].calls, std::max<int64_t>(nodes[i].host_ns - covered, 0)};
      }
      all_[side] = own_[side];  // and all below; children come after their parents
      for (size_t i = nodes.size(); i-- > 1;) all_[side][nodes[i].parent].Add(all_[side][i]);
      own_[side][0].Add(matching.unlaunched[side]);
    }
  }

  std::vector<MatchedPlace> Match() {
    struct Pair {
      OfSides<uint32_t> nodes{};
      std::string path;
    };
    std::vector<Pair> open = {{}};
    while (!open.empty()) {
      const Pair pair = std::move(open.back());
      open.pop_back();
      MatchedPlace row;
      row.path = pair.path;
      OfSides<std::map<uint32_t, uint32_t>> children;  // by label
      for (const Side side : {kBefore, kAfter}) {
        const CallPlace& node = (*nodes_[side])[pair.nodes[side]];
        row.name = pair.nodes[side] == 0 ? "" : texts_.TextOf(node.label);
        row.calls[side] = node.calls / runs_[side];
        row.sums[side].Add(own_[side][pair.nodes[side]]);
        for (const uint32_t child : node.children) children[side].emplace((*nodes_[side])[child].label, child);
      }
      LookThrough(children, row);
      for (const auto& [label, child] : children[kBefore]) {
        const auto other = children[kAfter].find(label);
        if (other == children[kAfter].end()) {
          AddLone(kBefore, child, row);
        } else {
          open.push_back({{child, other->second}, PathOf(pair.path, texts_.TextOf(label))});
        }
      }
      for (const auto& [label, child] : children[kAfter]) {
        if (!children[kBefore].contains(label)) AddLone(kAfter, child, row);
      }
      for (const Side side : {kBefore, kAfter}) {
        row.sums[side].count /= runs_[side];
        row.sums[side].ns /= runs_[side];
      }
      if (row.sums[kBefore].ns != 0 || row.sums[kAfter].ns != 0) rows_.push_back(std::move(row));
    }
    std::stable_sort(rows_.begin(), rows_.end(), [](const MatchedPlace& a, const MatchedPlace& b) {
      return std::make_tuple(-std::abs(a.delta_ns()), std::string_view(a.path)) <
             std::make_tuple(-std::abs(b.delta_ns()), std::string_view(b.path));
    });
    return std::move(rows_);
  }

 private:
  static constexpr size_t kLongestPath = 400;

  static std::string PathOf(const std::string& path, const std::string& name) {
    std::string longer = path.empty() ? name : path + " / " + name;
    if (longer.size() <= kLongestPath) return longer;
    const size_t cut = longer.find(" / ", longer.size() - kLongestPath);
    return "..." + (cut == std::string::npos ? " / " + name : longer.substr(cut));
  }

  // A call around others that one side alone has (a compiled module, an engine of a newer version) hides nothing: if
  // the other side has a child of it right here, its children take its place.
  void LookThrough(OfSides<std::map<uint32_t, uint32_t>>& children, MatchedPlace& row) const {
    constexpr int kMostWrappers = 8;
    for (int pass = 0; pass < kMostWrappers; ++pass) {
      bool has_found = false;
      for (const Side side : {kBefore, kAfter}) {
        const Side other = side == kBefore ? kAfter : kBefore;
        for (auto at = children[side].begin(); at != children[side].end();) {
          const CallPlace& node = (*nodes_[side])[at->second];
          const bool is_lone = !children[other].contains(at->first);
          const bool has_known =
              is_lone && std::any_of(node.children.begin(), node.children.end(), [&](uint32_t child) {
                const uint32_t label = (*nodes_[side])[child].label;
                return children[other].contains(label) && !children[side].contains(label);
              });
          if (!has_known) {
            ++at;
            continue;
          }
          row.sums[side].Add(own_[side][at->second]);
          for (const uint32_t child : node.children) {
            // One that is there already stays by itself.
            if (!children[side].emplace((*nodes_[side])[child].label, child).second) AddLone(side, child, row);
          }
          at = children[side].erase(at);
          has_found = true;
        }
      }
      if (!has_found) return;
    }
  }

  void AddLone(Side side, uint32_t node, MatchedPlace& row) const {
    const SideSum& sum = all_[side][node];
    if (sum.ns == 0) return;
    row.sums[side].Add(sum);
    row.lone[side].push_back({texts_.TextOf((*nodes_[side])[node].label), sum});
  }

  const TextNumbers& texts_;
  const OfSides<int64_t> runs_;
  OfSides<const std::vector<CallPlace>*> nodes_{};
  OfSides<std::vector<SideSum>> own_;
  OfSides<std::vector<SideSum>> all_;
  std::vector<MatchedPlace> rows_;
};

}  // namespace

std::vector<MatchedPlace> MatchPlaces(const OfSides<const CallPlaces*>& sides, const TextNumbers& texts,
                                      const PlaceMatching& matching) {
  return PlaceMatcher(sides, texts, matching).Match();
}

}  // namespace kprof
