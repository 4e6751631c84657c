// ServerProcess is a real ferry-server on small models, for tests in C++.
//
// Thread safety: one thread.
#ifndef FERRY_TESTS_E2E_SERVER_PROCESS_H_
#define FERRY_TESTS_E2E_SERVER_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace ferry {

class ServerProcess {
 public:
  // Starts `binary` on a repository of these configs, by model name, and waits
  // until it is ready; port() is 0 where it does not get there.
  ServerProcess(const std::string& binary,
                const std::map<std::string, std::string>& configs,
                const std::vector<std::string>& flags);

  // Kills what still runs.
  ~ServerProcess();

  int port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  // Sends SIGTERM and returns the exit code, or -1 where a signal ended it.
  int Stop();

 private:
  void Start(const std::string& binary, const std::vector<std::string>& flags);
  void ReadUntilReady();

  std::string folder_;
  pid_t pid_ = -1;
  int log_fd_ = -1;
  int port_ = 0;
};

}  // namespace ferry

#endif  // FERRY_TESTS_E2E_SERVER_PROCESS_H_
