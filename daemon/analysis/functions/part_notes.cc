#include "daemon/analysis/functions/part_notes.h"

#include <algorithm>

namespace kprof {
namespace {

std::string NamesOfParts(const AnalysisTraces& traces, const std::vector<size_t>& parts) {
  constexpr size_t kMostNamed = 4;
  std::string names;
  for (size_t i = 0; i < parts.size() && i < kMostNamed; ++i) names += (i == 0 ? "" : ", ") + traces.NameOf(parts[i]);
  if (parts.size() > kMostNamed) names += " and " + std::to_string(parts.size() - kMostNamed) + " more";
  return names;
}

}  // namespace

size_t RowsOfPart(const AnalysisTraces& traces) {
  constexpr size_t kOfOnePart = 20'000;
  constexpr size_t kOfSeveral = 8'000;
  constexpr size_t kLeast = 32;
  return traces.parts().size() < 2 ? kOfOnePart : std::max(kLeast, kOfSeveral / traces.parts().size());
}

void PartNotes::Add(size_t part, const std::string& text) {
  for (auto& [known, parts] : texts_) {
    if (known != text) continue;
    parts.push_back(part);
    return;
  }
  texts_.emplace_back(text, std::vector<size_t>{part});
}

void PartNotes::AddLack(size_t part, const std::string& what, const std::string& why) {
  Lack& lack = lacks_[what];
  lack.why = why;
  lack.parts.push_back(part);
}

void PartNotes::AddTo(const AnalysisTraces& traces, AnalysisAnswer& answer) const {
  for (const auto& [text, parts] : texts_) answer.AddNote(NamesOfParts(traces, parts) + ": " + text);
  for (const auto& [what, lack] : lacks_) {
    if (lack.parts.size() == traces.parts().size()) {
      answer.AddNote(what + ": " + lack.why + " in what was asked for");
      continue;
    }
    std::vector<size_t> named = lack.parts;
    std::erase_if(named, [&traces](size_t part) {
      const TracePart& of = traces.parts()[part];
      return !of.rank && of.reader->rows(EventKind::kSlice) == 0;
    });
    if (!named.empty()) answer.AddNote(what + bounds_ + " in " + NamesOfParts(traces, named));
  }
}

}  // namespace kprof
