#include "daemon/runs/command/cool_down.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/runs/seconds_text.h"

namespace kprof {
namespace {

constexpr int64_t kAskEveryNs = kNanosPerSecond / 2;
constexpr int64_t kAnswerLimitNs = kNanosPerSecond;
constexpr char kWarm[] = "device_warm";

// From which the device slows down; nothing where it does not tell.
std::optional<uint32_t> SlowsDownAt(const NvidiaIdentity& identity) {
  std::optional<uint32_t> least = identity.slowdown_c;
  if (identity.most_gpu_c && (!least || *identity.most_gpu_c < *least)) least = identity.most_gpu_c;
  return least;
}

}  // namespace

CoolDown::CoolDown(IoLoop& loop, NodeDevices& devices, std::vector<std::string> device_ids, int64_t limit_ns,
                   std::function<void(std::vector<TrustReason>)> cooled)
    : loop_(loop),
      devices_(devices),
      device_ids_(std::move(device_ids)),
      begun_mono_ns_(loop.clock().mono_ns()),
      limit_ns_(limit_ns),
      cooled_(std::move(cooled)) {
  Ask();
}

void CoolDown::Ask() {
  devices_.Refresh(kAnswerLimitNs, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) Look();
  });
}

void CoolDown::Look() {
  std::vector<TrustReason> warm = TooWarm();
  const int64_t left_ns = begun_mono_ns_ + limit_ns_ - loop_.clock().mono_ns();
  if (warm.empty() || left_ns <= 0) return cooled_(std::move(warm));
  again_ = loop_.After(std::min(kAskEveryNs, left_ns), [this] { Ask(); });
}

std::vector<TrustReason> CoolDown::TooWarm() const {
  std::vector<TrustReason> trust;
  for (const std::string& id : device_ids_) {
    const Result<DeviceFacts> facts = devices_.FactsOf(id);
    if (!facts.ok() || !facts->nvidia || !facts->nvidia_sample) continue;
    const std::optional<uint32_t> limit_c = SlowsDownAt(*facts->nvidia);
    const std::optional<uint32_t> is_c = facts->nvidia_sample->temperature_c;
    if (!limit_c || !is_c || *is_c + kHeadroomC <= *limit_c) continue;
    const int64_t waited_ms = (loop_.clock().mono_ns() - begun_mono_ns_) / kNanosPerMilli;
    trust.push_back({kWarm, "device " + id + ": still at " + std::to_string(*is_c) + " C after " +
                                SecondsText(waited_ms) + " of waiting, and it slows down at " +
                                std::to_string(*limit_c) + " C"});
  }
  return trust;
}

}  // namespace kprof
