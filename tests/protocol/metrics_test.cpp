#include "protocol/metrics.hpp"

#include <boost/test/unit_test.hpp>

#include "protocol/metrics_text.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(metrics_cases)

BOOST_AUTO_TEST_CASE(counters_and_gauges_are_told_with_their_labels) {
  metrics values;
  values.add(values.series(metric::request_success, {{"finished_reason", "stop"}}), 2);
  values.add(values.series(metric::request_success, {{"finished_reason", "length"}}));
  values.set(values.series(metric::requests_running), 3);
  const auto text = metrics_text(values, {{"model_name", "m"}, {"engine", "0"}});
  BOOST_TEST(
      text ==
      "# HELP vllm:num_requests_running Requests with a sequence in the running batch.\n"
      "# TYPE vllm:num_requests_running gauge\n"
      "vllm:num_requests_running{model_name=\"m\",engine=\"0\"} 3\n"
      "# HELP vllm:request_success_total Requests finished, by reason.\n"
      "# TYPE vllm:request_success_total counter\n"
      "vllm:request_success_total{model_name=\"m\",engine=\"0\",finished_reason=\"stop\"} 2\n"
      "vllm:request_success_total{model_name=\"m\",engine=\"0\",finished_reason=\"length\"} "
      "1\n");
}

BOOST_AUTO_TEST_CASE(a_histogram_counts_every_bound_above_a_value) {
  metrics values;
  const auto n = values.series(metric::request_params_n);
  values.observe(n, 1);
  values.observe(n, 3, 2);
  values.observe(n, 100);
  BOOST_TEST(metrics_text(values) ==
             "# HELP vllm:request_params_n The n parameter of a request.\n"
             "# TYPE vllm:request_params_n histogram\n"
             "vllm:request_params_n_bucket{le=\"1\"} 1\n"
             "vllm:request_params_n_bucket{le=\"2\"} 1\n"
             "vllm:request_params_n_bucket{le=\"5\"} 3\n"
             "vllm:request_params_n_bucket{le=\"10\"} 3\n"
             "vllm:request_params_n_bucket{le=\"20\"} 3\n"
             "vllm:request_params_n_bucket{le=\"+Inf\"} 4\n"
             "vllm:request_params_n_sum 107\n"
             "vllm:request_params_n_count 4\n");
}

BOOST_AUTO_TEST_CASE(token_buckets_end_at_the_context) {
  BOOST_TEST(bucket_count(metric::request_prompt_tokens, 2000) == 11u);
  BOOST_TEST(bucket_count(metric::request_prompt_tokens, 1999) == 10u);
  BOOST_TEST(bucket_count(metric::iteration_tokens, 4) == 13u);
}

BOOST_AUTO_TEST_CASE(merging_adds_what_each_actor_counted) {
  metrics a{1000};
  metrics b{1000};
  a.add(a.series(metric::prompt_tokens), 5);
  b.add(b.series(metric::prompt_tokens), 7);
  a.observe(a.series(metric::request_prompt_tokens), 10);
  b.observe(b.series(metric::request_prompt_tokens), 11);
  b.set(b.series(metric::connections), 2);
  a.merge(b);
  BOOST_TEST(a.all()[a.series(metric::prompt_tokens)].value == 12);
  BOOST_TEST(a.all()[a.series(metric::connections)].value == 2);
  const auto& tokens = a.all()[a.series(metric::request_prompt_tokens)];
  BOOST_TEST(tokens.observations == 2u);
  BOOST_TEST(tokens.value == 21);
}

BOOST_AUTO_TEST_CASE(label_values_are_escaped) {
  metrics values;
  values.set(values.series(metric::actor_mailbox_depth, {{"actor", "a\"b\\c\nd"}}), 1);
  BOOST_TEST(metrics_text(values).find("{actor=\"a\\\"b\\\\c\\nd\"} 1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_metric_has_a_name_of_the_right_form) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(metric::count); ++i) {
    const auto& definition = definition_of(static_cast<metric>(i));
    BOOST_TEST(!definition.help.empty());
    BOOST_TEST((definition.kind == metric_kind::histogram) == !definition.buckets.empty());
    if (definition.kind == metric_kind::counter) BOOST_TEST(definition.name.ends_with("_total"));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
