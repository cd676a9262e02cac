// Identifies the caller at the other end of a connection that kprofd hands over, read from the connection itself.
// Accepts only a connection that kprofd has accepted at its own listening socket, and that is still open. Also checks
// whether remote clients may start something as a user.
//
// Why so much care: SO_PEERCRED of a socket that *connected* somewhere tells who listened there. kprofd may connect to
// anybody's listening socket, so the uid alone proves nothing. An accepted socket carries the file that its listener
// was bound to (SIOCUNIXFILE), and that file lies where only root can put one.
//
// The caller's place matters, too: a uid tells who somebody is on this machine, not that they are on it. A process with
// uid 1000 in a container that the socket is mounted into could otherwise start commands as the host's uid 1000,
// outside. So the process that connected must live in the mount and the user namespace that commands are started in.
// The kernel tells that process by a descriptor (SO_PEERPIDFD, Linux 6.5). Before 6.5 there is only its number. If the
// process has ended and somebody else keeps its connection open, another process may have that number.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/helper/grant_store.h"
#include "daemon/process/helper_client/caller_place.h"
#include "storage/base/status.h"

namespace kprof {

// The conditions that a caller must meet.
struct CallerRules {
  std::string socket_path;    // kprofd's listening socket, as the helper sees it
  uint32_t kprofd_uid = 0;    // never a caller
  uint32_t least_uid = 1000;  // lower ones are the system's own
  bool allow_root = false;    // uid 0
  bool need_account = true;   // the uid must have an account (account.h)
  // A process in the place where commands are started: callers must see the files that it sees, and be users in its
  // namespace.
  std::string home = "/proc/self";
};

// Ok when the folders above the socket belong to root and nobody else can change their contents: so the socket is the
// one that root made. Otherwise kNotPermitted with the folder.
Status CheckSocketPlace(const std::string& socket_path);

// The place of the process that connected: kHere, kElsewhere or kGone. Fails with kNotPermitted when the connection is
// not a caller's. Needs CAP_NET_ADMIN.
Result<CallerPlace> FindCaller(int connection, const CallerRules& rules);

// The identity of a caller who may start something and is here. Does not ask for the account (CheckAccount). Fails with
// kNotPermitted and what is wrong. Needs CAP_NET_ADMIN.
Result<CallerIdentity> ReadCaller(int connection, const CallerRules& rules);

// The part of the check that depends on the uid alone; made again before anything is started.
Status CheckCallerUid(uint32_t uid, const CallerRules& rules);

// Ok when the uid has an account, or needs none. It may hang (account.h): call it in a process of its own. Fails with
// NoAccount().
Status CheckAccount(uint32_t uid, const CallerRules& rules);

// The failure for a uid without account, where FindAccount failed with `why`: kNotPermitted when there is no account,
// DirectoryIsAway() when nobody could say.
Status NoAccount(uint32_t uid, const Status& why);
Status DirectoryIsAway(const Status& why);  // kTimedOut, with what it failed for

// Ok when the file lists the user: remote clients may start something as this user. kprofd says which user a
// certificate names, and the helper cannot check that. So it takes kprofd's word for these users alone: root has
// decided to trust it that far. The file has one user a line, a name or a uid; empty lines and those that begin with #
// say nothing.
//
// Fails with kNotPermitted and the remedy when it does not list the user, is absent, or can be written by others than
// root; with DirectoryIsAway() when one of its names may be the user's, but nobody could say. Reads the file anew each
// time: it is asked when a run is registered, and again when it is to start. Asks for the account of each user who is
// listed by name (account.h): call it in a process of its own.
Status CheckRemoteUser(uint32_t uid, const std::string& file);

// The identity of a user whom CheckRemoteUser accepts, with the groups of the account. Fails as CheckRemoteUser and
// CheckCallerUid do, and with NoAccount() when the uid needs an account and has none. If it needs none, its only group
// is the one with the uid's number. Call it in a process of its own.
Result<CallerIdentity> ReadRemoteUser(uint32_t uid, const std::string& file, const CallerRules& rules);

}  // namespace kprof
