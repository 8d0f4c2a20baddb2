// quill (https://github.com/odygrd/quill, 12.1) behind functions of C, so that the benchmarks call
// it as they call other loggers:
//
//     c++ -O3 -DNDEBUG -std=c++17 -shared -fPIC -I QUILL/include benches/quill/shim.cpp \
//         -o target/libquill.so -pthread
//     TACH_QUILL=target/libquill.so cargo run --release -p benches --bin pipeline
#include <cstdint>
#include <string>
#include <string_view>

#include "quill/Backend.h"
#include "quill/Frontend.h"
#include "quill/LogMacros.h"
#include "quill/Logger.h"
#include "quill/sinks/FileSink.h"

static quill::Logger* logger;

// Opens a file. Records are written in the order of their times, as by default.
extern "C" void quill_open(char const* path) {
  quill::Backend::start();
  quill::FileSinkConfig config;
  config.set_open_mode('w');
  auto sink = quill::Frontend::create_or_get_sink<quill::FileSink>(path, config);
  logger = quill::Frontend::create_or_get_logger(
      "bench", std::move(sink),
      quill::PatternFormatterOptions{"%(time) %(log_level) %(message)",
                                     "%Y-%m-%dT%H:%M:%S.%Qns", quill::Timezone::GmtTime});
}

extern "C" void quill_log(uint64_t number) {
  LOG_INFO(logger, "request done number={} took={} path={}", number, 0.25, "/index.html");
}

extern "C" void quill_message(char const* text, size_t length) {
  LOG_INFO(logger, "{}", std::string_view(text, length));
}

// Writes everything, and ends the back end.
extern "C" void quill_close() {
  logger->flush_log();
  quill::Backend::stop();
}
