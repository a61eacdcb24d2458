#include <boost/test/unit_test.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "glimmer/options.hpp"

namespace glimmer {
namespace {

result<server_options> parsed(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in{line};
  for (std::string word; in >> word;) words.push_back(word);
  return parse_options(words);
}

std::string refusal(const std::string& line) {
  const auto options = parsed(line);
  return options ? "accepted" : options.error().text;
}

/// A config file that is gone at the end of the test.
struct config_file {
  std::string path;
  explicit config_file(const std::string& text) {
    char name[] = "glimmerd-conf-XXXXXX";
    std::fclose(fdopen(mkstemp(name), "w"));
    path = name;
    std::ofstream{path} << text;
  }
  ~config_file() { std::remove(path.c_str()); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(options_test)

BOOST_AUTO_TEST_CASE(the_prefix_cache_is_on_unless_it_is_switched_off) {
  BOOST_TEST(parsed("m")->engine.prefix_caching);
  BOOST_TEST(!parsed("m --no-enable-prefix-caching")->engine.prefix_caching);
  const config_file off{"engine { enable-prefix-caching = false }"};
  BOOST_TEST(!parsed("--config " + off.path)->engine.prefix_caching);
  BOOST_TEST(parsed("--config " + off.path + " --enable-prefix-caching")->engine.prefix_caching);
}

BOOST_AUTO_TEST_CASE(the_published_recipe_for_many_devices_is_accepted) {
  const auto options = parsed(
      "/model --served-model-name muse-glimmer --tensor-parallel-size 4 "
      "--gpu-memory-utilization 0.92 --max-model-len 131072 --max-num-seqs 64 "
      "--enable-auto-tool-choice --tool-call-parser muse_glimmer --reasoning-parser muse_glimmer "
      "--generation-config auto");
  BOOST_REQUIRE(options);
  BOOST_TEST(options->model == "/model");
  BOOST_TEST(options->served_model_names.at(0) == "muse-glimmer");
  BOOST_TEST(options->engine.max_model_len.value() == 131072u);
  BOOST_TEST(options->engine.memory_utilization == 0.92);
  BOOST_TEST(options->notes.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_published_recipe_for_one_device_is_accepted) {
  const auto options = parsed(
      "/model --served-model-name muse-glimmer --tensor-parallel-size 1 --enable-auto-tool-choice "
      "--tool-call-parser muse_glimmer --reasoning-parser muse_glimmer --generation-config auto");
  BOOST_REQUIRE(options);
  BOOST_TEST(options->notes.empty());
}

BOOST_AUTO_TEST_CASE(flags_take_their_value_behind_a_blank_or_an_equals_sign) {
  BOOST_TEST(parsed("--port 9000")->port == 9000);
  BOOST_TEST(parsed("--port=9000")->port == 9000);
}

BOOST_AUTO_TEST_CASE(a_flag_of_many_values_takes_all_that_follow) {
  const auto options = parsed("--served-model-name a b --port 1");
  BOOST_REQUIRE(options);
  BOOST_TEST(options->served_model_names.size() == 2u);
}

BOOST_AUTO_TEST_CASE(lengths_may_be_written_in_thousands) {
  BOOST_TEST(parsed("--max-model-len 32k")->engine.max_model_len.value() == 32'000u);
  BOOST_TEST(parsed("--max-model-len 32K")->engine.max_model_len.value() == 32'768u);
}

BOOST_AUTO_TEST_CASE(an_unknown_flag_is_refused_with_the_one_that_was_meant) {
  BOOST_TEST(refusal("--max-model-length 3") ==
             "--max-model-length is not known; did you mean --max-model-len?");
  BOOST_TEST(refusal("--frobnicate") == "--frobnicate is not known; see --help");
}

BOOST_AUTO_TEST_CASE(a_value_out_of_range_is_refused_with_the_range) {
  BOOST_TEST(refusal("--port 70000") == "--port: '70000' is not a whole number from 0 to 65535");
  BOOST_TEST(refusal("--gpu-memory-utilization 1.5") ==
             "--gpu-memory-utilization: '1.5' is not a share above 0 and up to 1");
  BOOST_TEST(refusal("--port") == "--port needs a value: port to listen on; 0 picks a free one");
  BOOST_TEST(refusal("--max-num-seqs -3") ==
             "--max-num-seqs: '-3' is not a whole number from 1 to 65536");
}

BOOST_AUTO_TEST_CASE(processors_are_named_one_by_one_or_in_ranges) {
  const std::vector<std::uint32_t> expected{0, 1, 2, 8};
  BOOST_TEST(parsed("--cpu-affinity 0-2,8")->engine.cpus == expected,
             boost::test_tools::per_element());
  for (const auto* wrong : {"2-1", "1,", ",1", "a", "1-", "0-2,1", "5000"})
    BOOST_TEST(refusal(std::string{"--cpu-affinity "} + wrong).starts_with("--cpu-affinity: "),
               wrong);
}

BOOST_AUTO_TEST_CASE(quantization_at_load_is_a_setting) {
  BOOST_TEST(parsed("--quantization int4")->engine.quantization == "int4");
}

BOOST_AUTO_TEST_CASE(a_feature_that_is_not_there_is_refused_not_ignored) {
  BOOST_TEST(refusal("--quantization awq").starts_with("--quantization: "));
  BOOST_TEST(refusal("--tool-call-parser hermes").starts_with("--tool-call-parser: "));
  BOOST_TEST(refusal("--speculative-config {\"method\":\"eagle3\",\"model\":\"h\"}") ==
             "--speculative-config: method must be \"dflash\", the only one there is");
}

BOOST_AUTO_TEST_CASE(a_drafter_is_configured_as_in_vllm_or_flag_by_flag) {
  const auto given = parsed(
      "--speculative-config "
      "{\"method\":\"dflash\",\"model\":\"h\",\"num_speculative_tokens\":4,\"adaptive\":false}");
  BOOST_TEST(given->engine.drafter.model == "h");
  BOOST_TEST(given->engine.drafter.tokens_max == 4u);
  BOOST_TEST(!given->engine.drafter.adaptive);
  const auto flags = parsed("--drafter-model h --num-speculative-tokens 4 --no-adaptive-drafting");
  BOOST_TEST(flags->engine.drafter.model == "h");
  BOOST_TEST(flags->engine.drafter.tokens_max == 4u);
  BOOST_TEST(!flags->engine.drafter.adaptive);
  BOOST_TEST(!parsed("--drafter-model h --num-speculative-tokens 0")->engine.drafter.wanted());
  BOOST_TEST(!parsed("")->engine.drafter.wanted());
}

BOOST_AUTO_TEST_CASE(what_is_said_of_drafting_has_an_effect_or_is_refused) {
  for (const auto* wrong :
       {"{}", "[]", "{\"method\":\"dflash\"}", "{\"model\":\"h\"}",
        "{\"method\":\"dflash\",\"model\":\"\"}",
        "{\"method\":\"dflash\",\"model\":\"h\",\"draft_model\":1}",
        "{\"method\":\"dflash\",\"model\":\"h\",\"num_speculative_tokens\":-1}",
        "{\"method\":\"dflash\",\"model\":\"h\",\"num_speculative_tokens\":1.5}"})
    BOOST_TEST(
        refusal(std::string{"--speculative-config "} + wrong).starts_with("--speculative-config: "),
        wrong);
  BOOST_TEST(refusal("--num-speculative-tokens 4") ==
             "--num-speculative-tokens has no effect without --drafter-model or "
             "--speculative-config");
  BOOST_TEST(refusal("--drafter-model h --executor script:x").starts_with("--executor script"));
}

BOOST_AUTO_TEST_CASE(a_config_file_sets_what_flags_may_override) {
  const config_file file{
      "[server]\nport = 8100\nserved-model-name = [\"a\", \"b\"]\n[engine]\nblock-size = 32\n"};
  const auto options = parsed("--port 8200 --config " + file.path);
  BOOST_REQUIRE_MESSAGE(options, options.error().text);
  BOOST_TEST(options->port == 8200);
  BOOST_TEST(options->engine.block_size == 32u);
  BOOST_TEST(options->served_model_names.size() == 2u);
}

BOOST_AUTO_TEST_CASE(an_unknown_config_key_is_an_error_with_a_suggestion) {
  const config_file file{"[engine]\nblock-sise = 32\n"};
  BOOST_TEST(refusal("--config " + file.path) ==
             file.path +
                 ": 'block-sise' in section 'engine' is not known; did you mean 'block-size'?");
}

BOOST_AUTO_TEST_CASE(a_config_key_in_the_wrong_section_is_an_error) {
  const config_file file{"[server]\nblock-size = 32\n"};
  BOOST_TEST(refusal("--config " + file.path) ==
             file.path + ": 'block-size' belongs to section 'engine', not 'server'");
}

BOOST_AUTO_TEST_CASE(a_config_file_that_cannot_be_read_or_parsed_is_an_error) {
  BOOST_TEST(refusal("--config absent.conf") == "absent.conf: cannot be read");
  const auto line_of = [&](const char* text) {
    const config_file file{text};
    const auto why = refusal("--config " + file.path);
    const std::string told = ": this line cannot be read; allowed are sections as [name], ";
    const auto at = why.find(told);
    BOOST_REQUIRE_MESSAGE(at != why.npos && why.starts_with(file.path + ":"), why);
    return why.substr(file.path.size() + 1, at - file.path.size() - 1);
  };
  BOOST_TEST(line_of("[server\nport = 1\n") == "1");
  BOOST_TEST(line_of("[server]\nport 1\n") == "2");
  BOOST_TEST(line_of("[server]\n; here\nport = \"1\n") == "3");
  BOOST_TEST(line_of("[server]\nport = 1 2\n") == "2");
  BOOST_TEST(line_of("[server]\n# here\nport = 1\n") == "2");
  BOOST_TEST(line_of("port") == "1");
}

BOOST_AUTO_TEST_CASE(a_folder_or_a_binary_file_is_no_config_file) {
  BOOST_TEST(refusal("--config .") == ".: cannot be read");
  const config_file file{std::string{"\0[server]\nport = 1\n", 19}};
  BOOST_TEST(refusal("--config " + file.path) ==
             file.path + ": a null byte stands in it; it is no config file");
}

BOOST_AUTO_TEST_CASE(an_empty_config_file_changes_nothing) {
  const config_file file{""};
  BOOST_TEST(refusal("--config " + file.path) == "accepted");
}

BOOST_AUTO_TEST_CASE(config_values_are_plain_or_one_list_of_plain_ones) {
  for (const auto* value : {"[[]]", "[[\"a\"]]", "[{a = 1}]", "{a = 1}"}) {
    const config_file file{std::string{"server { api-key = "} + value + " }"};
    BOOST_TEST(refusal("--config " + file.path) ==
               file.path + ": 'api-key' takes plain values or a list of them");
  }
}

BOOST_AUTO_TEST_CASE(a_setting_of_one_value_takes_no_list) {
  const config_file file{"server { port = [1, 2] }"};
  BOOST_TEST(refusal("--config " + file.path) ==
             file.path + ": --port takes one value, 2 were given");
}

BOOST_AUTO_TEST_CASE(an_empty_key_name_or_model_is_refused) {
  BOOST_TEST(refusal("--api-key=") == "--api-key: an empty value is not allowed");
  BOOST_TEST(refusal("--served-model-name=") ==
             "--served-model-name: an empty value is not allowed");
  const std::vector<std::string> mixed{"--api-key", "secret", ""};
  BOOST_TEST(!parse_options(mixed));
  const std::vector<std::string> no_model{""};
  BOOST_TEST(!parse_options(no_model));
}

BOOST_AUTO_TEST_CASE(two_models_are_one_too_many) {
  BOOST_TEST(refusal("/one /two") == "'/one' and '/two' are both named as the model");
}

BOOST_AUTO_TEST_CASE(a_model_swallowed_by_a_flag_of_many_values_is_noticed) {
  BOOST_TEST(refusal("--served-model-name a .") ==
             "--served-model-name took '.', which is a folder; put MODEL in front of the flags");
}

BOOST_AUTO_TEST_CASE(what_is_always_on_cannot_be_turned_off) {
  BOOST_TEST(refusal("--enable-auto-tool-choice=false") ==
             "--enable-auto-tool-choice cannot be turned off");
}

BOOST_AUTO_TEST_CASE(help_and_version_win_over_wrong_flags) {
  BOOST_TEST(parsed("--frobnicate --help")->help);
  BOOST_TEST(parsed("--version --port 99999")->version);
}

BOOST_AUTO_TEST_CASE(help_names_every_setting) {
  const auto help = options_help();
  for (const auto* name : {"--max-model-len", "--api-server-count", "--config"}) {
    BOOST_TEST(help.find(name) != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
