"""One table at the end: each contender's time beside ours, turn by turn."""

from collections import defaultdict
from statistics import median


def pytest_terminal_summary(terminalreporter, config):
    """Print medians, and the median of the turns' ratios, a group after the other."""
    session = getattr(config, "_benchmarksession", None)
    groups = defaultdict(lambda: defaultdict(list))
    for bench in session.benchmarks if session else ():
        groups[bench.group][bench.params["name"]].append(bench)
    for group, contenders in groups.items():
        terminalreporter.write_line(f"\n{group}")
        head, first = next(iter(contenders.items()))  # ours, where it is one of them
        for name, turns in contenders.items():
            times = [bench.stats.median for bench in turns]
            ratio = median(a.stats.median / b for a, b in zip(first, times, strict=True))
            extra = "".join(f"   {key} {value}" for key, value in turns[0].extra_info.items())
            terminalreporter.write_line(
                f"  {name:<30} {1000 * median(times):9.2f} ms   {head} is {ratio:5.2f} of it{extra}"
            )
