// StartLog() starts the log: a line an event on standard error, none a request.
//
// Thread safety: called once, before other threads log.
#ifndef FERRY_SERVER_LOG_H_
#define FERRY_SERVER_LOG_H_

#include <string>

namespace ferry {

// Logs from that level on: "debug", "info", "warning" or "error". What
// gRPC and Protobuf themselves have to say appears at debug.
void StartLog(const std::string& level);

}  // namespace ferry

#endif  // FERRY_SERVER_LOG_H_
