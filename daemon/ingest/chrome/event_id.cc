#include "daemon/ingest/chrome/event_id.h"

#include <optional>
#include <string>

#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/flow_id.h"

namespace kprof {

EventId EventIdOf(ChromePlan& plan, const JsonSpan* values, uint32_t pid, EventTexts& texts) {
  EventId of{.pid = pid};
  if (plan.id != ChromePlan::kNone) {
    of.text = values[plan.id].text();
    of.id = texts.Text(of.text, plan.lasts[plan.id]);
  }
  if (plan.scope != ChromePlan::kNone) of.scope = texts.Text(values[plan.scope].text());
  if (plan.id2 == ChromePlan::kNone) return of;
  const std::string_view id2 = values[plan.id2].text();
  ForEachMember(id2.data(), id2.data() + id2.size(), [&](std::string_view key, std::string_view value) {
    const bool is_global = key == "global";
    if ((!is_global && key != "local") || value.empty() || (value[0] != '"' && !BeginsNumber(value[0]))) return true;
    of.text = value[0] == '"' ? value.substr(1, value.size() - 2) : value;
    of.id = texts.Text(of.text);
    of.pid = is_global ? 0 : pid;
    of.is_local = !is_global;
    return false;
  });
  return of;
}

int64_t FlowIdOf(ChromePlan& plan, const JsonSpan* values, uint32_t pid, EventTexts& texts) {
  if (plan.scope == ChromePlan::kNone && plan.id2 == ChromePlan::kNone) {
    if (plan.id == ChromePlan::kNone) return 0;
    const std::string_view text = values[plan.id].text();
    const std::optional<int64_t> numbered = NumberedFlowId(text);
    return numbered ? *numbered : int64_t{texts.Text(text, plan.lasts[plan.id])};
  }
  const EventId id = EventIdOf(plan, values, pid, texts);
  if (id.scope == 0 && !id.is_local) return NumberedFlowId(id.text).value_or(id.id);
  std::string text;
  if (id.scope != 0) text += std::string(values[plan.scope].text()) + ' ';
  if (id.is_local && plan.pid != ChromePlan::kNone) text += std::string(values[plan.pid].text()) + ' ';
  return texts.Text(text += id.text);
}

}  // namespace kprof
