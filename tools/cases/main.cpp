// Runs case files: glimmer_cases [--tokenizer TOKENIZER.JSON] FOLDER_OR_FILE...
// What a case checks is told by its members. Prints each failure; the last line counts.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tools/cases/cases.hpp"

namespace {

using namespace glimmer;
namespace fs = std::filesystem;

struct tally {
  unsigned passed = 0;
  unsigned failed = 0;
  unsigned skipped = 0;
};

class runner {
 public:
  explicit runner(std::shared_ptr<const tokenizer> tokens) : tokens_{std::move(tokens)} {}

  void run_file(const fs::path& path) {
    std::ifstream file{path, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    const auto cases = json::parse(text);
    if (!cases || !cases->is_array()) {
      count(path.string(), cases ? "the file is not an array of cases" : cases.error().text);
      return;
    }
    std::size_t number = 0;
    for (auto c = cases->first(); c; c = c->next()) {
      const auto name = c->find("name");
      const std::string title =
          name && name->is_string() ? std::string{name->string()} : fmt::format("case {}", number);
      run(fmt::format("{}: {}", path.filename().string(), title), *c);
      ++number;
    }
  }

  const tally& counts() const { return counts_; }

 private:
  void run(const std::string& name, const json& c) {
    if (c.find("expect_prompt")) {
      count(name, run_prompt_case(c));
    } else if (c.find("raw")) {
      count(name, run_output_case(c));
    } else if (c.find("ids") && tokens_ != nullptr) {
      count(name, run_tokenizer_case(c, *tokens_));
    } else if (c.find("ids")) {
      ++counts_.skipped;
    } else {
      count(name, "no runner knows this kind of case");
    }
  }

  void count(const std::string& name, const case_failure& failure) {
    ++(failure ? counts_.failed : counts_.passed);
    if (failure) fmt::print("FAILED {}\n{}\n", name, *failure);
  }

  std::shared_ptr<const tokenizer> tokens_;
  tally counts_;
};

/// The .json files below a path, in order.
std::vector<fs::path> case_files(const fs::path& root) {
  std::error_code missing;
  if (!fs::is_directory(root, missing)) return {root};
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator{root, missing}) {
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> words{arguments + 1, arguments + count};
  std::shared_ptr<const tokenizer> tokens;
  if (words.size() >= 2 && words[0] == "--tokenizer") {
    auto loaded = tokenizer::load(words[1]);
    if (!loaded) {
      fmt::print(stderr, "{}\n", loaded.error().text);
      return 2;
    }
    tokens = std::move(*loaded);
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.empty()) {
    fmt::print(stderr, "usage: glimmer_cases [--tokenizer TOKENIZER.JSON] FOLDER_OR_FILE...\n");
    return 2;
  }
  runner all{std::move(tokens)};
  for (const std::string& word : words) {
    for (const fs::path& path : case_files(word)) all.run_file(path);
  }
  const tally& counts = all.counts();
  if (counts.skipped > 0) {
    fmt::print("{} tokenizer cases skipped: they need --tokenizer\n", counts.skipped);
  }
  fmt::print("{} passed, {} failed\n", counts.passed, counts.failed);
  return counts.failed == 0 ? 0 : 1;
}
