#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tools/make_checkpoint/checkpoint_writer.hpp"
#include "tools/make_checkpoint/head_recipe.hpp"

namespace {

int usage() {
  std::string names;
  for (const auto& name : glimmer::recipe_names()) names += " " + name;
  std::string heads;
  for (const auto& name : glimmer::head_recipe_names()) heads += " " + name;
  std::fprintf(stderr,
               "usage: make_checkpoint RECIPE FOLDER [--shards N]\n"
               "       make_checkpoint HEAD FOLDER\nrecipes:%s\ndraft heads:%s\n",
               names.c_str(), heads.c_str());
  return 2;
}

bool read_options(const std::vector<std::string_view>& arguments, glimmer::write_options& options) {
  if (arguments.empty()) return true;
  if (arguments.size() != 2 || arguments[0] != "--shards") return false;
  const auto text = arguments[1];
  const auto end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, options.shards);
  return failed == std::errc{} && at == end && options.shards > 0;
}

glimmer::result<void> write(const std::vector<std::string_view>& arguments,
                            const glimmer::write_options& options) {
  if (const auto head = glimmer::find_head_recipe(arguments[0]); head && arguments.size() == 2) {
    return glimmer::write_head(*head, arguments[1]);
  }
  const auto recipe = glimmer::find_recipe(arguments[0]);
  if (!recipe) return glimmer::fail(recipe.error());
  return glimmer::write_checkpoint(*recipe, arguments[1], options);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  glimmer::write_options options;
  if (arguments.size() < 2 || !read_options({arguments.begin() + 2, arguments.end()}, options)) {
    return usage();
  }
  const auto written = write(arguments, options);
  if (written) return 0;
  std::fprintf(stderr, "make_checkpoint: %s\n", written.error().text.c_str());
  return 2;
}
