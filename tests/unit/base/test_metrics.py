"""Metrics: plain attributes while they are counted, Prometheus text when somebody asks."""

import pytest

from ottla.base.metrics import Registry


@pytest.fixture
def registry():
    return Registry()


def test_a_counter_without_labels_is_added_to_directly(registry):
    requests = registry.counter("requests_total", "Requests\nhandled.")
    requests.value += 2
    assert registry.render() == (
        "# HELP requests_total Requests\\nhandled.\n# TYPE requests_total counter\nrequests_total 2\n"
    )


def test_each_set_of_label_values_has_a_child_that_stays_the_same(registry):
    requests = registry.counter("requests_total", "Requests.", labels=("api", "error"))
    produce = requests.labels(api="Produce", error=0)
    produce.value += 1
    assert requests.labels(error=0, api="Produce") is produce
    assert 'requests_total{api="Produce",error="0"} 1\n' in registry.render()


def test_label_values_are_escaped(registry):
    registry.gauge("g", "G.", labels=("topic",)).labels(topic='a"b\\c\nd').value = 1.5
    assert 'g{topic="a\\"b\\\\c\\nd"} 1.5\n' in registry.render()


def test_a_removed_child_is_printed_no_more(registry):
    sizes = registry.gauge("size_bytes", "Size.", labels=("topic",))
    sizes.labels(topic="t").value = 3
    sizes.remove(topic="t")
    assert 'topic="t"' not in registry.render()


def test_what_can_be_computed_is_computed_at_the_scrape(registry):
    open_files = [1]
    registry.gauge("open_files", "Open files.").set_function(lambda: len(open_files))
    rows = registry.gauge("size_bytes", "Size.", labels=("topic",))
    rows.set_rows(lambda: [(("t",), 10 * len(open_files))])
    open_files.append(2)
    printed = registry.render().splitlines()
    assert "open_files 2" in printed
    assert 'size_bytes{topic="t"} 20' in printed
    assert sum(line.startswith("open_files") for line in printed) == 1


def test_a_histogram_counts_at_or_below_each_bound(registry):
    seconds = registry.histogram("seconds", "Seconds.", bounds=(0.1, 1))
    for amount in (0.1, 0.5, 7):
        seconds.observe(amount)
    assert registry.render().splitlines()[2:] == [
        'seconds_bucket{le="0.1"} 1',
        'seconds_bucket{le="1"} 2',
        'seconds_bucket{le="+Inf"} 3',
        "seconds_sum 7.6",
        "seconds_count 3",
    ]


def test_a_histogram_may_have_labels(registry):
    seconds = registry.histogram("seconds", "Seconds.", labels=("api",), bounds=(1,))
    seconds.labels(api="Fetch").observe(0.5)
    assert 'seconds_bucket{api="Fetch",le="1"} 1' in registry.render()


def test_odd_numbers_have_prometheus_names(registry):
    gauge = registry.gauge("g", "G.", labels=("n",))
    for n, value in enumerate((float("inf"), float("-inf"), float("nan"))):
        gauge.labels(n=n).value = value
    assert [line.split()[1] for line in registry.render().splitlines()[2:]] == [
        "+Inf",
        "-Inf",
        "NaN",
    ]


def test_mistakes_in_declarations_are_found_at_once(registry):
    registry.gauge("g", "G.")
    for declare in (
        lambda: registry.gauge("g", "Twice."),
        lambda: registry.counter("c", "No _total."),
        lambda: registry.gauge("Bad-Name", "B."),
        lambda: registry.gauge("h", "H.", labels=("bad-label",)),
        lambda: registry.histogram("s", "S.", bounds=(2, 1)),
        lambda: registry.histogram("s", "S.", bounds=()),
    ):
        with pytest.raises(ValueError):
            declare()


def test_mistakes_with_labels_are_found_at_once(registry):
    plain, labelled = registry.gauge("p", "P."), registry.gauge("l", "L.", labels=("a",))
    with pytest.raises(ValueError, match="no labels"):
        plain.labels()
    with pytest.raises(ValueError, match="labels"):
        labelled.labels()
    with pytest.raises(AttributeError):
        labelled.value += 1
