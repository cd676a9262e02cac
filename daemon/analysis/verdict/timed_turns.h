// The turns of a run that timed one command, or two of them in turns, as they are judged: live by kprofd, and again
// from the record of the run by analyses, with the same answer.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/analysis/verdict/verdict.h"
#include "daemon/analysis/verdict/witness.h"

namespace kprof {

// One process.
struct TimedTurn {
  bool is_candidate = true;
  int64_t number = 0;  // from 1
  int64_t block = -1;  // of turns that ran next to each other, from 0; -1: it warmed up
  int64_t asked_samples = 0;
  double wall_ns = 0;
  double cpu_ns = 0;  // of the process and its children
  int64_t leftover_processes = 0;
  std::string refuted;  // the code of a note with which its times are none (IsRefutingNote); empty: there is none
  // The samples that it reported, by case. None: the whole process is its sample.
  std::map<std::string, std::vector<double>> samples;

  bool counts() const { return block >= 0; }
  double reported_ns() const;
};

// The name of the case of processes that report nothing.
inline constexpr char kWholeProcess[] = "";

// The cases of all turns that count, by name.
std::vector<std::string> CasesOf(const std::vector<TimedTurn>& turns);

// The processes of a side that count.
std::vector<ProcessSamples> ProcessesOf(const std::vector<TimedTurn>& turns, bool is_candidate,
                                        const std::string& case_name);

// Turns of whole blocks, for JudgeCases.
std::vector<VerdictCase> VerdictCasesOf(const std::vector<TimedTurn>& turns);

// The verdict on two sides. Where a second witness disputes the times (witness.h), it is INCONCLUSIVE, with the
// witness' reasons first.
Verdict JudgeTurns(const std::vector<TimedTurn>& turns, const VerdictRules& rules, const WitnessFacts& facts);

}  // namespace kprof
