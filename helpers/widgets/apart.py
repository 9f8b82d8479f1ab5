"""Places along a line, pushed apart until what is written there can be read."""


def spread(wanted: list[float], gap: float) -> list[float]:
    """Move ascending places apart until neighbours keep the gap, as little as possible."""
    groups = []
    for place in wanted:
        groups.append([[place], place])
        # Groups that touch become one, centred on the mean of what its members wanted.
        while len(groups) > 1 and _touch(groups[-2], groups[-1], gap):
            members = groups.pop()[0]
            groups[-1][0].extend(members)
            groups[-1][1] = sum(groups[-1][0]) / len(groups[-1][0])
    return [
        centre + (index - (len(members) - 1) / 2) * gap
        for members, centre in groups
        for index in range(len(members))
    ]


def _touch(lower, upper, gap):
    return upper[1] - lower[1] < gap * (len(lower[0]) + len(upper[0])) / 2
