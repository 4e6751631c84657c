// LivePage() is the page that shows what the server does now and did in the
// last 15 minutes. It is one answer with style, scripts and charting library in
// it, asks the server for /status.json each 5 s and nothing of anything else,
// which its Content-Security-Policy makes certain.
//
// Thread safety: a free function.
#ifndef FERRY_SERVER_HTTP_LIVE_PAGE_H_
#define FERRY_SERVER_HTTP_LIVE_PAGE_H_

#include "server/http/http_listener.h"

namespace ferry {

HttpReply LivePage();

}  // namespace ferry

#endif  // FERRY_SERVER_HTTP_LIVE_PAGE_H_
