#include "parsers/turn_parser.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <iterator>

#include "tests/parsers/pages.hpp"

namespace glimmer::test {

namespace {

std::vector<page_case> load_page(const std::string& name) {
  const std::string path = std::string{GLIMMER_SOURCE_ROOT} + "/tests/parsers/pages/" + name;
  std::ifstream file{path, std::ios::binary};
  BOOST_REQUIRE_MESSAGE(file, "no page " << name);
  return read_page(std::string{std::istreambuf_iterator<char>{file}, {}});
}

const std::vector<std::string> pages = {"channels.md", "headers.md", "damaged.md",  "calls.md",
                                        "closers.md",  "names.md",   "untagged.md", "endings.md",
                                        "values.md",   "stops.md"};

/// Content, reasoning and arguments without regard to their interleaving.
std::string whole_text(const page_case& section, const pieces& input) {
  return events_of(section.options, input, section.finish);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(turn_parser_test)

BOOST_DATA_TEST_CASE(a_page_reads_as_written, pages, name) {
  for (const page_case& section : load_page(name)) {
    BOOST_TEST_CONTEXT(section.heading) {
      BOOST_TEST(whole_text(section, pieces_of(section.turn)) == section.events);
    }
  }
}

BOOST_DATA_TEST_CASE(no_cut_changes_a_page, pages, name) {
  for (const page_case& section : load_page(name)) {
    const pieces input = pieces_of(section.turn);
    BOOST_TEST_CONTEXT(section.heading) {
      BOOST_TEST(whole_text(section, single_characters(input)) == section.events);
      for (std::size_t at = 1; at < text_bytes(input); ++at) {
        const std::string events = whole_text(section, cut_once(input, at));
        if (events != section.events) BOOST_TEST(events == section.events, "cut at " << at);
      }
    }
  }
}

BOOST_DATA_TEST_CASE(a_page_reads_the_same_from_text_alone, pages, name) {
  for (const page_case& section : load_page(name)) {
    if (section.turn.find("\\<") != std::string::npos) continue;
    BOOST_TEST_CONTEXT(section.heading) {
      for (std::size_t at = 1; at < section.turn.size(); ++at) {
        spelled_tokens reader;
        pieces found;
        for (const auto& piece : cut_once({{section.turn, std::nullopt}}, at)) {
          reader.push(piece.text, found);
        }
        reader.finish(found);
        const std::string events = whole_text(section, found);
        if (events != section.events) BOOST_TEST(events == section.events, "cut at " << at);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer::test
