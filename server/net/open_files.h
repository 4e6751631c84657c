// How many files the process may have open, and how many of them connections
// may take.
//
// Thread safety: thread-safe.
#ifndef FERRY_SERVER_NET_OPEN_FILES_H_
#define FERRY_SERVER_NET_OPEN_FILES_H_

namespace ferry {

// Raises the limit as far as the system lets the process.
void RaiseOpenFileLimit();

// Returns the limit in force.
int OpenFileLimit();

// Returns the first descriptor that no connection of clients may have. Those
// from there on are kept for what serves all: the port of --admin-address,
// health over HTTP, models that are loaded, the system's own.
int FirstReservedFile(int limit);

// Returns the first descriptor that no connection to --admin-address may have:
// where clients have all of theirs, that port has some.
int FirstFileReservedFromAdmin(int limit);

}  // namespace ferry

#endif  // FERRY_SERVER_NET_OPEN_FILES_H_
