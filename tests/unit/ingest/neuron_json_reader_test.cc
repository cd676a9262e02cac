#include "daemon/ingest/neuron/neuron_json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "storage/trace/format/neuron_device_tables.h"
#include "tests/fakes/ingest/batch_texts.h"
#include "tests/fakes/ingest/memory_text.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kDeviceProfile = R"(time="2026" level=info msg="Processing {1} files"
{"dma":[{"duration":"40","timestamp":30,"aggregated":"no","duplicate":"no","is_cc_dma":"yes","id":9223372036854775806,
  "dma_queue":"3","dma_engine":"1","subgroup":"qSyncIO0-Q3-E1","queue_type":"data","transfer_size":512,"variable":"input0",
  "source":[["VIRTUAL"]],"dest":["SB"],"packet_aggregation_id":7}],
 "instruction":[
  {"id":9007199254740993,"timestamp":7,"duration":10,"evt_wait_time":2,"subgroup":"Tensor","label":"TensorMatrix","opcode":"MATMUL",
   "operands":"a\u0062","instruction_type":"TRANSPOSE","elements":"64","nki_source_location":"/w/model.py:12","stack_frame_ids":[3,7]},
  {"opcode":"EVENT_SEMAPHORE","subgroup":"Tensor","duration":0.0,"timestamp":9,"id":2,"layer":"k/attn.py:5:9"},
  7, {"subgroup":"Sync","opcode":"NOP","id":3}],
 "summary":[{"total_time":0.0000001,"tensor_engine_active_time_percent":0.25,"hardware_flops":128,"transpose_flops":"NaN","instance_type":"inf2.xlarge"}],
 "metadata":[{"last_hw_timestamp":101,"pe_clock_freq":2.8,"ntff_version":5}],
 "profile_info":[{"neff_name":"/secret/folder/kernel.neff"}],
 "warnings":[{"category":"Missing Data","message":"DGE"}], "unheard_of":[{"a":1,"b":"x"}],
 "pending_dma":[{"timestamp":5,"value":2}], "ham":[{"timestamp":1,"duration":2,"type":0,"k":7,"n":8}]})";

Status ReadInto(BatchTexts& texts, const std::string& content, int64_t most_bytes = 1 << 20,
                const ProfileLimits& limits = {}) {
  MemoryText first(content);
  MemoryText text(content);
  return ReadNeuronJson(&first, text, texts, most_bytes, limits);
}

TEST(NeuronJsonReader, ReadsTheTablesOfAProfile) {
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, kDeviceProfile).ok());
  EXPECT_THAT(
      texts.side_rows,
      Contains(StartsWith(
          "neuron_instruction 9007199254740993 Tensor NULL MATMUL 7 10 2 NULL ab NULL NULL /w/model.py 12 [3,7] NULL "
          "TRANSPOSE 64 128 ")));
  EXPECT_THAT(texts.side_rows, Contains(HasSubstr(" EVENT_SEMAPHORE 9 0 ")));
  EXPECT_THAT(texts.side_rows, Contains(HasSubstr(" k/attn.py 5 ")));
  EXPECT_THAT(texts.side_rows,
              Contains(StartsWith("neuron_dma 9223372036854775806 qSyncIO0-Q3-E1 data 3 1 NULL 30 40 512 ")));
  EXPECT_THAT(texts.side_rows, Contains("metric kernel.neff 0 total_time 100 ns"));
  EXPECT_THAT(texts.side_rows, Contains("metric kernel.neff 0 tensor_engine_active_time_percent 25 percent"));
  EXPECT_THAT(texts.side_rows, Contains("metric kernel.neff 0 transpose_flops 0 flop"));
  EXPECT_THAT(texts.side_rows, Contains("metric kernel.neff 0 tensor_engine_clock_freq 2.8 GHz"));
  EXPECT_THAT(texts.side_rows, Contains(StartsWith("neuron_warning Warning Missing Data DGE")));
  EXPECT_THAT(texts.side_rows, Contains(StartsWith("neuron_fact unheard_of 0 a 1")));
  EXPECT_THAT(texts.side_rows, Contains("neuron_fact profile_info 0 neff_name nan kernel.neff"));  // without folders
  EXPECT_EQ(texts.facts.at("neuron_profile"), "device");
  EXPECT_EQ(texts.facts.at("neuron_instance_type"), "inf2.xlarge");
  EXPECT_EQ(texts.facts.at("time_zero_ns"), "0");
  EXPECT_EQ(texts.facts.count("neuron_time_unit"), 0u);
  EXPECT_THAT(texts.warnings, Contains("the profiler warns: Missing Data: DGE"));
  EXPECT_THAT(texts.warnings, Contains("1 rows have no time: they are on no track"));
  EXPECT_THAT(texts.warnings, Contains("1 rows are no objects: they were left out"));
}

TEST(NeuronJsonReader, DividesPicoseconds) {
  std::string source = kDeviceProfile;
  source.replace(source.find("\"last_hw_timestamp\":101"), 23, "\"last_hw_timestamp\":101234");
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, source).ok());
  EXPECT_EQ(texts.facts.at("neuron_time_unit"), "ps");
  EXPECT_THAT(texts.side_rows, Contains(StartsWith("neuron_instruction 9007199254740993 Tensor NULL MATMUL 0 0 0 ")));
  EXPECT_THAT(texts.side_rows, Contains("metric kernel.neff 0 last_hw_timestamp 101 ns"));
}

TEST(NeuronJsonReader, ReadsSummaries) {
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, R"({"n_0a1b": {"dma_active_time": "0.5", "hbm_read_bytes": 7, "compiler_version": "2.3"},
      "s_9": {"total_duration_ns": 1786270865722793417, "message_count": {"Trace_Events_Message_Count": 9634}}})")
                  .ok());
  EXPECT_THAT(texts.side_rows, Contains("metric n_0a1b 0 dma_active_time 5e+08 ns"));
  EXPECT_THAT(texts.side_rows, Contains("metric n_0a1b 0 hbm_read_bytes 7 bytes"));
  EXPECT_THAT(texts.side_rows, Contains(HasSubstr("message_count.Trace_Events_Message_Count 9634")));
  EXPECT_THAT(texts.side_rows, Each(Not(HasSubstr("total_duration_ns"))));
  EXPECT_EQ(texts.facts.at("neuron_compiler_version"), "2.3");
}

TEST(NeuronJsonReader, KeepsWhatIsWholeOfATextThatEndsEarly) {
  const std::string source = kDeviceProfile;
  size_t with_rows = 0;
  for (size_t size = source.find("{\"dma\""); size < source.size(); size += 7) {
    BatchTexts texts;
    const Status status = ReadInto(texts, source.substr(0, size));
    EXPECT_TRUE(status.ok() || status.code() == ErrorCode::kNotFound) << size;
    if (!status.ok()) continue;
    EXPECT_FALSE(texts.warnings.empty()) << size;
    with_rows += texts.side_rows.empty() ? 0 : 1;
  }
  EXPECT_GT(with_rows, 100u);
}

TEST(NeuronJsonReader, LeavesOutLargeRowsAndTooManyOperands) {
  std::string source =
      R"({"instruction":[{"id":1,"timestamp":1,"duration":1,"operands":")" + std::string(3'000'000, 'x') +
      R"("},{"id":2,"timestamp":2,"duration":1,"operands":"one"},{"id":3,"timestamp":3,"duration":1,"operands":"two"}]})";
  BatchTexts texts;
  ASSERT_TRUE(ReadInto(texts, source, 1 << 20, {.operand_bytes = 2}).ok());
  EXPECT_THAT(texts.warnings, Contains("1 rows are larger than any may be: they were left out"));
  EXPECT_THAT(texts.warnings, Contains(HasSubstr("the operands of 1 instructions were left out")));
  EXPECT_THAT(texts.side_rows, Contains(HasSubstr("neuron_instruction 3 ")));
}

TEST(NeuronJsonReader, IsRecognisedByItsFirstKey) {
  const auto looks = [](const std::string& text) { return LooksLikeNeuronJson(text); };
  EXPECT_TRUE(looks(kDeviceProfile));
  EXPECT_TRUE(looks("{\"summary\": [{"));
  EXPECT_TRUE(looks("\n {\n \"n_12ab\" : {"));
  EXPECT_FALSE(looks("{\"metadata\": {\"a\":1}, \"traceEvents\": []}"));  // Chrome's is an object
  EXPECT_FALSE(looks("{\"traceEvents\": [{\"name\":\"summary\"}]}"));
  EXPECT_FALSE(looks("{\"files\": {}}"));
  EXPECT_FALSE(looks("{\"trace_event\": [{"));  // of a system's profile
}

TEST(SourcePlace, IsAFileAndALine) {
  EXPECT_EQ(ReadSourcePlace("/w/model.py:12")->line, 12);
  EXPECT_EQ(ReadSourcePlace("/w/model.py:12:5")->line, 12);
  EXPECT_EQ(ReadSourcePlace("/w/model.py:12:5")->file, "/w/model.py");
  EXPECT_EQ(ReadSourcePlace("[\"a.py:3\",\"b.py:4\"]")->file, "a.py");
  EXPECT_FALSE(ReadSourcePlace("model.py"));
  EXPECT_FALSE(ReadSourcePlace("model.py:x"));
  EXPECT_FALSE(ReadSourcePlace(":12"));
  EXPECT_FALSE(ReadSourcePlace(""));
}

TEST(NeuronDeviceTables, AreTablesOfParts) {
  for (const SideTable* const table :
       {&NeuronInstructionSideTable(), &NeuronDmaSideTable(), &NeuronActiveSideTable(), &NeuronLayerSideTable(),
        &NeuronTensorSideTable(), &NeuronFrameSideTable(), &NeuronWarningSideTable(), &NeuronFactSideTable()}) {
    EXPECT_TRUE(CheckSideTable(*table).ok()) << table->name;
  }
  EXPECT_EQ(NeuronInstructionSideTable().columns.size(), kInstructionColumns);
  EXPECT_EQ(NeuronDmaSideTable().columns.size(), kDmaColumns);
  for (const ProfileTable& table : ProfileTables()) {
    for (const ProfileField& field : table.fields) EXPECT_LT(field.column, kMostProfileCells);
  }
}

}  // namespace
}  // namespace kprof
