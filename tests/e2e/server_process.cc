// Spawning, reading the log, and waiting.
#include "tests/e2e/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ferry {

ServerProcess::ServerProcess(const std::string& binary,
                             const std::map<std::string, std::string>& configs,
                             const std::vector<std::string>& flags) {
  std::string folder =
      std::filesystem::temp_directory_path() / "ferry-e2e-XXXXXX";
  folder_ = mkdtemp(folder.data());
  for (const auto& [name, config] : configs) {
    const std::filesystem::path model = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(model / "1");
    std::ofstream(model / "config.pbtxt") << config;
  }
  Start(binary, flags);
  ReadUntilReady();
}

void ServerProcess::Start(const std::string& binary,
                          const std::vector<std::string>& flags) {
  std::vector<std::string> words = {binary, "--grpc-port=0", "--metrics-port=0",
                                    "--model-repository=" + folder_};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  if (posix_spawn(&pid_, binary.c_str(), &actions, nullptr, argv.data(),
                  environ) != 0) {
    pid_ = -1;
  }
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  log_fd_ = ends[0];
}

void ServerProcess::ReadUntilReady() {
  const std::string mark = " ready grpc=127.0.0.1:";
  std::string log;
  char buffer[1024];
  ssize_t size = 0;
  while ((size = read(log_fd_, buffer, sizeof(buffer))) > 0) {
    log.append(buffer, static_cast<size_t>(size));
    const size_t at = log.find(mark);
    if (at != std::string::npos && log.find('\n', at) != std::string::npos) {
      port_ = std::stoi(log.substr(at + mark.size()));
      return;
    }
  }
}

int ServerProcess::Stop() {
  if (pid_ < 0) {
    return -1;
  }
  kill(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

ServerProcess::~ServerProcess() {
  if (pid_ >= 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(log_fd_);
  std::filesystem::remove_all(folder_);
}

}  // namespace ferry
