"""Draws the tables of policies and of loads as pictures, with matplotlib, which
`scripts/show.sh policies` and `load` install into .venv on first use."""

import io

import matplotlib

import measuring

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "ferry"  # the same file each time
matplotlib.rcParams["svg.fonttype"] = "none"

import matplotlib.pyplot as plt  # noqa: E402  (after the choice of a backend)

COLOURS = {"eager": "#1b6ca8", "window": "#c1662f", "adaptive": "#3f8f4f"}


def draw_policies(setups, bounds_ms, path):
    """Draws mean and p99 over the load, a panel a setup; dotted: the bounds."""
    figure, panels = plt.subplots(2, 3, figsize=(12, 7), sharex=True)
    for panel, setup, bounds in zip(panels.flat, setups, bounds_ms,
                                     strict=True):
        for policy, colour in COLOURS.items():
            points = [(point["load"], point[policy]["latency_ms"])
                      for point in setup["points"]
                      if point[policy]["latency_ms"]]
            loads = [load for load, _ in points]
            panel.plot(loads, [ms["p99"] for _, ms in points], "o-",
                       color=colour, markersize=3, label=f"{policy}, p99")
            panel.plot(loads, [ms["mean"] for _, ms in points], "--",
                       color=colour, linewidth=1, label=f"{policy}, mean")
        for bound in bounds:
            panel.axhline(bound, color="#999999", linestyle=":", linewidth=1)
        panel.set_title(setup["name"], fontsize=9)
        panel.set_yscale("log")
        panel.grid(alpha=0.3, which="both")
    for panel in panels[1]:
        panel.set_xlabel("offered load, of capacity")
    for panel in panels[:, 0]:
        panel.set_ylabel("latency, ms")
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=6, fontsize=9,
                  frameon=False)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    keep(figure, path)


def draw_loads(points, path):
    """Draws the load told and the busy ratio over the load that arrived."""
    figure, panel = plt.subplots(figsize=(7, 5))
    loads = [point["load"] for point in points]
    panel.plot(loads, loads, ":", color="#999999", label="what arrives")
    for policy, colour in COLOURS.items():
        panel.plot(loads, [point[policy]["told"] for point in points], "o-",
                   color=colour, markersize=4, label=f"{policy}, load told")
        panel.plot(loads, [point[policy]["busy"] for point in points], "s--",
                   color=colour, markersize=3, linewidth=1,
                   label=f"{policy}, busy ratio")
    panel.set_xlabel("offered load, of capacity")
    panel.set_ylabel("ratio")
    panel.grid(alpha=0.3)
    panel.legend(fontsize=8, frameon=False)
    figure.tight_layout()
    keep(figure, path)


def keep(figure, path):
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], metadata={"Date": None})
    measuring.replace(path, drawn.getvalue())
