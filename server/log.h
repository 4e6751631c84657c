// StartLog() starts the log: a line an event on standard error, none a request.
//
// Whatever reads standard error, or does not, holds up no thread: lines wait in
// a bounded queue for a thread that writes them (base/line_writer.h), and those
// that find it full are dropped and counted. What libraries write to standard
// error and standard output comes into the log by a pipe that is always read, a
// line as soon as it ends. A text of several lines is one record, of which all
// lines but the first are indented; control characters are escaped.
//
// In JSON a record is one object a line, {"time", "level", "message"}, with the
// lines of a text as they are.
//
// Thread safety: StartLog() is called once, before other threads log; the
// others from any thread.
#ifndef FERRY_SERVER_LOG_H_
#define FERRY_SERVER_LOG_H_

#include <cstdint>
#include <string>

namespace ferry {

enum class LogFormat : uint8_t { kText, kJson };

struct LogOptions {
  std::string level = "info";  // the least; or "debug", "warning", "error"
  LogFormat format = LogFormat::kText;
};

// What gRPC and Protobuf themselves have to say appears at debug; what gRPC
// calls an error as a warning, one a second at most.
void StartLog(const LogOptions& options);

// Waits until what was logged is written, for half a second at most, and for no
// lock. Called before the process ends, also for what was printed.
void FlushLog();

// Does the same in a handler of signals, but for what was printed.
void FlushLogInHandler();

// Returns the descriptor that the log is written to, or -1 before its start:
// standard error is read by a thread of this process.
int LogFd();

// Lines that were dropped since the start.
uint64_t DroppedLogLines();

// Errors that gRPC has told since the start, also those not logged.
uint64_t GrpcErrors();

}  // namespace ferry

#endif  // FERRY_SERVER_LOG_H_
