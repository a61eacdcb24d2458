#include "bench/server_process.hpp"

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>

#include "base/assert.hpp"

namespace glimmer {

namespace fs = std::filesystem;

server_process::server_process(std::vector<std::string> command,
                               std::vector<std::string> settings) {
  std::array<int, 2> pipe{};
  GLIMMER_ASSERT(::pipe(pipe.data()) == 0, "a pipe");
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(pipe[1], STDOUT_FILENO);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // a bench that is killed leaves no server behind
    for (auto& setting : settings) ::putenv(setting.data());
    std::vector<char*> words;
    for (auto& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  ::close(pipe[1]);
  std::string said;
  std::array<char, 4096> bytes;
  const std::string mark = "http://127.0.0.1:";
  while (said.find("/v1. ") == said.npos) {
    const auto n = ::read(pipe[0], bytes.data(), bytes.size());
    GLIMMER_ASSERT(n > 0, "the server starts");
    said.append(bytes.data(), static_cast<std::size_t>(n));
  }
  ::close(pipe[0]);
  port_ = static_cast<std::uint16_t>(std::stoi(said.substr(said.find(mark) + mark.size())));
}

void server_process::end() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGTERM);
  ::waitpid(std::exchange(pid_, 0), nullptr, 0);
}

int server_process::connect() const {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  GLIMMER_ASSERT(fd >= 0, "descriptors are left");
  const linger reset{.l_onoff = 1, .l_linger = 0};  // no port is left waiting
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port_);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int failed = ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to);
  GLIMMER_ASSERT(failed == 0 || errno == EINPROGRESS, "connects");
  return fd;
}

std::vector<double> server_process::cpu_seconds() const {
  std::vector<double> out;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
    std::ifstream file{task.path() / "schedstat"};
    double ns = 0;
    file >> ns;
    out.push_back(ns / 1e9);
  }
  std::ranges::sort(out, std::greater{});
  return out;
}

double server_process::resident_bytes() const {
  std::ifstream file{"/proc/" + std::to_string(pid_) + "/statm"};
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

socket_probe::socket_probe(std::size_t step_ms)
    : told_{(fs::temp_directory_path() / ("probe" + std::to_string(::getpid()))).string()} {
  const auto module = fs::read_symlink("/proc/self/exe").parent_path() / "libsocket_probe.so";
  GLIMMER_ASSERT(fs::exists(module), "the probe is built beside the program");
  settings_ = {"LD_PRELOAD=" + module.string(), "GLIMMER_PROBE=" + told_};
  if (step_ms > 0) settings_.push_back("GLIMMER_PROBE_STEP_MS=" + std::to_string(step_ms));
}

socket_probe::times socket_probe::read() const {
  times found;
  std::ifstream{told_} >> found.samples >> found.p50_us >> found.p99_us >> found.max_us;
  fs::remove(told_);
  return found;
}

std::string turn_of(turn_shape shape) {
  std::string text;
  for (std::size_t i = 0; i < shape.words; ++i) text += " a";
  return R"({"match":"*","text":" to=user<|message|>)" + text + R"(<|eot|>","k":)" +
         std::to_string(shape.per_step) + R"(,"delay_ms":)" + std::to_string(shape.delay_ms) + "}";
}

temporary_file::temporary_file(const std::string& text)
    : path_{fs::temp_directory_path() / ("glimmer-bench-" + std::to_string(::getpid()))} {
  std::ofstream{path_} << text << '\n';
}

temporary_file::~temporary_file() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

std::string bytes_of(const post_text& post) {
  return "POST " + post.path + " HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" +
         "Content-Length: " + std::to_string(post.body.size()) + "\r\n\r\n" + post.body;
}

}  // namespace glimmer
