#include <boost/test/unit_test.hpp>
#include <vector>

#include "protocol/openai/models_list.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(openai_models_list_test)

BOOST_AUTO_TEST_CASE(every_served_name_is_listed) {
  const std::vector<model_entry> models = {{"muse", "hub/muse", 4096, 7}, {"alias\"", "", 1, 8}};
  BOOST_TEST(
      models_body(models) ==
      R"({"object":"list","data":[{"id":"muse","object":"model","created":7,)"
      R"("owned_by":"glimmer","root":"hub/muse","parent":null,"max_model_len":4096,)"
      R"("permission":[]},{"id":"alias\"","object":"model","created":8,)"
      R"("owned_by":"glimmer","root":"","parent":null,"max_model_len":1,"permission":[]}]})");
}

BOOST_AUTO_TEST_CASE(the_version_is_one_member) {
  BOOST_TEST(version_body("0.1.0") == R"({"version":"0.1.0"})");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
