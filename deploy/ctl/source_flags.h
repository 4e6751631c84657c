// SourceFlags are those that say where a server's numbers are read; each
// command that reads them has some of these.
//
// Thread safety: free functions. What they fill outlives the parsing.
#ifndef FERRY_DEPLOY_CTL_SOURCE_FLAGS_H_
#define FERRY_DEPLOY_CTL_SOURCE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "deploy/ctl/prometheus_recording.h"

namespace ferry::ctl {

// Makes a flag take "60s", "15m", "2h" or "7d", as seconds from 1 to `most_s`.
CLI::Option* AsTime(CLI::Option* option, int64_t most_s);

// Adds --from, where a server's metrics are.
CLI::Option* AddFromFlag(CLI::App& command, std::string& address);

// Returns --from-prometheus, beside which it adds --window and --label.
CLI::Option* AddPrometheusFlags(CLI::App& command, std::string& url,
                                PrometheusWindow& window);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_SOURCE_FLAGS_H_
