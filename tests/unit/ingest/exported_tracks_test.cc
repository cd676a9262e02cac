#include "daemon/ingest/chrome/chrome_facts.h"

#include <gtest/gtest.h>

#include <string>

#include "daemon/ingest/assemble/batch_sink.h"

namespace kprof {
namespace {

// Of each track its key and what it is.
std::vector<std::string> Words(const std::string& json) {
  const TraceBatch batch = ReadExportedTracks(json);
  const auto text = [&](uint32_t number) {
    return number == 0 ? std::string("''") : TextOfBatch(batch.strings.at(number - 1));
  };
  EXPECT_TRUE(batch.tracks.empty());
  std::vector<std::string> words;
  for (const auto& [key, row] : batch.told_tracks) {
    std::string line = std::to_string(static_cast<int>(key.family));
    for (const uint32_t number : {key.pid, key.tid, key.name, key.series}) line += " " + text(number);
    line += ": " + row.kind + " " + row.name;
    for (const auto& of : {row.pid, row.tid, row.process}) line += " " + of.value_or("-");
    for (const auto& of : {row.device, row.stream, row.sort_index}) line += " " + (of ? std::to_string(*of) : "-");
    words.push_back(line);
  }
  return words;
}

using Lines = std::vector<std::string>;

TEST(ExportedTracks, EachIsKnownByWhatItsEventsHave) {
  EXPECT_EQ(
      Words(R"([ {"of":"thread","pid":"1","tid":"GPU 0","track":{"kind":"gpu_stream","name":"n","pid":"1","tid":"7",)"
            R"("process":"p\"q","device":0,"stream":-2,"sort_index":3}},)"
            R"({"of":"async","pid":"1","cat":"nvtx","id":"ranges","track":{"kind":"async","name":"ranges"}} , )"
            R"({"of":"async","pid":"","cat":"c","id":"9","scope":"s","track":{"kind":"async","name":"a"}},)"
            R"({"of":"counter","pid":"1","name":"m","series":"v","track":{"kind":"counter","name":"m","device":1}}])"),
      (Lines{"1 1 GPU 0 '' '': gpu_stream n 1 7 p\"q 0 -2 3", "2 1 '' nvtx ranges: async ranges - - - - - -",
             "2 '' s c 9: async a - - - - - -", "3 1 '' m v: counter m - - - 1 - -"}));
}

TEST(ExportedTracks, WhatIsNoTrackIsPassedOver) {
  const std::string good = R"({"of":"thread","pid":"1","tid":"2","track":{"kind":"other","name":"good"}})";
  const std::string expected = "1 1 2 '' '': other good - - - - - -";
  for (const char* bad :
       {"{}", R"({"of":"thread","pid":"1","tid":"2"})", R"({"of":"thread","pid":"1","track":{"kind":"async"}})",
        R"({"of":"counter","track":{"kind":"gpu_stream"}})", R"({"of":"moon","track":{"kind":"other"}})",
        R"({"of":1,"track":[]})", R"({"of":"thread","track":{"kind":7}})", R"({"of":"thread","track":"kind"})"}) {
    EXPECT_EQ(Words("[" + std::string(bad) + "," + good + "]"), Lines{expected}) << bad;
  }
  for (const char* none : {"", "null", "{}", "[", "[1,2]", "[[]]", "7", "[{\"of\":\"thread\""}) {
    EXPECT_TRUE(Words(none).empty()) << none;
  }
  EXPECT_EQ(Words("[" + good + ",nonsense"), Lines{expected});
}

TEST(ExportedTracks, NumbersThatAreNoneAreNotSaid) {
  EXPECT_EQ(Words(R"([{"of":"thread","track":{"kind":"gpu_stream","device":"0","stream":1.5,"sort_index":1e400}}])"),
            Lines{"1 '' '' '' '': gpu_stream  - - - - - -"});
}

TEST(ExportedTracks, MoreThanThereMayBeArePassedOver) {
  std::string json = "[";
  for (size_t i = 0; i <= kMostExportedTracks; ++i) {
    json += std::string(i == 0 ? "" : ",") + R"({"of":"thread","track":{"kind":"other"}})";
  }
  EXPECT_EQ(ReadExportedTracks(json + "]").told_tracks.size(), kMostExportedTracks);
}

}  // namespace
}  // namespace kprof
