// One runner for every test program: Boost.Test finds the cases by registration.
#define BOOST_TEST_MODULE glimmer
#include <boost/test/unit_test.hpp>
