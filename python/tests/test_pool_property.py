# SPDX-License-Identifier: BSD-2-Clause
"""Any sequence of calls on a pool against a model: who has which object, and what is in it."""

import array

import libfp
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

COUNTS = st.integers(0, 12)
PICK = st.integers(0, 2**16)
POISON = 0xdb  # of a checked pool, in what is not in use


class PoolMachine(RuleBasedStateMachine):
    """One thread and one Python object, so that "none left" is exact.

    held     blocks in use, with the slices of their views that hold up a put
    loose    indexes in use without a block
    content  the first byte of each object
    recent   indexes put, the last one most recently: as many of them as are at hand come first
    """

    @initialize(count=st.integers(1, 12), size=st.sampled_from([1, 8, 20]), checked=st.booleans(),
                stats=st.booleans(), cache=st.integers(0, 12), order=st.permutations(range(12)))
    def start(self, count, size, checked, stats, cache, order):
        self.pool = libfp.Pool(count, size, checked=checked, stats=stats,
                               cache_size=min(cache, count) or None)
        self.checked = checked
        self.held, self.loose, self.recent, self.ended = [], [], [], []
        self.content = dict.fromkeys(range(count), 0)
        self.put_all(order)

    def put_all(self, order):
        """Everything out, and in again in some order: the first gets have an expectation."""
        blocks = sorted(self.pool.get_bulk(self.pool.capacity), key=lambda b: b.index)
        blocks = [blocks[i] for i in order if i < len(blocks)]
        self.pool.put_bulk(blocks)
        self.went([block.index for block in blocks])

    @property
    def free(self):
        return self.pool.capacity - len(self.held) - len(self.loose)

    def came(self, indexes, at_hand):
        """These were got, with so many at hand before."""
        in_use = {block.index for block, _ in self.held} | set(self.loose)
        assert len(set(indexes)) == len(indexes) and not in_use & set(indexes)
        sure = min(at_hand, len(self.recent), len(indexes))
        expected = self.recent[::-1][:sure]
        assert list(indexes[:sure]) == expected
        if len(indexes) >= at_hand:
            self.recent.clear()  # the rest comes from the depot, in an order of its own
        else:
            del self.recent[len(self.recent) - sure:]
        self.recent = [i for i in self.recent if i not in indexes]

    def went(self, indexes):
        self.recent.extend(indexes)

    def check_content(self, block):
        value = POISON if self.checked else self.content[block.index]
        assert block.view[0] == value, (block, self.content)

    @rule()
    def get(self):
        at_hand, free = self.pool.cached, self.free
        block = self.pool.get()
        assert (block is None) == (free == 0)
        if block is not None:
            self.came([block.index], at_hand)
            self.check_content(block)
            self.held.append((block, []))

    @rule(n=COUNTS)
    def get_bulk(self, n):
        at_hand, free = self.pool.cached, self.free
        if n > self.pool.capacity:
            with pytest.raises(libfp.InvalidArgument):
                self.pool.get_bulk(n)
            return
        blocks = self.pool.get_bulk(n)
        assert len(blocks) == (n if n <= free else 0)
        if blocks:
            self.came([b.index for b in blocks], at_hand)
        for block in blocks:
            self.check_content(block)
            self.held.append((block, []))

    @rule(n=COUNTS, code=st.sampled_from("IQ"), into=st.booleans())
    def get_indexes(self, n, code, into):
        at_hand, free = self.pool.cached, self.free
        if n > self.pool.capacity:
            return
        if into:
            room = array.array(code, [999]) * n
            got = self.pool.get_indexes_into(room)
            assert got in (0, n) and (got or set(room) <= {999})
            indexes = list(room[:got])
        else:
            indexes = self.pool.get_indexes(n).tolist()
        assert len(indexes) == (n if n <= free else 0)
        if indexes:
            self.came(indexes, at_hand)
        self.loose.extend(indexes)

    @precondition(lambda self: self.held)
    @rule(which=PICK, value=st.integers(0, 255))
    def write(self, which, value):
        block, _ = self.held[which % len(self.held)]
        block.view[0] = value
        self.content[block.index] = value

    @precondition(lambda self: self.held)
    @rule(which=PICK)
    def slice_or_not(self, which):
        block, slices = self.held[which % len(self.held)]
        if slices:
            slices.clear()
        else:
            slices.append(block.view[:1])

    @precondition(lambda self: self.held)
    @rule(which=PICK)
    def put(self, which):
        which %= len(self.held)
        block, slices = self.held[which]
        if slices:
            with pytest.raises(BufferError):
                self.pool.put(block)
            assert block.is_open
            return
        self.pool.put(block)
        del self.held[which]
        self.ended.append(block)
        self.went([block.index])

    @precondition(lambda self: self.held)
    @rule(n=COUNTS, backwards=st.booleans(), twice=st.sampled_from([False, False, True]))
    def put_bulk(self, n, backwards, twice):
        chosen = self.held[:n][::-1] if backwards else self.held[:n]
        blocks = [block for block, _ in chosen + chosen[:twice]]
        if len(set(blocks)) < len(blocks) or any(slices for _, slices in chosen):
            with pytest.raises((libfp.NotInUse, BufferError)):
                self.pool.put_bulk(blocks)
            assert all(block.is_open for block in blocks)
            return
        assert self.pool.put_bulk(blocks) == len(blocks)
        del self.held[:n]
        self.ended.extend(blocks)
        self.went([block.index for block in blocks])

    @precondition(lambda self: self.loose)
    @rule(n=st.integers(1, 12), code=st.sampled_from("IQ"))
    def put_indexes(self, n, code):
        indexes, self.loose = self.loose[:n], self.loose[n:]
        assert self.pool.put_indexes(array.array(code, indexes)) == len(indexes)
        self.went(indexes)

    @rule()
    def misuse(self):
        indexes = [*self.loose, self.pool.capacity]
        if len(indexes) <= self.pool.capacity:
            with pytest.raises(libfp.NoSuchObject):
                self.pool.put_indexes(array.array("I", indexes))
        for block in self.ended:
            with pytest.raises(libfp.NotInUse):
                self.pool.put(block)
        if self.held or self.loose:
            with pytest.raises(libfp.PoolBusy) as caught:
                self.pool.destroy()
            assert caught.value.in_use == self.pool.capacity - self.free

    @precondition(lambda self: self.held)
    @rule(which=PICK)
    def forget(self, which):
        block, slices = self.held.pop(which % len(self.held))
        index = block.index
        slices.clear()
        del block
        self.went([index])

    @precondition(lambda self: self.held)
    @rule(which=PICK)
    def detach(self, which):
        block, slices = self.held.pop(which % len(self.held))
        slices.clear()
        self.loose.append(block.detach())
        self.ended.append(block)

    @precondition(lambda self: self.loose)
    @rule()
    def adopt(self):
        self.held.append((self.pool.adopt(self.loose.pop()), []))

    @rule()
    def flush(self):
        at_hand = self.pool.cached
        assert self.pool.flush() == at_hand
        self.recent.clear()

    @rule()
    def counts(self):
        pool, free = self.pool, self.free
        assert (pool.available, pool.in_use) == (free, pool.capacity - free)
        assert (pool.is_empty, pool.is_full) == (free == 0, free == pool.capacity)
        stats = pool.stats
        assert stats.in_depot + stats.in_explicit_caches == stats.available == free
        assert stats.in_explicit_caches == pool.cached
        if stats.counted:
            assert stats.objects_got - stats.objects_put == pool.in_use
        if self.checked:
            assert [leak.index for leak in pool.leaks()] == sorted(
                [block.index for block, _ in self.held] + self.loose)
        pool.audit()

    def teardown(self):
        if hasattr(self, "pool"):
            self.held.clear()
            self.pool.put_indexes(array.array("I", self.loose))
            if self.pool.is_full:  # else a rule has failed, and its traceback has a block
                self.pool.destroy()


TestPool = PoolMachine.TestCase
