// Notes on parts of an answer, each text once: "rank 0, rank 1 and 126 more: no kernels".
//
// One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"

namespace kprof {

// How many rows of a table a part may have: nobody reads more, and an answer about many parts has to fit its memory.
inline size_t RowsOfPart(const AnalysisTraces& traces) {
  constexpr size_t kOfOnePart = 20'000;
  constexpr size_t kOfSeveral = 8'000;
  constexpr size_t kLeast = 32;
  return traces.parts().size() < 2 ? kOfOnePart : std::max(kLeast, kOfSeveral / traces.parts().size());
}

class PartNotes {
 public:
  void Add(size_t part, const std::string& text) {
    for (auto& [known, parts] : notes_) {
      if (known != text) continue;
      parts.push_back(part);
      return;
    }
    notes_.emplace_back(text, std::vector<size_t>{part});
  }

  void AddTo(const AnalysisTraces& traces, AnalysisAnswer& answer) const {
    constexpr size_t kMostNamed = 4;
    for (const auto& [text, parts] : notes_) {
      std::string names;
      for (size_t i = 0; i < parts.size() && i < kMostNamed; ++i) {
        names += (i == 0 ? "" : ", ") + traces.NameOf(parts[i]);
      }
      if (parts.size() > kMostNamed) names += " and " + std::to_string(parts.size() - kMostNamed) + " more";
      answer.AddNote(names + ": " + text);
    }
  }

 private:
  std::vector<std::pair<std::string, std::vector<size_t>>> notes_;  // few, in the order in which they came
};

}  // namespace kprof
