#pragma once

/// Marks what libglimmer exports; everything else stays inside.
#define GLIMMER_API __attribute__((visibility("default")))
