#include "daemon/process/supervisor/tool_run.h"

#include <utility>

#include "daemon/capture/tools.h"
#include "daemon/capture/vendor_program.h"
#include "storage/base/readable_text.h"

namespace kprof {

Status ToolRun::Begin(const Tool& tool, const LaunchRequest& request, std::string folder, bool trusts_daemon) {
  tool_ = &tool;
  folder_ = std::move(folder);
  ASSIGN_OR_RETURN(options_, ReadToolOptions(tool, request.options));
  RETURN_IF_ERROR(CheckToolRequest(tool, request.argv, request.options));
  if (!tool.needs.program.empty()) {
    ASSIGN_OR_RETURN(program_,
                     FindProgramOf(tool.needs, request.environment, {.trusts_tool_path = trusts_daemon, .root = {}}));
  }
  if (tool.probe == nullptr) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<ToolStep> questions, tool.probe(InputOf(request)));
  questions_.assign(questions.begin(), questions.end());
  return OkStatus();
}

Result<ToolPlan> ToolRun::MakePlan(const LaunchRequest& request) {
  ASSIGN_OR_RETURN(ToolPlan plan, tool_->plan(InputOf(request)));
  if (plan.argv.empty()) return Fail(ErrorCode::kToolFailed, request.tool, "its plan has no program");
  AddNotes(plan.notes);
  return plan;
}

bool ToolRun::TriesAgain(const LaunchRequest& request, const TriedCommand& tried, CommandEnded& end) {
  if (tool_ == nullptr || tool_->judge == nullptr) return false;
  const Judgement said = tool_->judge(InputOf(request), tried);
  AddNotes(said.notes);
  if (!said.again.empty()) return true;
  if (!said.failed.ok()) SetToolError(said.failed, end);
  return false;
}

bool ToolRun::FailsByStep(const LaunchRequest& request, const ToolStep& step, const TriedCommand& ended,
                          CommandEnded& end) {
  if (tool_ == nullptr || tool_->judge_step == nullptr) return false;
  const Judgement said = tool_->judge_step(InputOf(request), step, ended);
  AddNotes(said.notes);
  if (said.failed.ok()) return false;
  SetToolError(said.failed, end);
  return true;
}

std::vector<ToolStep> ToolRun::NextSteps(const LaunchRequest& request, CommandEnded& end) {
  if (tool_ == nullptr || tool_->next == nullptr || step_rounds_ >= kMostStepRounds) return {};
  Result<kprof::NextSteps> next = tool_->next(InputOf(request), step_rounds_++);
  if (!next.ok()) {
    SetToolError(next.status(), end);
    return {};
  }
  AddNotes(next->notes);
  return std::move(next->steps);
}

void ToolRun::SetToolError(const Status& failed, CommandEnded& end) {
  end.tool_error = ErrorName(failed.code());
  end.tool_error_why = ClippedText(failed.why(), kMostToolNoteBytes);
  end.tool_error_remedy = ClippedText(failed.remedy(), kMostToolNoteBytes);
}

void ToolRun::AddNote(const std::string& note) {
  if (notes_.size() < kMostToolNotes) notes_.push_back(ClippedText(note, kMostToolNoteBytes / 2));
}

void ToolRun::AddNotes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) AddNote(note);
}

}  // namespace kprof
