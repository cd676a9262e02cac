#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/local_file.h"
#include "client/cli/text/nearest_name.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/views/analysis_print.h"
#include "client/cli/views/analysis_tables.h"
#include "client/cli/views/markdown_summary.h"
#include "client/cli/views/samples_screen.h"
#include "client/cli/views/summary_screen.h"
#include "kprof/v1/analyses.pb.h"
#include "storage/base/readable_text.h"
#include "storage/base/status.h"

namespace kprof::cli {
namespace {

constexpr size_t kMostJsonBytes = size_t{64} << 10;  // of an option

Status BadAnalysis(std::string why, std::string remedy) {
  return Fail(ErrorCode::kUsage, "analyze", std::move(why), std::move(remedy));
}

// The remedy for an option that the kind has not.
std::string OptionsInstead(const v1::AnalysisKind& kind, const std::string& typed) {
  std::vector<std::string> names;
  std::string all;
  for (const v1::AnalysisOption& option : kind.options()) {
    names.push_back("--" + option.name());
    all += (all.empty() ? "" : ", ") + names.back();
  }
  return WithSuggestion(typed, names, kind.name() + " has " + (all.empty() ? "none" : all));
}

// "--name", with dashes.
std::string NameOfOption(const std::string& word) {
  std::string name = word.substr(2, word.find('=') - 2);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// A time with a unit as nanoseconds, "1.5ms" as 1500000, and digits without commas; other text as it is, which the
// daemon takes or refuses.
std::string NanosecondsIn(const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  std::string plain = text;  // tables show times as 1,234,567 ns
  std::erase(plain, ',');
  double amount = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), amount);
  if (error != std::errc()) return text;
  const std::string_view typed(end, static_cast<size_t>(plain.data() + plain.size() - end));
  if (typed.empty()) return plain;
  for (const auto& [unit, ns] : kUnits) {
    if (typed == unit && std::abs(amount) * ns < 9e18) return std::to_string(std::llround(amount * ns));
  }
  return text;
}

// Fails with kUsage where there is none of that name; the remedy names those that are.
Result<const v1::AnalysisKind*> FindKind(const v1::ListAnalysesResponse& list, const std::string& name) {
  std::vector<std::string> names;
  std::string all;
  for (const v1::AnalysisKind& kind : list.kinds()) {
    if (kind.name() == name) return &kind;
    names.push_back(kind.name());
    all += (all.empty() ? "" : ", ") + kind.name();
  }
  return BadAnalysis("there is no analysis '" + ReadableText(name) + "'",
                     WithSuggestion(name, names, "there are " + all + "; kprofctl analyze --list tells of them"));
}

// Makes a request from the words typed after `analyze`. The daemon's list of kinds tells which words are options: this
// client knows no kind by name. `words`: KIND, RUN... and options of the kind, in any order behind KIND: `--name VALUE`
// or `--name=VALUE`; a boolean option is true where no value is given, and JSON may stand in a file: @FILE. Fails with
// kUsage for an option that the kind has not, or that is there twice. The daemon checks the values.
Result<v1::AnalyzeRequest> ReadAnalysis(const v1::ListAnalysesResponse& list, const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with("-")) {
    return BadAnalysis("the kind of analysis must stand first", "write kprofctl analyze KIND RUN...");
  }
  ASSIGN_OR_RETURN(const v1::AnalysisKind* const kind, FindKind(list, words.front()));
  v1::AnalyzeRequest request;
  request.set_kind(kind->name());
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--") || word.size() == 2) {
      request.add_runs(word);
      continue;
    }
    const std::string name = NameOfOption(word);
    const auto option = std::find_if(kind->options().begin(), kind->options().end(),
                                     [&name](const v1::AnalysisOption& one) { return one.name() == name; });
    if (option == kind->options().end()) {
      return BadAnalysis("there is no option --" + ReadableText(name), OptionsInstead(*kind, "--" + name));
    }
    const size_t equals = word.find('=');
    std::string value = "true";
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (option->type() != v1::ANALYSIS_TYPE_BOOLEAN) {
      if (i + 1 == words.size()) return BadAnalysis("--" + name + " has no value", "write it after it");
      value = words[++i];
    }
    if (value.empty()) return BadAnalysis("--" + name + " is empty", "give it a value, or leave it out");
    if (option->unit() == "ns") value = NanosecondsIn(value);
    if (option->type() == v1::ANALYSIS_TYPE_JSON && value.starts_with('@')) {
      ASSIGN_OR_RETURN(value, ReadAll(value.substr(1), kMostJsonBytes));
    }
    if (!request.mutable_options()->insert({name, value}).second) {
      return BadAnalysis("--" + name + " is there twice", "give it once");
    }
  }
  if (request.runs().empty()) {
    return BadAnalysis("there is no run", "write kprofctl analyze " + kind->name() + " RUN..., @last for the last one");
  }
  return request;
}

constexpr int64_t kRowsShown = 20;  // of each table, for people who ask for no number

Status ListKinds(const AnalyzeArgs& args, const v1::ListAnalysesResponse& list, const VerbContext& context) {
  const v1::AnalysisKind* kind = nullptr;
  if (args.words.size() > 1) {
    return Fail(ErrorCode::kUsage, "list the analyses", "there is more than one kind", "name one, or none for all");
  }
  if (!args.words.empty()) {
    ASSIGN_OR_RETURN(kind, FindKind(list, args.words.front()));
  }
  const bool is_json = args.format ? *args.format == RowFormat::kJson : context.global.json;
  (is_json ? PrintKindsJson : PrintKinds)(list, kind, context.output);
  return OkStatus();
}

// Written whatever the verdict is, and before it makes a failure.
Status TellInMarkdown(const ReceivedAnalysis& answer, const AnalyzeArgs& args, Output& output) {
  if (args.markdown.empty()) return OkStatus();
  RETURN_IF_ERROR(output.Flush());  // the file may be standard output itself
  return AppendToFile(args.markdown, MarkdownOf(answer));
}

// Fails with kVerdict for a verdict that `fail_on` names; an answer without a verdict is inconclusive.
Status CheckVerdict(const ReceivedAnalysis& answer, FailOn fail_on) {
  if (fail_on == FailOn::kNothing) return OkStatus();
  std::string verdict = "INCONCLUSIVE";
  for (int i = 0; i < answer.header().facts_size(); ++i) {
    const Cell& fact = answer.facts()[static_cast<size_t>(i)];
    if (answer.header().facts(i).name() == "verdict" && fact.kind == v1::ColumnData::KIND_TEXT) verdict = fact.bytes;
  }
  const bool fails = verdict == "SLOWER" || (fail_on == FailOn::kInconclusive && verdict == "INCONCLUSIVE");
  if (!fails) return OkStatus();
  return Fail(ErrorCode::kVerdict, "compare", "the verdict is " + verdict,
              verdict == "SLOWER" ? "see the kernels and operators with the largest delta_ns"
                                  : "see its reasons; leave out --fail-on inconclusive to accept it");
}

}  // namespace

Status RunVerb(const HelpOfAnalysisArgs& args, const VerbContext& context) {
  Result<std::unique_ptr<KprofClient>> client = context.connect();
  if (!client.ok()) {
    context.output.Write(args.text);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const v1::ListAnalysesResponse list, (*client)->ListAnalyses());
  ASSIGN_OR_RETURN(const v1::AnalysisKind* const kind, FindKind(list, args.kind));
  context.output.Write(args.text + "\n");
  PrintKinds(list, kind, context.output);
  return OkStatus();
}

Status RunVerb(const AnalyzeArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListAnalysesResponse list, client->ListAnalyses());
  if (args.list) return ListKinds(args, list, context);
  ASSIGN_OR_RETURN(v1::AnalyzeRequest request, ReadAnalysis(list, args.words));
  request.set_timeout_ms(args.timeout_ms);
  ReceivedAnalysis answer;
  RETURN_IF_ERROR(
      client->Analyze(request, [&answer](const v1::AnalyzeResponse& message) { return answer.Add(message); }));
  if (!answer.is_whole()) return Fail(ErrorCode::kInternal, "analyze", "kprofd ended the answer before its end");
  std::optional<size_t> table;
  if (!args.table.empty()) {
    ASSIGN_OR_RETURN(table, answer.FindTable(args.table));
  }
  Output& output = context.output;
  switch (args.format.value_or(context.global.json ? RowFormat::kJson : RowFormat::kTable)) {
    case RowFormat::kJson:
      PrintAnalysisJson(answer, table, output);
      RETURN_IF_ERROR(TellInMarkdown(answer, args, output));
      return CheckVerdict(answer, args.fail_on);
    case RowFormat::kCsv:
      if (answer.header().tables().empty()) {
        return Fail(ErrorCode::kUsage, "analyze", "the analysis has no table", "take --format json");
      }
      PrintAnalysisCsv(answer, table.value_or(0), output);
      break;
    default:
      // A first look is one screen; --table, --format csv and --json have the numbers.
      if (answer.header().kind() == "samples" && !table) {
        output.Write(SamplesScreen(answer, {output.ResultWidth(), output.result_has_colours()}));
        break;
      }
      if (answer.header().kind() == "summary" && !table) {
        output.Write(SummaryScreen(answer, {output.ResultWidth(), output.result_has_colours()}));
        break;
      }
      PrintAnalysisTables(answer, {table, request.options().contains("limit") ? INT64_MAX : kRowsShown, args.wide},
                          output);
      break;
  }
  NoteAboutAnalysis(answer, table, output);
  RETURN_IF_ERROR(TellInMarkdown(answer, args, output));
  return CheckVerdict(answer, args.fail_on);
}

}  // namespace kprof::cli
