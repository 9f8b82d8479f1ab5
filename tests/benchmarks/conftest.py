"""One table at the end: each contender's median beside ours."""

from collections import defaultdict


def pytest_terminal_summary(terminalreporter, config):
    """Print medians and ratios of the run, a group after the other."""
    session = getattr(config, "_benchmarksession", None)
    groups = defaultdict(list)
    for bench in session.benchmarks if session else ():
        groups[bench.group].append(bench)
    for group, benches in groups.items():
        terminalreporter.write_line(f"\n{group}")
        ours = next((b for b in benches if "[ours" in b.name or "-ours" in b.name), benches[0])
        for bench in benches:
            median = bench.stats.median
            extra = "".join(f"   {key} {value}" for key, value in bench.extra_info.items())
            ratio = ours.stats.median / median
            terminalreporter.write_line(
                f"  {bench.param or bench.name:<34} {1000 * median:9.2f} ms   ours is "
                f"{ratio:5.2f} of it{extra}"
            )
