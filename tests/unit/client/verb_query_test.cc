#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "storage/base/descriptors.h"
#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::HasSubstr;

// The row 5 of a column n, after which more may come.
void SendRow(const FakeStream<v1::QueryResponse>& stream) {
  v1::QueryResponse message;
  message.mutable_header()->add_columns()->set_name("n");
  stream.write(message);
  message.mutable_batch()->set_rows(1);
  v1::ColumnData& column = *message.mutable_batch()->add_columns();
  column.add_kinds(v1::ColumnData::KIND_INTEGER);
  column.add_integers(5);
  stream.write(message);
}

void SendOneRow(const FakeStream<v1::QueryResponse>& stream, bool truncated) {
  SendRow(stream);
  v1::QueryResponse message;
  message.mutable_totals()->set_rows(1);
  message.mutable_totals()->set_truncated(truncated);
  stream.write(message);
}

class VerbQueryTest : public VerbsFixture {};

TEST_F(VerbQueryTest, QueryPrintsEachFormat) {
  daemon_.calls.query = [](const v1::QueryRequest& request, FakeStream<v1::QueryResponse> stream) {
    EXPECT_EQ(request.sql(), "SELECT 5 AS n");
    EXPECT_EQ(request.timeout_ms(), 2000);
    EXPECT_EQ(request.row_limit(), 7);
    SendOneRow(stream, false);
    return OkStatus();
  };
  daemon_.Start();
  folder_.Put("q.sql", "SELECT 5 AS n");
  const std::string sql = "@" + folder_.Path("q.sql");
  for (const char* format : {"table", "csv", "json", "ndjson"}) {
    EXPECT_EQ(Kprofctl({"query", sql, "--format", format, "--timeout", "2s", "--limit", "7"}), 0);
  }
  EXPECT_EQ(results_,
            "n\n5\nn\r\n5\r\n"
            R"({"schema":"kprof.rows.v1","columns":["n"],"rows":[[5]],"truncated":false,"elapsed_ms":0})"
            "\n{\"n\":5}\n");
}

TEST_F(VerbQueryTest, QuerySaysWhenRowsWereCutOff) {
  daemon_.calls.query = [](const v1::QueryRequest&, FakeStream<v1::QueryResponse> stream) {
    SendOneRow(stream, true);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"query", "q", "--json"}), 0);
  EXPECT_THAT(results_, HasSubstr("\"truncated\":true"));
  EXPECT_EQ(notes_, "kprofctl: cut off after 1 rows; --limit allows more\n");
}

TEST_F(VerbQueryTest, QueryThatIsRefusedPrintsNothing) {
  daemon_.calls.query = [](const v1::QueryRequest&, FakeStream<v1::QueryResponse> stream) {
    v1::QueryResponse message;
    message.mutable_header()->add_columns()->set_name("n");
    stream.write(message);
    return Fail(ErrorCode::kTimedOut, "run the query", "it took longer than 30 s");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"query", "q", "--json"}), 7);
  EXPECT_EQ(results_, "");
}

TEST_F(VerbQueryTest, QueryThatBreaksOffIsStillOneObjectOfJsonAndSaysWhy) {
  daemon_.calls.query = [](const v1::QueryRequest&, FakeStream<v1::QueryResponse> stream) {
    SendRow(stream);
    return Fail(ErrorCode::kTimedOut, "run the query", "it took longer than 30 s", "ask for less");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"query", "q", "--json"}), 7);
  EXPECT_EQ(results_, R"({"schema":"kprof.rows.v1","columns":["n"],"rows":[[5]],"truncated":true,"elapsed_ms":null,)"
                      R"("error":{"code":"timed_out","message":"run the query: it took longer than 30 s",)"
                      R"("remedy":"ask for less"}})"
                      "\n");
}

TEST_F(VerbQueryTest, QueryEndsQuietlyWhenItsReaderGoes) {
  std::signal(SIGPIPE, SIG_IGN);
  std::atomic<bool> ended = false;
  daemon_.calls.query = [&](const v1::QueryRequest&, FakeStream<v1::QueryResponse> stream) {
    v1::QueryResponse message;
    message.mutable_header()->add_columns()->set_name("n");
    stream.write(message);
    message.mutable_batch()->set_rows(1000);
    v1::ColumnData& column = *message.mutable_batch()->add_columns();
    for (int i = 0; i < 1000; ++i) {
      column.add_kinds(v1::ColumnData::KIND_INTEGER);
      column.add_integers(i);
    }
    while (stream.write(message)) {
    }
    ended = true;
    return OkStatus();
  };
  daemon_.Start();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  UniqueFd results(ends[1]);
  UniqueFd notes(::memfd_create("notes", MFD_CLOEXEC));
  Output output(results.get(), notes.get());
  EXPECT_EQ(RunKprofctl({"--socket", daemon_.socket_path(), "query", "q", "--format", "csv"}, output), 0);
  EXPECT_EQ(::lseek(notes.get(), 0, SEEK_END), 0);
  daemon_.Stop();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace kprof::cli
