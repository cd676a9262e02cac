#include "daemon/ingest/chrome/event_layouts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/base/newer_processors.h"

namespace kprof {
namespace {

enum class Level : uint8_t { kOutside, kEvent, kArgs };

constexpr size_t kPadding = 16;  // of a step's text

// Whether the text begins with `known`, behind which kPadding bytes can be read, as behind `at`.
bool Begins(const char* at, const char* known, size_t size) {
#if defined(__SSE2__)
  const auto same = [&] {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(known));
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)));
  };
  for (; size > 16; size -= 16, at += 16, known += 16) {
    if (same() != 0xffff) return false;
  }
  return ((same() | ~0U << size) & 0xffffU) == 0xffff;
#else
  return std::memcmp(at, known, size) == 0;
#endif
}

JsonKind KindAt(const char* at) {
  if (*at == '"') return JsonKind::kString;
  if (*at == '[' || *at == '{') return JsonKind::kNested;
  const char digit = *at == '-' ? at[1] : *at;
  return digit >= '0' && digit <= '9' ? JsonKind::kNumber : JsonKind::kWord;
}

const char* FindEnd(JsonKind kind, const char* at, const char* end) {
  switch (kind) {
    case JsonKind::kString:
      return FindStringEnd(at, end);
    case JsonKind::kNumber:
      return FindNumberEnd(at);
    default:
      return FindValueEnd(at, end);
  }
}

// Of ASCII, without escapes that it does not need: "\u0070h" is "ph".
std::string PlainKey(std::string_view quoted) {
  if (quoted.find('\\') == quoted.npos) return std::string(quoted);
  const std::string plain = UnescapeJson(quoted);
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (!std::all_of(plain.begin(), plain.end(), is_ascii)) return std::string(quoted);
  std::string again;
  AppendJsonString(again, plain);
  return again == '"' + plain + '"' ? plain : std::string(quoted);
}

// The text ends in what may be the front of a word.
bool IsWordCut(const char* at, const char* end) {
  constexpr ptrdiff_t kLongestWord = 9;  // +infinity
  const auto is_part = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+'; };
  return end - at < kLongestWord && std::all_of(at, end, is_part);
}

}  // namespace

// The text up to the next value, with the quote that opens it, and that value's kind; or the text up to the end of the
// event.
struct EventLayouts::Step {
  std::string text;  // and kPadding zeros
  size_t size = 0;   // without them
  JsonKind kind = JsonKind::kString;
  char opens = 0;  // of a nested value: its bracket or brace
  Level level = Level::kOutside;
  std::string key;
  const EventLayout* layout = nullptr;  // of an end
  Step* before = nullptr;
  Step* first = nullptr;  // what may follow it: the last one that did comes first
  Step* next = nullptr;   // another one that may follow what is before this
  size_t branches = 0;    // how many may follow it

  void SetText(const char* begin, const char* text_end) {
    text.assign(begin, text_end);
    size = text.size();
    text.append(kPadding, '\0');
  }
  bool Fits(const char* at, const char* end) const {
    if (size > static_cast<size_t>(end - at) || !Begins(at, text.data(), size)) return false;
    if (layout != nullptr || kind == JsonKind::kString) return true;
    const char* value = at + size;
    if (KindAt(value) != kind) return false;
    if (kind == JsonKind::kNumber) return true;
    return kind == JsonKind::kNested ? *value == opens : *value > ' ';  // space before a value is of another text
  }
};

EventLayouts::EventLayouts(Arguments arguments) : arguments_(arguments) {
  ForgetAll();
}
EventLayouts::~EventLayouts() = default;

void EventLayouts::ForgetAll() {
  steps_.clear();
  layouts_.clear();
  steps_.push_back(std::make_unique<Step>());
  text_bytes_ = 0;
  branches_ = 0;
  ++generation_;
}

KPROF_FOR_NEWER_PROCESSORS std::optional<EventLayouts::Event> EventLayouts::Take(const char* at, const char* end) {
  if (steps_.size() > kMostSteps || text_bytes_ > kMostTextBytes || branches_ > kMostBranches) ForgetAll();
  has_too_many_ = false;
  Step* step = steps_.front().get();
  for (size_t count = 0;; ++count) {
    Step* next = Follow(*step, at, end);
    if (next == nullptr) next = Learn(*step, at, end);
    if (next == nullptr) return std::nullopt;
    step = next;
    at += step->size;
    if (step->layout != nullptr) return Event{step->layout, values_.data(), at};
    const char* value_end = FindEnd(step->kind, at, end);
    has_too_many_ = count == kMostSlots;
    if (value_end == nullptr || value_end >= end || has_too_many_) {
      is_cut_ = value_end != nullptr || step->kind != JsonKind::kWord || IsWordCut(at, end);
      return std::nullopt;
    }
    values_[count] = {at, static_cast<uint32_t>(value_end - at)};
    at = value_end;
  }
}

EventLayouts::Step* EventLayouts::Follow(Step& from, const char* at, const char* end) {
  Step** link = &from.first;
  for (Step* step = from.first; step != nullptr; link = &step->next, step = step->next) {
    if (!step->Fits(at, end)) continue;
    if (step != from.first) {
      *link = step->next;
      step->next = std::exchange(from.first, step);
    }
    return step;
  }
  return nullptr;
}

EventLayouts::Step* EventLayouts::Learn(Step& from, const char* at, const char* end) {
  const char* begin = at;
  Step step;
  step.before = &from;
  step.level = from.level;
  enum class Expect : uint8_t { kKeyOrEnd, kCommaOrEnd, kKey };
  Expect expect = Expect::kCommaOrEnd;
  if (from.level == Level::kOutside) {
    if (at >= end || *at != '{') return NoStep(at >= end);
    ++at;
    step.level = Level::kEvent;
    expect = Expect::kKeyOrEnd;
  } else if (from.kind == JsonKind::kString) {
    ++at;  // its closing quote
  }
  while (true) {
    at = SkipSpace(at);
    if (at >= end) return NoStep(true);
    if (*at == '}' && expect != Expect::kKey) {
      ++at;
      expect = Expect::kCommaOrEnd;
      step.level = step.level == Level::kArgs ? Level::kEvent : Level::kOutside;
      if (step.level == Level::kEvent) continue;
      step.SetText(begin, at);
      return Remember(from, std::move(step));
    }
    if (expect == Expect::kCommaOrEnd) {
      if (*at != ',') return NoStep(false);
      ++at;
      expect = Expect::kKey;
      continue;
    }
    if (*at != '"') return NoStep(false);
    const char* quote = FindStringEnd(at + 1, end);
    if (quote == nullptr) return NoStep(true);
    step.key = PlainKey({at + 1, static_cast<size_t>(quote - at - 1)});
    at = SkipSpace(quote + 1);
    if (at >= end || *at != ':') return NoStep(at >= end);
    at = SkipSpace(at + 1);
    if (at >= end) return NoStep(true);
    if (arguments_ == Arguments::kEach && step.level == Level::kEvent && step.key == "args" && *at == '{') {
      step.level = Level::kArgs;
      expect = Expect::kKeyOrEnd;
      ++at;
      continue;
    }
    step.kind = KindAt(at);
    step.opens = step.kind == JsonKind::kNested ? *at : '\0';
    if (step.kind == JsonKind::kString) ++at;
    step.SetText(begin, at);
    return Remember(from, std::move(step));
  }
}

// What follows no known step: the text ends there, or it is no event.
EventLayouts::Step* EventLayouts::NoStep(bool is_cut) {
  is_cut_ = is_cut;
  return nullptr;
}

EventLayouts::Step* EventLayouts::Remember(Step& from, Step step) {
  if (step.level == Level::kOutside) {
    auto layout = std::make_unique<EventLayout>();
    layout->number = layouts_.size();
    for (const Step* slot = &from; slot->before != nullptr; slot = slot->before) {
      layout->slots.push_back({slot->key, slot->kind, slot->level == Level::kArgs});
    }
    std::reverse(layout->slots.begin(), layout->slots.end());
    step.layout = layout.get();
    layouts_.push_back(std::move(layout));
  }
  text_bytes_ += step.text.size() + step.key.size();
  branches_ = std::max(branches_, ++from.branches);
  step.next = from.first;
  steps_.push_back(std::make_unique<Step>(std::move(step)));
  from.first = steps_.back().get();
  return from.first;
}

}  // namespace kprof
