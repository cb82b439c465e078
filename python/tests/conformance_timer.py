# SPDX-License-Identifier: BSD-2-Clause
"""Timer wheels and timers in the conformance scripts: see conformance.py, which is the program.

Python has no callbacks of timers and no poll() that would run them: a poll is a burst with enough
room.
"""

import array
import errno

import libfp
from conformance_case import Case, Mismatch, is_open

ENOUGH = 1000  # records


def number(value):
    """A result of the script: an error's name is its negative errno."""
    return -getattr(errno, value[1:]) if isinstance(value, str) else value


class TimerCase(Case):
    KEY, NAME = "wheel", "w"
    HANDLE = libfp.TimerWheel
    WANTED = ("out", "ticks", "results", "fields", "infos")

    def __init__(self, kinds):
        super().__init__(kinds)
        self.ids = {None: 0}  # of timers, by name
        self.wakeups = {}
        self.services = {}
        self.cores = {}

    def prepare(self, do, step):
        if do.startswith("wakeup_"):
            return self.wakeups.get(step.get("wakeup"))
        self.core_name = step.pop("core", "c")
        wheel = super().prepare(do, step) if not do.startswith("core_") else None
        self.wheel = wheel
        return wheel

    def open(self):
        return super().open() + [thing for thing in (*self.wakeups.values(), *self.cores.values())
                                 if is_open(thing)]

    def check(self, _, wanted, __):
        if "out" in wanted:
            self.check_records(wanted.pop("out"))
        if "infos" in wanted:
            self.check_infos(wanted.pop("infos"))
        if "results" in wanted:
            wanted["results"] = [number(result) for result in wanted["results"]]
        if "ticks" in wanted:
            wanted["ticks"] = self.tick(wanted["ticks"])
        self.compare(wanted)

    def named(self, fields):
        """A timer as the script shows it, with ids and ticks for names."""
        fields = {"timer": fields} if isinstance(fields, str) else dict(fields)
        fields["timer"] = self.ids[fields["timer"]]
        if "expiry" in fields:
            fields["expiry"] = self.tick(fields["expiry"])
        return fields

    def check_records(self, wanted):
        records = self.found["records"]
        if len(records) != len(wanted):
            raise Mismatch(f"expected {len(wanted)} records, got {len(records)}")
        for fields, found in zip(wanted, records):
            fields = self.named(fields)
            if not fields.items() <= found.items():
                raise Mismatch(f"expected {fields}, got {found}")

    def check_infos(self, wanted):
        infos = self.found["infos"]
        wanted = {fields["timer"]: fields for fields in map(self.named, wanted)}
        if wanted.keys() != infos.keys():
            raise Mismatch(f"expected the timers {sorted(wanted)}, got {sorted(infos)}")
        for timer, fields in wanted.items():
            if not fields.items() <= infos[timer].items():
                raise Mismatch(f"expected {fields}, got {infos[timer]}")

    # ---- values of the script ----

    def tick(self, value):
        if not isinstance(value, str):
            return value
        if not value.startswith("now"):
            return int(value, 16)
        return self.wheel.now() + int(value[3:] or 0)

    def pop_tick(self, step, key):
        return self.tick(step.pop(key))

    def pop_timer(self, step):
        return self.ids[step.pop("timer", "t")]

    def pop_timers(self, step):
        return array.array("Q", [self.ids[name] for name in step.pop("timers")])

    # ---- wheels ----

    def create(self, step):
        start, tick_ns = step.pop("start", 0), step.pop("tick_ns", None)
        options = {key: step.pop(key) for key in ("name", "capacity", "max_timers", "stats", "wait")
                   if key in step}
        if start != "now":
            options["start_tick"] = start
        if tick_ns is not None:
            options["tick_ns"] = self.tick(tick_ns)
        return libfp.TimerWheel(**options)

    def do_now(self, _, wheel):
        return wheel.now()

    def do_ticks_from_ns(self, step, wheel):
        return wheel.ticks_from_ns(self.pop_tick(step, "ns"))

    def do_tick_ns(self, _, wheel):
        return wheel.tick_ns

    def do_count(self, _, wheel):
        return wheel.count

    def do_cancel_all(self, _, wheel):
        return wheel.cancel_all()

    def do_reset_stats(self, _, wheel):
        return wheel.reset_stats() or 0

    def do_next_expiry(self, step, wheel):
        tick = wheel.next_expiry
        latest = step.pop("not_after", None)
        if latest is not None and tick is not None and tick > self.tick(latest):
            raise Mismatch(f"it is {tick}")
        return int(tick is not None)

    def do_for_each(self, _, wheel):
        self.found["infos"] = {
            info.id: {"timer": info.id, "user": info.user, "expiry": info.expiry_tick,
                      "armed": info.expiry_tick is not None, "period": info.period_ticks,
                      "periodic": info.period_ticks is not None, "policy": info.policy}
            for info in wheel.timers()}
        return 0

    # ---- polls ----

    def poll(self, wheel, now, n):
        records = wheel.poll_burst(now, n)
        self.found["records"] = [
            {"timer": record.id, "user": record.user, "expiry": record.expiry_tick,
             "overruns": record.overruns, "periodic": record.is_periodic} for record in records]
        return len(records)

    def do_poll(self, step, wheel):
        return self.poll(wheel, self.pop_tick(step, "now"), step.pop("max", ENOUGH))

    def do_poll_burst(self, step, wheel):
        return self.poll(wheel, self.pop_tick(step, "now"), step.pop("n", ENOUGH))

    def do_await_fired(self, _, wheel):
        while True:
            wheel.wait()
            fired = self.poll(wheel, wheel.now(), ENOUGH)
            if fired:
                return fired

    # ---- waiting ----

    def do_wait(self, step, wheel):
        """Whether to poll, but the time-out is an error of C."""
        if wheel.wait(self.timeout(step)):
            return 0
        raise OSError(errno.ETIMEDOUT, "false")

    def do_interrupt(self, _, wheel):
        return wheel.interrupt() or 0

    def do_set_wakeup(self, step, wheel):
        wakeup = step.pop("wakeup")
        return wheel.set_wakeup(wakeup and self.wakeups[wakeup]) or 0

    def do_wakeup_create(self, step, _):
        self.wakeups[step.pop("wakeup")] = libfp.Wakeup()
        return 0

    def do_wakeup_arm(self, step, wakeup):
        del step["wakeup"]
        wakeup.fileno()
        return wakeup.arm() or 0

    def do_wakeup_clear(self, step, wakeup):
        del step["wakeup"]
        return int(wakeup.clear())

    def do_wakeup_destroy(self, step, wakeup):
        del step["wakeup"]
        return wakeup.destroy() or 0

    def do_service(self, _, wheel):
        service = wheel.service()
        if self.services.setdefault(self.name, service).handle != service.handle:
            raise Mismatch("another service the second time")
        return 0

    def do_service_map(self, *_):
        return self.services[self.name].map(self.cores[self.core_name]) or 0

    def do_service_start(self, *_):
        return self.services[self.name].start() or 0

    def do_core_create(self, *_):
        self.cores[self.core_name] = libfp.ServiceCore()
        return 0

    def do_core_run(self, *_):
        """Whether it was stopped, but the time-out is an error of C."""
        if self.cores[self.core_name].run(0):
            return 0
        raise OSError(errno.ETIMEDOUT, "false")

    def do_core_destroy(self, *_):
        return self.cores[self.core_name].destroy() or 0

    # ---- timers ----

    def do_timer_create(self, step, wheel):
        name, user = step.pop("timer", "t"), step.pop("user", 0)
        self.ids[name] = wheel.create_timer(user)
        return 0

    def do_timer_create_bulk(self, step, wheel):
        names, users = step.pop("timers"), step.pop("users", None)
        made = wheel.create_bulk(len(names) if users is None else array.array("Q", users))
        self.ids.update(zip(names, made))
        return len(made)

    def do_timer_destroy(self, step, wheel):
        return int(wheel.destroy_timer(self.pop_timer(step)))

    def do_cancel(self, step, wheel):
        return int(wheel.cancel(self.pop_timer(step)))

    def do_cancel_sync(self, step, wheel):
        return int(wheel.cancel_sync(self.pop_timer(step), self.timeout(step)))

    def do_is_pending(self, step, wheel):
        return int(wheel.is_pending(self.pop_timer(step)))

    def do_arm(self, step, wheel):
        return int(wheel.arm(self.pop_timer(step), self.pop_tick(step, "expiry")))

    def do_arm_periodic(self, step, wheel):
        first, period = self.pop_tick(step, "first"), self.pop_tick(step, "period")
        return int(wheel.arm_periodic(self.pop_timer(step), first, period, step.pop("policy")))

    def do_touch(self, step, wheel):
        return int(wheel.touch(self.pop_timer(step), self.pop_tick(step, "expiry")))

    def do_remaining(self, step, wheel):
        ticks = wheel.remaining(self.pop_timer(step), self.pop_tick(step, "now"))
        self.found["ticks"] = ticks
        return int(ticks is not None)

    def many(self, step, call, *arguments):
        timers = self.pop_timers(step)
        results = array.array("i", [0]) * len(timers)
        done = call(timers, *arguments, results)
        self.found["results"] = results.tolist()
        return done

    def many_at(self, step, call):
        ticks = array.array("Q", [self.tick(value) for value in step.pop("expiries")])
        return self.many(step, call, ticks)

    def do_timer_destroy_bulk(self, step, wheel):
        return self.many(step, wheel.destroy_bulk)

    def do_cancel_bulk(self, step, wheel):
        return self.many(step, wheel.cancel_bulk)

    def do_arm_bulk(self, step, wheel):
        return self.many_at(step, wheel.arm_bulk)

    def do_touch_bulk(self, step, wheel):
        return self.many_at(step, wheel.touch_bulk)
