// Implements HeatGrids(): sorts runs into grids.
#include "bench/report/heat_map.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/report/frontier.h"
#include "bench/report/html_table.h"
#include "bench/report/number_text.h"

namespace ferry::bench {
namespace {

// Returns a cell that says "less than": of the lowest rate among the points
// that miss the bound; nothing without one.
template <typename Misses>
std::optional<HeatCell> LowestMissed(const RunResult& run, Misses misses) {
  std::optional<HeatCell> cell;
  for (const PointResult& point : run.points) {
    if (misses(point) &&
        (!cell.has_value() || point.target_rate < cell->rate)) {
      cell = {.rate = point.target_rate,
              .is_bound = true,
              .served = std::min(point.achieved_rate, point.target_rate)};
    }
  }
  return cell;
}

std::optional<HeatCell> OfSearch(const RunResult& run) {
  if (run.search->found_rate.has_value()) {
    return HeatCell{.rate = *run.search->found_rate,
                    .served = *run.search->found_rate};
  }
  return LowestMissed(run, [](const PointResult& point) {
    return point.void_reason.empty() && absl::EndsWith(point.purpose, "missed");
  });
}

std::optional<HeatCell> OfBound(const RunResult& run, double slo_ms) {
  if (const auto place = Chosen({run}, slo_ms)) {
    const double rate = run.points[place->point].achieved_rate;
    return HeatCell{.rate = rate, .served = rate};
  }
  return LowestMissed(run, [](const PointResult& point) {
    return point.loop == "open" && Stands(point);
  });
}

// The most that was carried; where nothing was, less than the least that was
// tried.
std::optional<HeatCell> OfTheMost(const RunResult& run) {
  std::optional<HeatCell> most;
  std::optional<HeatCell> least;
  for (const PointResult& point : run.points) {
    const double rate = point.achieved_rate;
    if (Carries(point)) {
      if (!most.has_value() || rate > most->rate) {
        most = {.rate = rate, .served = rate};
      }
    } else if (const double tried =
                   point.loop == "open" ? point.target_rate : rate;
               Stands(point) && (!least.has_value() || tried < least->rate)) {
      least = {.rate = tried, .is_bound = true, .served = rate};
    }
  }
  return most.has_value() ? most : least;
}

std::optional<HeatCell> CellOf(const RunResult& run,
                               const std::optional<double>& slo_ms) {
  if (run.search.has_value() &&
      (!slo_ms.has_value() ||
       (run.search->percentile == 99 && run.search->slo_ms == *slo_ms))) {
    return OfSearch(run);
  }
  return slo_ms.has_value() ? OfBound(run, *slo_ms) : OfTheMost(run);
}

template <typename T>
void Insert(std::vector<T>& sorted, T value) {
  const auto place = std::lower_bound(sorted.begin(), sorted.end(), value);
  if (place == sorted.end() || *place != value) {
    sorted.insert(place, value);
  }
}

template <typename T>
size_t PlaceOf(const std::vector<T>& sorted, T value) {
  return static_cast<size_t>(
      std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
}

// `eager` never waits, whatever its max_wait says.
double WaitOf(const RuntimeSetting& runtime_options) {
  return runtime_options.policy == "eager" ? 0 : runtime_options.max_wait_ms;
}

HeatGrid& GridOf(std::vector<HeatGrid>& grids, const RunResult& run) {
  for (HeatGrid& grid : grids) {
    if (grid.model == run.model && grid.policy == run.runtime_options->policy) {
      return grid;
    }
  }
  grids.push_back({.model = run.model, .policy = run.runtime_options->policy});
  return grids.back();
}

// Whether `a` says more of a setting than `b`, or better.
bool Outdoes(const HeatCell& a, const HeatCell& b) {
  return a.is_bound != b.is_bound ? b.is_bound : a.rate > b.rate;
}

void Fill(const RunResult& run, const HeatCell& cell, HeatGrid& grid) {
  const auto place =
      std::pair(PlaceOf(grid.batch_sizes, run.runtime_options->max_batch_size),
                PlaceOf(grid.waits_ms, WaitOf(*run.runtime_options)));
  const auto [found, is_new] = grid.cells.emplace(place, cell);
  if (!is_new && Outdoes(cell, found->second)) {
    found->second = cell;
  }
}

void MarkBest(std::vector<HeatGrid>& grids) {
  for (HeatGrid& grid : grids) {
    HeatCell* best = nullptr;
    for (HeatGrid& other : grids) {
      for (auto& [place, cell] : other.cells) {
        if (other.model == grid.model && !cell.is_bound &&
            (best == nullptr || cell.rate > best->rate)) {
          best = &cell;
        }
      }
    }
    if (best != nullptr) {
      best->is_best = true;
    }
  }
}

std::string CellToHtml(const HeatCell& cell, double best) {
  return absl::StrFormat(
      "<td class=\"%s\" style=\"--heat:%.3f\">%s%s</td>",
      cell.is_best    ? "heat best"
      : cell.is_bound ? "heat bound"
                      : "heat",
      best > 0 ? std::clamp(cell.served / best, 0.0, 1.0) : 0,
      cell.is_bound ? "&lt; " : "", RateInWords(cell.rate));
}

std::string GridToHtml(const HeatGrid& grid, double best, bool names_model) {
  const std::string name =
      names_model ? absl::StrCat(grid.model, ", ", grid.policy) : grid.policy;
  std::string html = absl::StrCat(
      "<table class=\"heatmap\"><caption>", Escape(name),
      "</caption>\n<thead><tr><th scope=\"col\">rows \\ max wait</th>");
  for (const double wait_ms : grid.waits_ms) {
    absl::StrAppend(
        &html, "<th scope=\"col\">",
        grid.policy == "eager" ? "none" : absl::StrFormat("%g ms", wait_ms),
        "</th>");
  }
  html += "</tr></thead>\n<tbody>";
  for (size_t row = 0; row < grid.batch_sizes.size(); ++row) {
    absl::StrAppend(&html, "<tr><th scope=\"row\">", grid.batch_sizes[row],
                    "</th>");
    for (size_t column = 0; column < grid.waits_ms.size(); ++column) {
      const auto cell = grid.cells.find({row, column});
      html += cell == grid.cells.end() ? "<td class=\"heat untried\">-</td>"
                                       : CellToHtml(cell->second, best);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

}  // namespace

std::vector<HeatGrid> HeatGrids(const std::vector<RunResult>& runs,
                                const std::optional<double>& slo_ms) {
  std::vector<std::pair<const RunResult*, HeatCell>> told;
  std::vector<HeatGrid> grids;
  for (const RunResult& run : runs) {
    const auto cell =
        run.runtime_options.has_value() ? CellOf(run, slo_ms) : std::nullopt;
    if (cell.has_value()) {
      told.emplace_back(&run, *cell);
      HeatGrid& grid = GridOf(grids, run);
      Insert(grid.batch_sizes, run.runtime_options->max_batch_size);
      Insert(grid.waits_ms, WaitOf(*run.runtime_options));
    }
  }
  for (const auto& [run, cell] : told) {
    Fill(*run, cell, GridOf(grids, *run));
  }
  std::map<std::string, size_t> settings;  // tried, by model
  for (const HeatGrid& grid : grids) {
    settings[grid.model] += grid.cells.size();
  }
  std::erase_if(grids,
                [&](const HeatGrid& grid) { return settings[grid.model] < 2; });
  MarkBest(grids);
  return grids;
}

std::string HeatMapToHtml(const std::vector<HeatGrid>& grids) {
  std::map<std::string, double> best;  // by model
  for (const HeatGrid& grid : grids) {
    for (const auto& [place, cell] : grid.cells) {
      best[grid.model] = std::max(best[grid.model], cell.served);
    }
  }
  std::string html;
  for (const HeatGrid& grid : grids) {
    html += GridToHtml(grid, best[grid.model], best.size() > 1);
  }
  return html;
}

}  // namespace ferry::bench
