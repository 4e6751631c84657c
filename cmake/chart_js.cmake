# FERRY_CHART_JS: the charting library, of Debian's libjs-chart.js. Pages have it
# inlined, so that they need no network.
set(FERRY_CHART_JS /usr/share/javascript/chart.js/chart.min.js CACHE FILEPATH
  "Chart.js 3, minified (package libjs-chart.js)")
if(NOT EXISTS ${FERRY_CHART_JS})
  message(FATAL_ERROR "Chart.js not found at ${FERRY_CHART_JS}: install "
    "libjs-chart.js (scripts/setup.sh does) or set FERRY_CHART_JS")
endif()
