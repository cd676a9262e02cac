// Who is at the other end of a connection that kprofd hands over, read from the connection itself; and whether it is a
// caller's at all: a connection that kprofd has accepted at its own listening socket, and that is still open.
//
// Why so much care: SO_PEERCRED of a socket that *connected* somewhere tells who listened there. kprofd may connect to
// anybody's listening socket, so the uid alone proves nothing. An accepted socket carries the file that its listener
// was bound to (SIOCUNIXFILE), and that file lies where only root can put one.
//
// And where they are: a uid says who somebody is on this machine, not that they are on it. In a container that the
// socket is mounted into, whoever is uid 1000, or becomes it, would else start commands as the host's uid 1000,
// outside. So the process that connected must live in the mount and the user namespace that commands are started in.
// Which process that is the kernel tells by a descriptor (SO_PEERPIDFD, Linux 6.5). Before, there is but its number,
// which another process may have by then, when it has ended while somebody else keeps its connection open.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/helper/grant_store.h"
#include "daemon/process/helper_client/caller_place.h"
#include "storage/base/status.h"

namespace kprof {

// What makes a caller acceptable.
struct CallerRules {
  std::string socket_path;    // kprofd's listening socket, as the helper sees it
  uint32_t kprofd_uid = 0;    // never a caller
  uint32_t least_uid = 1000;  // below are the system's own
  bool allow_root = false;    // uid 0
  bool need_account = true;   // with its name (account.h)
  // A process that is where commands are started: callers must see the files that it sees, and be users where it is
  // one.
  std::string home = "/proc/self";
};

// The folders above the socket belong to root and nobody else can change what they hold: so that the socket is the one
// that root made. kNotPermitted with the folder.
Status CheckSocketPlace(const std::string& socket_path);

// Where the process is that connected, whoever it is: kHere, kElsewhere or kGone. Fails with kNotPermitted when it is
// no caller's connection. Needs CAP_NET_ADMIN.
Result<CallerPlace> FindCaller(int connection, const CallerRules& rules);

// Of a caller who may have something started here, and is, as far as that is known without asking for its account
// (CheckAccount). Fails with kNotPermitted and what is wrong with it. Needs CAP_NET_ADMIN.
Result<CallerIdentity> ReadCaller(int connection, const CallerRules& rules);

// The part of it that depends on the uid alone; asked again before anything is started.
Status CheckCallerUid(uint32_t uid, const CallerRules& rules);

// That the uid has an account, where it needs one: in a process of its own, because it may hang (account.h). Fails with
// NoAccount().
Status CheckAccount(uint32_t uid, const CallerRules& rules);

// For `why` FindAccount found none: kNotPermitted when there is none, DirectoryIsAway() when nobody could say.
Status NoAccount(uint32_t uid, const Status& why);
Status DirectoryIsAway(const Status& why);  // kTimedOut, with what it failed for

// As whom remote clients may start something: uids that root has listed, in a file that nobody else can write. kprofd
// says whom a certificate is, and the helper cannot see that; so it takes kprofd's word for these alone, and root has
// decided to trust it with them.
//
// The file has one user a line, a name or a uid; empty lines and those that begin with # say nothing.

// Whether the file lists the user. Fails with kNotPermitted and the remedy when it does not, is absent, or is not
// root's alone; with DirectoryIsAway() when it may be one of its names, and nobody could say. Reads it anew each time:
// asked when a run is registered, and again when it is to start.
//
// Asks for accounts (account.h), of each user that the file has by name: in a process of its own.
Status CheckRemoteUser(uint32_t uid, const std::string& file);

// The user as whom something may start, with the groups of the account. Fails as CheckRemoteUser does, when
// CheckCallerUid says no, or with NoAccount() when it has none and needs one. Where it needs none, it has no group but
// that of the same number. In a process of its own.
Result<CallerIdentity> ReadRemoteUser(uint32_t uid, const std::string& file, const CallerRules& rules);

}  // namespace kprof
