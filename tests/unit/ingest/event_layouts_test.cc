#include "daemon/ingest/chrome/event_layouts.h"

#include <gtest/gtest.h>

#include "daemon/ingest/text/json_scan.h"

namespace kprof {
namespace {

// An event as "key=value key=value", what is in args in brackets, strings in quotes; empty where there is none.
std::string Taken(EventLayouts& layouts, const std::string& text, size_t* size = nullptr) {
  const std::string padded = text + std::string(kScanSlackBytes, '\0');
  const std::optional<EventLayouts::Event> event = layouts.Take(padded.data(), padded.data() + text.size());
  if (!event) return "";
  if (size != nullptr) *size = static_cast<size_t>(event->end - padded.data());
  std::string out;
  for (size_t i = 0; i < event->layout->slots.size(); ++i) {
    const EventLayout::Slot& slot = event->layout->slots[i];
    const std::string quote = slot.kind == JsonKind::kString ? "'" : "";
    const std::string value = slot.key + "=" + quote + std::string(event->values[i].text()) + quote;
    out += (i > 0 ? " " : "") + (slot.in_args ? "[" + value + "]" : value);
  }
  return out.empty() ? "nothing" : out;
}

std::string Taken(const std::string& text) {
  EventLayouts layouts;
  return Taken(layouts, text);
}

TEST(EventLayouts, TakesAnEventApart) {
  EXPECT_EQ(Taken(R"({"ph": "X", "ts": 1.5, "pid": -1, "args": {"a": [1, {"b": "]}"}], "c": null}, "dur": 2})"),
            R"(ph='X' ts=1.5 pid=-1 [a=[1, {"b": "]}"}]] [c=null] dur=2)");
  EXPECT_EQ(Taken("{}"), "nothing");
  EXPECT_EQ(Taken(R"({"args":{}})"), "nothing");
  EXPECT_EQ(Taken("{ \"args\" : { } , \"ph\"\n:\t\"i\" }"), "ph='i'");
  EXPECT_EQ(Taken(R"({"args": [1], "x": true})"), "args=[1] x=true");
  EXPECT_EQ(Taken(R"({"args": null, "args": {"args": {"k": 1}}})"), R"(args=null [args={"k": 1}])");
}

TEST(EventLayouts, TheSecondOneOfAKindIsWhatTheFirstWas) {
  EventLayouts layouts;
  for (const int turn : {1, 2, 3}) {
    EXPECT_EQ(Taken(layouts, R"({"ph": "X", "name": "a\"b", "args": {"n": 1}})"), R"(ph='X' name='a\"b' [n=1])")
        << turn;
    EXPECT_EQ(Taken(layouts, R"({"ph": "X", "name": "", "args": {"n": "1"}})"), "ph='X' name='' [n='1']") << turn;
    EXPECT_EQ(Taken(layouts, R"({"ph": "X", "name": "c", "args": {"n": [1]}})"), "ph='X' name='c' [n=[1]]") << turn;
    EXPECT_EQ(Taken(layouts, R"({"ph": "X", "name": "c", "args": {"n": {"m":1}}})"), R"(ph='X' name='c' [n={"m":1}])")
        << turn;
    EXPECT_EQ(Taken(layouts, R"({"ph": "X", "name": "c", "args": {"n": -Infinity}})"), "ph='X' name='c' [n=-Infinity]")
        << turn;
    EXPECT_EQ(Taken(layouts, R"({"ph": "X", "name": "c"})"), "ph='X' name='c'") << turn;
  }
  EXPECT_EQ(layouts.generation(), 1u);
}

TEST(EventLayouts, LayoutsHaveNumbersInTheOrderInWhichTheyWereMet) {
  EventLayouts layouts;
  auto number = [&](const std::string& text) {
    const std::string padded = text + std::string(kScanSlackBytes, '\0');
    return layouts.Take(padded.data(), padded.data() + text.size())->layout->number;
  };
  EXPECT_EQ(number(R"({"a":1})"), 0u);
  EXPECT_EQ(number(R"({"a":"1"})"), 1u);
  EXPECT_EQ(number(R"({"a":2})"), 0u);
  EXPECT_EQ(number(R"({"a":2,"b":3})"), 2u);
  EXPECT_EQ(number(R"({"a":"2"})"), 1u);
}

TEST(EventLayouts, KeysAreReadWithoutEscapesThatTheyDoNotNeed) {
  EXPECT_EQ(Taken(R"({"\u0070h": "X", "args": {"a\/b": 1, "a\"b": 2, "\u0001": 3}})"),
            R"(ph='X' [a/b=1] [a\"b=2] [\u0001=3])");
}

TEST(EventLayouts, EndsBehindTheBraceAndLooksNoFurther) {
  EventLayouts layouts;
  size_t size = 0;
  EXPECT_EQ(Taken(layouts, R"({"a": {"b": 1}} , {"c"})", &size), R"(a={"b": 1})");
  EXPECT_EQ(size, 15u);
}

TEST(EventLayouts, ControlCharactersMayStandInStrings) {
  EXPECT_EQ(Taken("{\"name\": \"a\nb\x01\"}"), "name='a\nb\x01'");
}

TEST(EventLayouts, WhatIsCutOffIsNoEventWhereverThatIs) {
  const std::string text = R"({"ph": "X", "ts": 12.5, "name": "a\\", "args": {"grid": [1, 1], "ok": true, "d": {}}})";
  EventLayouts known;
  ASSERT_NE(Taken(known, text), "");
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(Taken(text.substr(0, size)), "") << size;
    EXPECT_EQ(Taken(known, text.substr(0, size)), "") << size;
  }
}

TEST(EventLayouts, WhatIsNoObjectIsNoEvent) {
  for (const char* text : {"", "1", "[]", "null", "\"a\"", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}",
                           "{\"a\":1 \"b\":2}", "{a:1}", "{\"a\":tru}", "{\"a\":[1}", "{\"args\":{}", "{\"args\":{,}}",
                           "{\"args\":{\"a\":1,}}", "{\"a\":1]", "{\"a\":1}}"}) {
    if (std::string(text) == "{\"a\":1}}") {
      EXPECT_EQ(Taken(text), "a=1");  // what follows is not its own
    } else {
      EXPECT_EQ(Taken(text), "") << text;
    }
  }
}

TEST(EventLayouts, SpaceBeforeAValueMayComeAndGo) {
  EventLayouts layouts;
  for (const std::string value : {"null", " 1", " null", "2", "true", " \"x\"", "false", " [1]", "null", "\t{}"}) {
    const std::string text = "{\"a\":" + value + "}" + std::string(kScanSlackBytes, '\0');
    const std::optional<EventLayouts::Event> event =
        layouts.Take(text.data(), text.data() + text.size() - kScanSlackBytes);
    EXPECT_TRUE(event.has_value()) << value;
  }
}

TEST(EventLayouts, AnyDepthIsAValue) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_TRUE(Taken("{\"a\":" + deep + "}") == "a=" + deep);
}

TEST(EventLayouts, TooManyValuesAreNoEvent) {
  auto with = [](size_t count) {
    std::string text = "{\"k\":1";
    for (size_t i = 1; i < count; ++i) text += ",\"k\":1";
    return text + "}";
  };
  EXPECT_NE(Taken(with(EventLayouts::kMostSlots)), "");
  EXPECT_EQ(Taken(with(EventLayouts::kMostSlots + 1)), "");
}

TEST(EventLayouts, ForgetsAllWhereEveryEventIsWrittenInAnotherWay) {
  EventLayouts layouts;
  for (size_t i = 0; i < 10 * EventLayouts::kMostBranches; ++i) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_EQ(Taken(layouts, "{\"" + key + "\":1}"), key + "=1");
  }
  EXPECT_GT(layouts.generation(), 5u);
  const size_t before = layouts.generation();
  const std::string long_key(1 << 17, 'k');
  for (size_t i = 0; i <= EventLayouts::kMostTextBytes >> 17; ++i) {
    ASSERT_NE(Taken(layouts, "{\"" + long_key + std::to_string(i) + "\":1}"), "");
  }
  EXPECT_GT(layouts.generation(), before);
}

}  // namespace
}  // namespace kprof
