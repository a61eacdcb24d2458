#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tools/make_checkpoint/checkpoint_writer.hpp"

namespace {

int usage() {
  std::string names;
  for (const auto& name : glimmer::recipe_names()) names += " " + name;
  std::fprintf(stderr, "usage: make_checkpoint RECIPE FOLDER [--shards N]\nrecipes:%s\n",
               names.c_str());
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

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  glimmer::write_options options;
  if (arguments.size() < 2 || !read_options({arguments.begin() + 2, arguments.end()}, options)) {
    return usage();
  }
  const auto recipe = glimmer::find_recipe(arguments[0]);
  const auto written = recipe ? glimmer::write_checkpoint(*recipe, arguments[1], options)
                              : glimmer::fail(recipe.error());
  if (written) return 0;
  std::fprintf(stderr, "make_checkpoint: %s\n", written.error().text.c_str());
  return 2;
}
