#include "daemon/exports/csv_export.h"

#include "tests/unit/exports/exports_fixture.h"

namespace kprof {
namespace {

constexpr const char* kHeader =
    "rank,track,process,kind,device,stream,ts_ns,dur_ns,name,category,depth,correlation,args,beside\r\n";

using CsvExportTest = ExportsTest;

TEST_F(CsvExportTest, ASliceIsALine) {
  const std::unique_ptr<PartReader> part =
      Import(R"([{"ph":"M","name":"process_name","pid":0,"args":{"name":"a, \"b\""}},)"
             R"({"ph":"X","name":"k<1, 2>","cat":"kernel","pid":0,"tid":7,"ts":1,"dur":2.5,)"
             R"("args":{"device":0,"stream":7,"correlation":3,"s":"x"}}])");
  EXPECT_EQ(Export("csv", *part),
            std::string(kHeader) +
                ",stream 7,\"a, \"\"b\"\"\",gpu_stream,0,7,0,2500,\"k<1, 2>\",kernel,0,3,"
                "\"{\"\"device\"\":0,\"\"stream\"\":7,\"\"correlation\"\":3,\"\"s\"\":\"\"x\"\"}\",\r\n");
}

TEST_F(CsvExportTest, WhatStandsBesideTheArgumentsIsAColumnOfItsOwn) {
  const std::unique_ptr<PartReader> part =
      Import(R"([{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":1,"tts":5,"cname":"good","args":{"tts":6}},)"
             R"({"ph":"X","name":"b","pid":1,"tid":2,"ts":3,"dur":1,"tts":7}])");
  EXPECT_EQ(Export("csv", *part),
            std::string(kHeader) +
                ",2,,cpu_thread,,,0,1000,a,,0,,\"{\"\"tts\"\":6}\",\"{\"\"tts\"\":5,\"\"cname\"\":\"\"good\"\"}\"\r\n"
                ",2,,cpu_thread,,,2000,1000,b,,0,,,\"{\"\"tts\"\":7}\"\r\n");
}

TEST_F(CsvExportTest, WhatIsNotKnownIsEmpty) {
  const std::unique_ptr<PartReader> part =
      Import(R"([{"ph":"B","name":"a\nb","pid":1,"tid":2,"ts":1}])", {{"rank", "5"}});
  EXPECT_EQ(Export("csv", *part), std::string(kHeader) + "5,2,,cpu_thread,,,0,,\"a\nb\",,0,,,\r\n");
}

TEST_F(CsvExportTest, RanksAreOneBehindTheOther) {
  const std::unique_ptr<PartReader> first = Import(R"([{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":1}])");
  const std::unique_ptr<PartReader> second = Import(R"([{"ph":"X","name":"b","pid":1,"tid":2,"ts":1,"dur":1}])");
  EXPECT_EQ(ExportParts("csv", {{first.get(), 4}, {second.get(), 1}}),
            std::string(kHeader) + "4,2,,cpu_thread,,,0,1000,a,,0,,,\r\n1,2,,cpu_thread,,,0,1000,b,,0,,,\r\n");
}

}  // namespace
}  // namespace kprof
