#include "client/cli/text/rows.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/client/captured_output.h"

namespace kprof::cli {
namespace {

using Data = v1::ColumnData;

v1::QueryResponse Header(const std::vector<std::string>& columns) {
  v1::QueryResponse message;
  message.mutable_header();
  for (const std::string& column : columns) message.mutable_header()->add_columns()->set_name(column);
  return message;
}

v1::QueryResponse Totals(bool truncated) {
  v1::QueryResponse message;
  message.mutable_totals()->set_rows(3);
  message.mutable_totals()->set_truncated(truncated);
  message.mutable_totals()->set_elapsed_ms(1.5);
  return message;
}

// (1, 'a,b', NULL), (2^53+1, 'x\xff', 1.0), ('', x'00ff', 0.5)
v1::QueryResponse Batch() {
  v1::QueryResponse message;
  v1::QueryResponse::Batch& batch = *message.mutable_batch();
  batch.set_rows(3);
  Data& first = *batch.add_columns();
  for (Data::Kind kind : {Data::KIND_INTEGER, Data::KIND_INTEGER, Data::KIND_TEXT}) first.add_kinds(kind);
  first.add_integers(1);
  first.add_integers((int64_t{1} << 53) + 1);
  first.add_texts("");
  Data& second = *batch.add_columns();
  for (Data::Kind kind : {Data::KIND_TEXT, Data::KIND_TEXT, Data::KIND_BYTES}) second.add_kinds(kind);
  second.add_texts("a,b");
  second.add_texts("x\xff");
  second.add_blobs(std::string("\0\xff", 2));
  Data& third = *batch.add_columns();
  for (Data::Kind kind : {Data::KIND_UNSPECIFIED, Data::KIND_REAL, Data::KIND_REAL}) third.add_kinds(kind);
  third.add_reals(1.0);
  third.add_reals(0.5);
  return message;
}

std::string Printed(RowFormat format, const std::vector<v1::QueryResponse>& messages) {
  CapturedOutput captured;
  std::unique_ptr<RowWriter> writer = MakeRowWriter(format, captured.output());
  RowStream rows(*writer);
  for (const v1::QueryResponse& message : messages) {
    Status status = rows.Add(message);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  return captured.Results();
}

TEST(Rows, AsJson) {
  EXPECT_EQ(Printed(RowFormat::kJson, {Header({"n", "t", "r"}), Batch(), Totals(true)}),
            R"({"schema":"kprof.rows.v1","columns":["n","t","r"],"rows":[[1,"a,b",null],)"
            R"(["9007199254740993","x\\xff",1],["","\u0000\\xff",0.5]],"truncated":true,"elapsed_ms":1.5})"
            "\n");
}

TEST(Rows, AsJsonWithoutRows) {
  EXPECT_EQ(Printed(RowFormat::kJson, {Header({"n"}), Totals(false)}),
            R"({"schema":"kprof.rows.v1","columns":["n"],"rows":[],"truncated":false,"elapsed_ms":1.5})"
            "\n");
}

TEST(Rows, AsOneObjectPerRow) {
  EXPECT_EQ(Printed(RowFormat::kNdjson, {Header({"a", "a", "a_2"}), Batch(), Totals(false)}),
            R"({"a":1,"a_3":"a,b","a_2":null})"
            "\n"
            R"({"a":"9007199254740993","a_3":"x\\xff","a_2":1})"
            "\n"
            R"({"a":"","a_3":"\u0000\\xff","a_2":0.5})"
            "\n");
}

TEST(Rows, AsCsv) {
  EXPECT_EQ(Printed(RowFormat::kCsv, {Header({"n", "t", "r"}), Batch(), Totals(false)}),
            "n,t,r\r\n1,\"a,b\",\r\n9007199254740993,x\\xff,1.0\r\n\"\",x'00ff',0.5\r\n");
}

TEST(Rows, AsATable) {
  EXPECT_EQ(Printed(RowFormat::kTable, {Header({"n", "t", "r"}), Batch(), Totals(false)}),
            "n                 t        r\n"
            "1                 a,b      NULL\n"
            "9007199254740993  x\\xff    1.0\n"
            "                  x'00ff'  0.5\n");
}

TEST(Rows, WriteNothingBeforeTheFirstRowsOrTheEnd) {
  for (RowFormat format : {RowFormat::kTable, RowFormat::kCsv, RowFormat::kJson, RowFormat::kNdjson}) {
    EXPECT_EQ(Printed(format, {Header({"n"})}), "");
  }
}

TEST(Rows, AnInfiniteRealIsNullInJson) {
  v1::QueryResponse message;
  message.mutable_batch()->set_rows(1);
  Data& column = *message.mutable_batch()->add_columns();
  column.add_kinds(Data::KIND_REAL);
  column.add_reals(std::numeric_limits<double>::infinity());
  EXPECT_EQ(Printed(RowFormat::kNdjson, {Header({"n"}), message}), "{\"n\":null}\n");
}

void ExpectRefused(const std::vector<v1::QueryResponse>& messages) {
  CapturedOutput captured;
  std::unique_ptr<RowWriter> writer = MakeRowWriter(RowFormat::kJson, captured.output());
  RowStream rows(*writer);
  for (size_t i = 0; i + 1 < messages.size(); ++i) ASSERT_TRUE(rows.Add(messages[i]).ok());
  EXPECT_EQ(rows.Add(messages.back()).code(), ErrorCode::kBadInput);
}

TEST(Rows, MessagesThatMakeNoSenseAreRefused) {
  v1::QueryResponse too_few = Batch();
  too_few.mutable_batch()->mutable_columns(1)->clear_blobs();
  v1::QueryResponse too_short = Batch();
  too_short.mutable_batch()->set_rows(4);
  v1::QueryResponse unknown_kind = Batch();
  unknown_kind.mutable_batch()->mutable_columns(0)->set_kinds(0, static_cast<Data::Kind>(99));
  v1::QueryResponse no_columns;
  no_columns.mutable_batch()->set_rows(2'000'000'000);
  ExpectRefused({Batch()});
  ExpectRefused({Header({"n"}), Header({"n"})});
  ExpectRefused({Header({"n"}), Batch()});
  ExpectRefused({Header({"a", "b", "c"}), too_few});
  ExpectRefused({Header({"a", "b", "c"}), too_short});
  ExpectRefused({Header({"a", "b", "c"}), unknown_kind});
  ExpectRefused({Header({}), no_columns});
  ExpectRefused({Header({"n"}), Totals(false), Totals(false)});
}

TEST(Rows, ColumnsTellTheirUnitByTheirName) {
  for (const char* name : {"dur_ns", "slice.dur_ns", "sum(dur_ns)", "AVG(s.dur_ns)", "max(min(ts_ns))"}) {
    EXPECT_TRUE(HasUnit(name, "_ns")) << name;
  }
  for (const char* name : {"count(dur_ns)", "dur_ns / 1000", "ns", "sum(dur_ns) / 2", "'dur_ns'", "dur_ns_note", ""}) {
    EXPECT_FALSE(HasUnit(name, "_ns")) << name;
  }
  EXPECT_TRUE(HasUnit("size_bytes", "_bytes"));
}

}  // namespace
}  // namespace kprof::cli
