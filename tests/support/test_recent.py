"""The values of the keys that were used last."""

from concurrent.futures import ThreadPoolExecutor

from tadc.support.recent import Recent


def test_the_key_used_longest_ago_goes_first() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert [recent.peek(key) for key in "abc"] == [1, None, 3]


def test_a_peek_is_no_use() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.peek("a") == 1
    recent.put("c", 3)
    assert recent.get("a") is None


def test_all_are_forgotten() -> None:
    recent: Recent[str, int] = Recent(2)
    recent.put("a", 1)
    recent.clear()
    assert recent.get("a") is None
    assert len(recent) == 0


def test_several_threads_may_use_it() -> None:
    recent: Recent[int, int] = Recent(8)

    def use(start: int) -> bool:
        for key in range(start, start + 20_000):
            recent.put(key % 100, key % 100)
            assert recent.get(key % 37) in (None, key % 37)
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(use, range(4)))
    assert len(recent) <= 8 + 4  # each thread may add one while another looks
