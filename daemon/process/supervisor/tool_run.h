// A tool's row at work for one run: finds the vendor's program, has its questions asked, makes the plan of the answers,
// and judges how the command ended. Notes of the tool for the run's trust are gathered here. The supervisor starts the
// processes.
//
// One thread. Blocks for small files.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "daemon/capture/tool.h"
#include "daemon/launch/launch_protocol.h"
#include "storage/base/status.h"

namespace kprof {

class ToolRun {
 public:
  // `folder`: the tool's own; empty: it has none. `trusts_daemon`: kprofd runs as the run's caller, so what it says of
  // vendors' programs is as good as the caller's word. Fails as the tool's probe does. `tool` outlives this.
  Status Begin(const Tool& tool, const LaunchRequest& request, std::string folder, bool trusts_daemon);

  // Steps to run before MakePlan; the caller removes each from the front.
  std::deque<ToolStep>& questions() { return questions_; }

  // REQUIRES: the questions were asked.
  Result<ToolPlan> MakePlan(const LaunchRequest& request);

  // Puts what the tool says of the command's end into `end`. True: it is to run once more.
  bool TriesAgain(const LaunchRequest& request, const TriedCommand& tried, CommandEnded& end);

  // Puts what the tool says of a step that ended into `end`. True: the run fails by that.
  bool FailsByStep(const LaunchRequest& request, const ToolStep& step, const TriedCommand& ended, CommandEnded& end);

  // The steps that follow when none is left. Empty: there are none, or `end` says why the run fails.
  std::vector<ToolStep> NextSteps(const LaunchRequest& request, CommandEnded& end);

  void AddNote(const std::string& note);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void AddNotes(const std::vector<std::string>& notes);
  static void SetToolError(const Status& failed, CommandEnded& end);
  PlanInput InputOf(const LaunchRequest& request) const { return {request, options_, folder_, program_}; }

  const Tool* tool_ = nullptr;
  ToolOptions options_;
  std::string folder_;
  std::string program_;
  std::deque<ToolStep> questions_;
  std::vector<std::string> notes_;
  int64_t step_rounds_ = 0;
};

}  // namespace kprof
