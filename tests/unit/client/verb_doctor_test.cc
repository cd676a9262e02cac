#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class VerbDoctorTest : public VerbsFixture {};

TEST_F(VerbDoctorTest, DoctorSaysWhatIsWrongAndItsRemedy) {
  daemon_.calls.diagnose = [](const v1::DiagnoseRequest&, v1::DiagnoseResponse& response) {
    v1::Diagnosis& diagnosis = *response.add_diagnoses();
    diagnosis.set_check("cpu_governor");
    diagnosis.set_level(v1::Diagnosis::LEVEL_WARNING);
    diagnosis.set_message("it is powersave");
    diagnosis.set_remedy("set performance");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"doctor"}), 0);
  EXPECT_THAT(results_, EndsWith("warning  cpu_governor: it is powersave\n         remedy: set performance\n"));
  EXPECT_EQ(Kprofctl({"doctor", "--json"}), 0);
  EXPECT_THAT(results_, HasSubstr(R"({"schema":"kprof.doctor.v1","diagnoses":[{"check":"cpu_governor",)"
                                  R"("level":"warning","message":"it is powersave","remedy":"set performance"}]})"));
}

}  // namespace
}  // namespace kprof::cli
