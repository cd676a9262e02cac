#include "daemon/ingest/chrome/skipped_text.h"

namespace kprof {

std::string SkippedPlace::Sentence() const {
  const std::string at = "byte " + std::to_string(begin_bytes);
  switch (why) {
    case Why::kTooLarge:
      return "the event at " + at + " is larger than one may be";
    case Why::kTooManyMembers:
      return "the event at " + at + " has more members than one may have";
    default:
      return "what stands at " + at + " is no event";
  }
}

void AddSkippedPlace(std::vector<SkippedPlace>& places, const SkippedPlace& place) {
  if (!places.empty() && places.back().events_before == place.events_before) {
    places.back().end_bytes = place.end_bytes;
    places.back().stretches += place.stretches;
  } else {
    places.push_back(place);
  }
}

void SkippedText::Add(const SkippedPlace& place) {
  if (last_ && last_->events_before == place.events_before) {
    last_->stretches += place.stretches;
    return GoOnTo(place.end_bytes);
  }
  if (last_ && told_.size() < kMostTold) {
    told_.push_back(*last_);
  } else if (last_) {
    ++others_;
    others_bytes_ += last_->end_bytes - last_->begin_bytes;
  }
  last_ = place;
}

void SkippedText::Warn(BatchSink& sink, bool with_last) const {
  auto tell = [&](const SkippedPlace& place) {
    sink.Warn("bytes " + std::to_string(place.begin_bytes) + " to " + std::to_string(place.end_bytes) + " are skipped" +
              (place.stretches > 1 ? ", in " + std::to_string(place.stretches) + " stretches" : "") + ": " +
              place.Sentence());
  };
  for (const SkippedPlace& place : told_) tell(place);
  if (with_last && last_) tell(*last_);
  if (others_ > 0) {
    sink.Warn("in " + std::to_string(others_) + " more places " + std::to_string(others_bytes_) +
              " bytes are skipped for such reasons");
  }
}

}  // namespace kprof
