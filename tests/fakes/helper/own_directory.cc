// A directory of users in the place of libc's, linked into a root helper whose sources are the real one's: a folder,
// KPROF_TEST_DIRECTORY, where a file knows-<uid> or knows-user<uid> is an account, by its uid or its name, and a file
// hangs-<uid> or hangs-user<uid> lets whoever asks for it wait until the file goes. A file fails: it is away.
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr useconds_t kLookAgainUs = 1000;

std::string Directory() {
  const char* folder = std::getenv("KPROF_TEST_DIRECTORY");
  return folder != nullptr ? folder : "/nonexistent";
}

std::string PathOf(const char* verb, const std::string& who) {
  return Directory() + "/" + verb + "-" + who;
}

bool IsAway() {
  return ::access((Directory() + "/fails").c_str(), F_OK) == 0;
}

bool Knows(const std::string& who) {
  while (::access(PathOf("hangs", who).c_str(), F_OK) == 0) ::usleep(kLookAgainUs);
  return ::access(PathOf("knows", who).c_str(), F_OK) == 0;
}

int Give(const std::string& name, uid_t uid, passwd* entry, char* text, size_t size, passwd** found) {
  if (name.size() >= size) return ERANGE;
  std::memcpy(text, name.c_str(), name.size() + 1);
  *entry = {};
  entry->pw_name = text;
  entry->pw_uid = uid;
  entry->pw_gid = uid;
  *found = entry;
  return 0;
}

}  // namespace

extern "C" int getpwuid_r(uid_t uid, passwd* entry, char* text, size_t size, passwd** found) {
  *found = nullptr;
  if (IsAway()) return EIO;
  return Knows(std::to_string(uid)) ? Give("user" + std::to_string(uid), uid, entry, text, size, found) : 0;
}

extern "C" int getpwnam_r(const char* name, passwd* entry, char* text, size_t size, passwd** found) {
  *found = nullptr;
  if (IsAway()) return EIO;
  const std::string who = name;
  uid_t uid = 0;
  if (who.size() <= 4 || std::from_chars(who.data() + 4, who.data() + who.size(), uid).ec != std::errc()) return 0;
  return Knows(who) ? Give(who, uid, entry, text, size, found) : 0;
}
