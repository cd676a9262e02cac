#include "daemon/analysis/functions/dependencies/chosen_work.h"

#include <algorithm>
#include <string_view>

namespace kprof {
namespace {

ApiRole ApiRoleOf(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("Synchronize")) return has("DeviceSync") || has("CtxSync") ? ApiRole::kDeviceWait : ApiRole::kWait;
  if (has("StreamWaitEvent")) return ApiRole::kStreamWait;
  if (has("EventRecord")) return ApiRole::kRecord;
  if (has("Memcpy") || has("memcpy")) return ApiRole::kCopy;
  if (has("Free") && !has("FreeAsync")) return ApiRole::kFree;
  return ApiRole::kOther;
}

}  // namespace

int64_t MedianOf(std::vector<int64_t>& values, int64_t otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

ChosenWork::ChosenWork(const CallsAndWork& all, PartReader& reader, const DeviceScope& scope, size_t part)
    : all_(all), reader_(reader) {
  const int64_t from_ns = scope.from_ns(part).value_or(INT64_MIN);
  const int64_t to_ns = scope.to_ns(part).value_or(INT64_MAX);
  const auto is_within = [&](int64_t time_ns) { return time_ns >= from_ns && time_ns < to_ns; };
  is_call_chosen_.resize(calls().size());
  for (size_t i = 0; i < calls().size(); ++i) is_call_chosen_[i] = is_within(calls()[i].begin_ns) ? 1 : 0;
  is_work_chosen_.resize(work().size());
  for (size_t i = 0; i < work().size(); ++i) {
    const bool is_launched = CallOf(i) != kNoIndex && is_call_chosen(CallOf(i));
    const bool is_cut = work()[i].begin_ns >= scope.cut_ns().value_or(INT64_MAX);
    is_work_chosen_[i] = !is_cut && (is_launched || is_within(work()[i].begin_ns)) ? 1 : 0;
    if (!is_work_chosen(i)) continue;
    ++size_;
    if (CallOf(i) == kNoIndex) ++unlaunched_;
  }
}

Status ChosenWork::FindOrders() {
  RETURN_IF_ERROR(FindRoles());
  FindLaunchOrder();
  FindDelays();
  return OkStatus();
}

Status ChosenWork::FindRoles() {
  std::unordered_map<int64_t, ApiRole> roles;
  call_roles_.reserve(calls().size());
  for (const PartSlice& call : calls()) {
    const auto [role, is_new] = roles.try_emplace(call.name);
    if (is_new) {
      ASSIGN_OR_RETURN(const std::string name, reader_.ReadString(call.name));
      role->second = ApiRoleOf(name);
    }
    call_roles_.push_back(role->second);
  }
  return OkStatus();
}

// Work of each call in the order of its begin, and of each stream, thread and process in the order of launches.
void ChosenWork::FindLaunchOrder() {
  for (uint32_t i = 0; i < work().size(); ++i) {
    if (!is_work_chosen(i)) continue;
    by_end_.push_back(i);
    if (CallOf(i) != kNoIndex) of_calls_[CallOf(i)].push_back(i);
  }
  std::sort(by_end_.begin(), by_end_.end(),
            [this](uint32_t a, uint32_t b) { return work()[a].end_ns < work()[b].end_ns; });
  for (auto& [call, of] : of_calls_) {
    std::stable_sort(of.begin(), of.end(),
                     [this](uint32_t a, uint32_t b) { return work()[a].begin_ns < work()[b].begin_ns; });
  }
  for (uint32_t i = 0; i < calls().size(); ++i) {
    if (of_calls_.contains(i)) launches_.push_back(i);
  }
  std::stable_sort(launches_.begin(), launches_.end(),
                   [this](uint32_t a, uint32_t b) { return calls()[a].begin_ns < calls()[b].begin_ns; });
}

uint32_t ChosenWork::LastEnded(std::span<const uint32_t> of) const {
  return *std::max_element(of.begin(), of.end(),
                           [this](uint32_t a, uint32_t b) { return work()[a].end_ns < work()[b].end_ns; });
}

void ChosenWork::KeepLastEnded(uint32_t of, LastOfStreams& streams) const {
  const auto [last, is_new] = streams.try_emplace(work()[of].track, of);
  if (!is_new && work()[of].end_ns > work()[last->second].end_ns) last->second = of;
}

// How long a launch takes until its work begins on an idle stream: the median, for each name of a call.
void ChosenWork::FindDelays() {
  before_.assign(work().size(), kNoIndex);
  uint32_t last = kNoIndex;
  std::map<int64_t, std::vector<int64_t>> idle;
  std::map<int64_t, int64_t> least;
  for (uint32_t i = 0; i < work().size(); ++i) {
    if (!is_work_chosen(i)) continue;
    if (last != kNoIndex && work()[last].track != work()[i].track) last = kNoIndex;
    before_[i] = last;
    const uint32_t call = CallOf(i);
    if (call != kNoIndex && is_call_chosen(call) && of_calls_[call].front() == i) {
      const int64_t delay = work()[i].begin_ns - calls()[call].begin_ns;
      if (delay >= 0) {
        const auto [found, is_new] = least.try_emplace(calls()[call].name, delay);
        if (!is_new) found->second = std::min(found->second, delay);
        if (last == kNoIndex || work()[last].end_ns <= calls()[call].begin_ns) {
          idle[calls()[call].name].push_back(delay);
        }
      }
    }
    if (last == kNoIndex || work()[i].end_ns >= work()[last].end_ns) last = i;
  }
  // A call that never met an idle stream is taken to be as quick as the others.
  std::vector<int64_t> of_all;
  int64_t least_of_all = INT64_MAX;
  for (const auto& [name, delays] : idle) of_all.insert(of_all.end(), delays.begin(), delays.end());
  for (const auto& [name, delay] : least) least_of_all = std::min(least_of_all, delay);
  const int64_t usual = MedianOf(of_all, least_of_all);
  for (const auto& [name, delay] : least) launch_delay_[name] = MedianOf(idle[name], std::min(delay, usual));
  std::vector<int64_t> gaps;
  for (uint32_t i = 0; i < work().size(); ++i) {
    if (!is_work_chosen(i) || before_[i] == kNoIndex) continue;
    const int64_t gap = work()[i].begin_ns - work()[before_[i]].end_ns;
    if (gap >= 0 && LaunchReady(i) <= work()[before_[i]].end_ns) gaps.push_back(gap);
  }
  stream_gap_ns_ = MedianOf(gaps, 0);
}

int64_t ChosenWork::LaunchReady(size_t i) const {
  const uint32_t call = CallOf(i);
  if (call == kNoIndex || !is_call_chosen(call)) return INT64_MIN;
  const auto delay = launch_delay_.find(calls()[call].name);
  const int64_t begin = calls()[call].begin_ns;
  if (begin > work()[i].begin_ns) return INT64_MIN;
  return std::min(work()[i].begin_ns, begin + (delay == launch_delay_.end() ? 0 : delay->second));
}

}  // namespace kprof
