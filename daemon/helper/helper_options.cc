#include "daemon/helper/helper_options.h"

#include <pwd.h>

#include <charconv>
#include <functional>
#include <string_view>

namespace kprof {
namespace {

struct Option {
  std::string_view name;
  std::string_view value;  // what it takes, for people; empty: nothing
  std::string_view text;
  std::function<bool(HelperOptions&, const std::string&)> apply;  // false: no such value
};

bool ParseUid(std::string_view text, uint32_t& uid) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), uid);
  return error == std::errc() && end == text.data() + text.size() && uid != UINT32_MAX;
}

auto Text(std::string HelperOptions::*field) {
  return [field](HelperOptions& options, const std::string& value) {
    options.*field = value;
    return !value.empty();
  };
}

auto Flag(std::function<void(HelperOptions&)> set) {
  return [set = std::move(set)](HelperOptions& options, const std::string&) {
    set(options);
    return true;
  };
}

const std::vector<Option>& Options() {
  static const std::vector<Option> options = {
      {"--socket", "PATH", "listen there; without it systemd hands the socket over", Text(&HelperOptions::socket)},
      {"--kprofd-user", "USER", "who may ask (kprof)", Text(&HelperOptions::kprofd_user)},
      {"--kprofd-socket", "PATH", "where callers reach kprofd (/run/kprofd/kprofd.sock)",
       Text(&HelperOptions::kprofd_socket)},
      {"--grants", "FOLDER", "what callers asked for (/var/lib/kprofd-helper/grants)", Text(&HelperOptions::grants)},
      {"--remote-users", "FILE", "as whom remote clients may start something (/etc/kprofd/remote-users)",
       Text(&HelperOptions::remote_users)},
      {"--launcher", "PATH", "kprof-launch (/usr/libexec/kprof/kprof-launch)", Text(&HelperOptions::launch)},
      {"--clocks", "PATH", "kprof-clocks (/usr/libexec/kprof/kprof-clocks)", Text(&HelperOptions::clocks)},
      {"--nvml-library", "PATH", "of NVIDIA's driver (libnvidia-ml.so.1)", Text(&HelperOptions::nvml_library)},
      {"--held", "FOLDER", "which clocks are held (/var/lib/kprofd-helper/clocks)", Text(&HelperOptions::held)},
      {"--least-uid", "N", "no lower uid is a caller (1000)",
       [](HelperOptions& options, const std::string& value) { return ParseUid(value, options.least_uid); }},
      {"--allow-root", "", "root may be a caller", Flag([](HelperOptions& options) { options.allow_root = true; })},
      {"--allow-uids-without-account", "", "callers need no line in passwd",
       Flag([](HelperOptions& options) { options.need_account = false; })},
      {"--units", "yes|no", "give each run a unit of systemd (where it runs)",
       [](HelperOptions& options, const std::string& value) {
         options.units = value == "yes";
         return value == "yes" || value == "no";
       }},
      {"--systemd-run", "PATH", "(/usr/bin/systemd-run)", Text(&HelperOptions::systemd_run)},
      {"--systemctl", "PATH", "(/usr/bin/systemctl)", Text(&HelperOptions::systemctl)},
      {"--help", "", "", Flag([](HelperOptions& options) { options.help = true; })},
      {"--version", "", "", Flag([](HelperOptions& options) { options.version = true; })},
  };
  return options;
}

}  // namespace

Result<HelperOptions> ParseHelperOptions(const std::vector<std::string>& words) {
  auto bad = [](const std::string& word, const std::string& why) {
    return Fail(ErrorCode::kUsage, "read '" + word + "'", why, "see kprofd-helper --help");
  };
  HelperOptions options;
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const Option* option = nullptr;
    for (const Option& known : Options()) {
      if (known.name == name) option = &known;
    }
    if (option == nullptr) return bad(words[i], "there is no such option");
    std::string value;
    if (equals != std::string::npos) {
      if (option->value.empty()) return bad(words[i], "it takes no value");
      value = words[i].substr(equals + 1);
    } else if (!option->value.empty()) {
      if (i + 1 == words.size()) return bad(words[i], "its value is missing");
      value = words[++i];
    }
    if (!option->apply(options, value)) return bad(words[i], "'" + value + "' is no value for it");
  }
  return options;
}

std::string HelperUsage() {
  std::string text = "kprofd-helper: what kprofd needs root for, and nothing else. systemd starts it.\n\n";
  for (const Option& option : Options()) {
    std::string left = "  " + std::string(option.name) + (option.value.empty() ? "" : " ") + std::string(option.value);
    left.resize(std::max<size_t>(left.size() + 2, 36), ' ');
    text += left + std::string(option.text) + "\n";
  }
  return text;
}

Result<uint32_t> FindUid(const std::string& user) {
  uint32_t uid = 0;
  if (ParseUid(user, uid)) return uid;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text(64 << 10);
  if (::getpwnam_r(user.c_str(), &entry, text.data(), text.size(), &found) != 0 || found == nullptr) {
    return Fail(ErrorCode::kUsage, "find the user '" + user + "'", "there is no such user",
                "make it (systemd-sysusers), or name another with --kprofd-user");
  }
  return entry.pw_uid;
}

}  // namespace kprof
