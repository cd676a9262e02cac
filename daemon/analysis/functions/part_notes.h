// Notes of an answer about its parts, each text once, with the names of the parts: what holds for them ("rank 0, rank 1
// and 126 more: ..."), and what they lack ("no kernels in rank 3").
//
// One thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"

namespace kprof {

// How many rows of a table a part may have: nobody reads more, and an answer about many parts has to fit its memory.
size_t RowsOfPart(const AnalysisTraces& traces);

class PartNotes {
 public:
  // `bounds`: what was asked for, which a note about a lack names; TextOfBounds of device_scope.h.
  explicit PartNotes(std::string bounds = "") : bounds_(std::move(bounds)) {}

  void Add(size_t part, const std::string& text);
  // The part lacks `what`: "no kernels". `why` is in the note if all parts lack it: "no kernels: nothing ran on a
  // device in what was asked for"; else the note names the parts: "no kernels on device 2 in rank 3". REQUIRES: one
  // `why` for each `what`.
  void AddLack(size_t part, const std::string& what, const std::string& why);

  // First the texts of Add in the order in which they came, then what is lacking, by name. No note says that the part
  // `samples` of a run, which has no slices, lacks something that others have.
  void AddTo(const AnalysisTraces& traces, AnalysisAnswer& answer) const;

 private:
  struct Lack {
    std::string why;
    std::vector<size_t> parts;
  };

  std::string bounds_;
  std::vector<std::pair<std::string, std::vector<size_t>>> texts_;  // few
  std::map<std::string, Lack> lacks_;
};

}  // namespace kprof
