// Implements LivePage(): fills page/live.html.
#include "server/http/live_page.h"

#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/http/live_assets.h"

namespace ferry {
namespace {

// A new one for each answer: what is injected into a page has none of it.
std::string Nonce() {
  std::random_device random;
  std::string bytes;
  for (int i = 0; i < 4; ++i) {
    const uint32_t number = random();
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  return absl::Base64Escape(bytes);
}

}  // namespace

HttpReply LivePage() {
  const std::string nonce = Nonce();
  HttpReply reply = {.content_type = "text/html; charset=utf-8",
                     .body = absl::StrReplaceAll(
                         kLivePage, {{"{{nonce}}", nonce},
                                     {"{{style}}", kLiveStyle},
                                     {"{{chart_library}}", kLiveChartLibrary},
                                     {"{{script}}", kLiveScript}})};
  reply.headers = {
      {"Content-Security-Policy",
       absl::StrCat("default-src 'none'; connect-src 'self'; img-src data:; "
                    "script-src 'nonce-",
                    nonce, "'; style-src 'nonce-", nonce,
                    "'; base-uri 'none'; form-action 'none'; "
                    "frame-ancestors 'none'")},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cache-Control", "no-store"}};
  return reply;
}

}  // namespace ferry
