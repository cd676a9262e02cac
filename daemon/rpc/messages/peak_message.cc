#include "daemon/rpc/messages/peak_message.h"

#include <string>
#include <utility>

#include "daemon/devices/peaks/driver_peaks.h"
#include "daemon/devices/peaks/peak_scaling.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

using PeakList = google::protobuf::RepeatedPtrField<v1::Peak>;

DriverFacts DriverFactsOf(const NvidiaIdentity& identity) {
  DriverFacts facts;
  if (!identity.compute_capability.empty()) facts.compute_capability = identity.compute_capability;
  facts.core_count = identity.sm_count;
  facts.memory_bytes = identity.memory_bytes;
  facts.memory_bus_bits = identity.memory_bus_bits;
  facts.max_memory_mhz = identity.max_memory_mhz;
  return facts;
}

DevicePeaks PeaksOfKind(const Device& device, const DeviceFacts& facts, const PeakTable& table) {
  const std::string& chip = facts.neuron && !facts.neuron->chip.empty() ? facts.neuron->chip : device.name;
  const DevicePeaks* known = table.Find(device.kind, facts.nvidia ? facts.nvidia->name : chip);
  return known == nullptr ? DevicePeaks() : *known;
}

MigShare ShareOf(const MigInstance& instance, const NvidiaIdentity& device) {
  MigShare share{instance.sm_count, instance.gpu_slices, instance.compute_slices, instance.memory_bytes, {}};
  if (instance.memory_bytes && device.memory_bytes) {
    share.memory_slices = MemorySlicesOf(*instance.memory_bytes, *device.memory_bytes);
  }
  return share;
}

void FillList(const DevicePeaks& peaks, PeakList& out) {
  for (const Peak& peak : peaks.peaks) FillPeak(peak, *out.Add());
}

// The peaks of the part, or why it has none.
template <typename Part>
void FillPart(const DevicePeaks& whole, const Part& scale, PeakList& out, std::string& why_none) {
  if (whole.vendor.empty()) {
    why_none = "those of the device are not known";
    return;
  }
  const Result<DevicePeaks> part = scale();
  if (part.ok()) return FillList(*part, out);
  why_none = ReadableText(part.status().why());
}

}  // namespace

DevicePeaks PeaksOf(const Device& device, const DeviceFacts& facts, const PeakTable& table,
                    const std::vector<MeasuredCeiling>& ceilings) {
  DevicePeaks peaks = PeaksOfKind(device, facts, table);
  if (facts.nvidia) {
    Result<DevicePeaks> at_hand = WithDriverFacts(peaks, DriverFactsOf(*facts.nvidia));
    // The name has led to another device's: what its own driver says stays.
    if (!at_hand.ok()) at_hand = WithDriverFacts(DevicePeaks(), DriverFactsOf(*facts.nvidia));
    if (at_hand.ok()) peaks = *std::move(at_hand);
  }
  for (const MeasuredCeiling& ceiling : ceilings) {
    Result<DevicePeaks> with = WithMeasuredCeiling(peaks, ceiling);
    if (with.ok()) peaks = *std::move(with);
  }
  return peaks;
}

void FillPeak(const Peak& peak, v1::Peak& out) {
  out.set_quantity(peak.quantity);
  out.set_dtype(peak.dtype);
  out.set_accumulate(peak.accumulate);
  out.set_value(peak.value);
  out.set_unit(peak.unit);
  out.set_confidence(std::string(PeakConfidenceName(peak.confidence)));
  out.set_origin(std::string(PeakOriginName(peak.origin)));
  out.set_source(peak.source);
  out.set_note(peak.note);
}

void FillPeaks(const DevicePeaks& peaks, const DeviceFacts& facts, v1::Device& out) {
  FillList(peaks, *out.mutable_peaks());
  if (facts.nvidia && facts.nvidia_state) {
    const std::vector<MigInstance>& instances = facts.nvidia_state->mig_instances;
    for (int i = 0; i < out.nvidia().mig_instances_size() && i < static_cast<int>(instances.size()); ++i) {
      v1::MigInstance& message = *out.mutable_nvidia()->mutable_mig_instances(i);
      const MigShare share = ShareOf(instances[static_cast<size_t>(i)], *facts.nvidia);
      FillPart(
          peaks, [&] { return ScaledToMig(peaks, share); }, *message.mutable_peaks(), *message.mutable_no_peaks());
    }
  }
  if (facts.neuron && out.has_neuron()) {
    v1::NeuronFacts& message = *out.mutable_neuron();
    FillPart(
        peaks,
        [&] {
          return ScaledToCores(peaks, {1, facts.neuron->lnc.value_or(1)});
        },
        *message.mutable_core_peaks(), *message.mutable_no_core_peaks());
  }
}

}  // namespace kprof
