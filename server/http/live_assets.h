// kLivePage and its like are strings that the build puts into the program.
#ifndef FERRY_SERVER_HTTP_LIVE_ASSETS_H_
#define FERRY_SERVER_HTTP_LIVE_ASSETS_H_

namespace ferry {

extern const char kLivePage[];          // server/http/page/live.html
extern const char kLiveStyle[];         // server/http/page/live.css
extern const char kLiveScript[];        // server/http/page/live.js
extern const char kLiveChartLibrary[];  // Chart.js, minified

}  // namespace ferry

#endif  // FERRY_SERVER_HTTP_LIVE_ASSETS_H_
