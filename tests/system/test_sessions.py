"""Sessions: devices kept for a series of captures, over everything that may come between."""

import signal
import unittest

import kprof_testing
from kprof_testing import DaemonTest, OwnDaemonTest, unique_seconds, wait_until, wait_until_gone


def open_session(ctl, *options):
    return ctl.json("session", "open", *options)["id"]


def state_of(ctl, session):
    return ctl.json("session", "show", session)["state"]


class SessionTest(DaemonTest):
    def test_keeps_its_device_between_its_rounds(self):
        opened = self.ctl.run("session", "open", "--label", "loop=7", "--clocks", "lock")
        session = opened.text.strip()
        cpu = self.ctl.json("devices")["devices"][0]
        self.assertEqual((cpu["session"], cpu["run"]), (session, None))
        other = self.ctl.detach("true")
        for number in (1, 2, 3):
            run = self.ctl.capture("true", options=("--session", session, "--label", f"try={number}"))
            self.assertEqual((run["state"], run["session"], run["round"]), ("done", session, number))
            self.assertIn("clocks_not_locked", [reason["code"] for reason in run["trust"]])
        self.assertEqual(self.ctl.show(other)["state"], "queued")
        shown = self.ctl.json("session", "show", "@last")
        self.assertEqual((shown["schema"], shown["id"], shown["state"], shown["labels"], shown["round_count"]),
                         ("kprof.session.v1", session, "open", {"loop": "7"}, 3))
        self.assertEqual([r["labels"] for r in shown["rounds"]], [{"try": str(n)} for n in (1, 2, 3)])
        self.assertGreater(shown["rounds"][0]["metrics"]["wall_ns"], 0)
        self.ctl.run("session", "close", session[:14])
        self.ctl.wait(other, expect="done")
        self.assertEqual(self.ctl.json("session", "list", "--label", "loop=7")["sessions"][0]["state"], "closed")
        self.ctl.run("capture", "command", "--session", session, "--", "true", expect="lease_lost")
        rows = self.ctl.json("query", "SELECT s.state, count(*), max(r.round) FROM session AS s JOIN run AS r "
                                      f"ON r.session = s.id WHERE s.id = '{session}'")["rows"]
        self.assertEqual(rows, [["closed", 3, 3]])

    def test_closing_ends_what_runs_and_cancels_what_waits(self):
        session = open_session(self.ctl)
        seconds = unique_seconds()
        running = self.ctl.detach("sleep", seconds, options=("--session", session))
        waiting = self.ctl.detach("true", options=("--session", session))
        self.ctl.wait_for_state(running, "running")
        self.ctl.run("session", "close", session)
        self.assertEqual(self.ctl.wait(running, expect="cancelled")["signal"], signal.SIGTERM)
        self.assertIsNone(self.ctl.wait(waiting, expect="cancelled")["started_ns"])
        wait_until_gone(seconds, run=running)
        self.assertEqual(self.ctl.json("status")["queue"]["sessions_open"], 0)
        again = self.ctl.run("session", "close", session)
        self.assertEqual(again.text, f"session {session} is closed\n")

    def test_closing_one_that_has_ended_by_itself_tells_why(self):
        session = open_session(self.ctl, "--ttl", "1s")
        wait_until(lambda: state_of(self.ctl, session) == "closed", "its TTL to pass")
        closed = self.ctl.run("session", "close", session)
        self.assertRegex(closed.err.decode(), r"it ended with timed_out: .*TTL of 1 s has passed; give it more with --ttl")

    def test_devices_that_make_no_sense_together_are_refused(self):
        for verb, options in ((("session", "open"), ()), (("capture", "command"), ("--", "true"))):
            for selector, why in (("cpu,none", "'none' goes with no other device"), ("cpu,cpu", "names device cpu twice")):
                with self.subTest(verb=verb, selector=selector):
                    refused = self.ctl.run(*verb, "--device", selector, *options, expect="usage").err.decode()
                    self.assertIn(why, refused)
                    self.assertIn("name one of: cpu", refused)

    def test_waits_its_turn_and_is_closed_by_an_interrupt(self):
        holder = open_session(self.ctl)
        waiting = self.ctl.start("session", "open", preexec_fn=kprof_testing.as_in_a_terminal)
        queued = wait_until(lambda: self.ctl.json("session", "list", "--state", "queued")["sessions"], "a second session")[0]
        waiting.send_signal(signal.SIGINT)
        out, err = waiting.communicate(timeout=kprof_testing.LIMIT_S)
        self.assertEqual((waiting.returncode, out), (kprof_testing.EXIT["cancelled"], b""))
        self.assertIn(b"is closed", err)
        self.assertEqual(state_of(self.ctl, queued["id"]), "closed")
        self.ctl.run("session", "open", "--queue-timeout", "100ms", expect="queue_timeout")
        self.ctl.run("session", "close", holder)

    def test_ends_by_ttl_and_without_a_run(self):
        short = open_session(self.ctl, "--ttl", "300ms")
        idle = open_session(self.ctl, "--idle-timeout", "200ms")  # once the first one is over
        for session in (short, idle):
            shown = wait_until(lambda: (s := self.ctl.json("session", "show", session))["state"] == "closed" and s, "its end")
            self.assertEqual(shown["error"]["code"], "timed_out")

    def test_what_makes_no_sense_is_refused(self):
        self.ctl.run("session", "open", "--clocks", "fast", expect="usage")
        self.ctl.run("session", "open", "--clocks", "lock!", expect="usage")
        self.ctl.run("session", "open", "--device", "none", expect="usage")
        self.ctl.run("session", "open", "--device", "7", expect="usage")
        self.ctl.run("session", "show", "zzzz", expect="not_found")
        self.ctl.run("session", expect="usage")
        self.ctl.run("capture", "command", "--session", "zzzz", "--", "true", expect="not_found")


class SessionsOverRestartsTest(OwnDaemonTest):
    def restart(self):
        self.daemon.kill()
        self.daemon.start()

    def test_a_detached_one_survives_kill_9_with_its_device_and_its_queue(self):
        self.daemon.start()
        ctl = self.daemon.ctl
        session = open_session(ctl)
        seconds = unique_seconds()
        in_flight = ctl.detach("sleep", seconds, options=("--session", session))
        other = ctl.detach("true")
        waiting = ctl.detach("true", options=("--session", session))
        ctl.wait_for_state(in_flight, "running")
        self.restart()
        self.assertEqual(ctl.json("devices")["devices"][0]["session"], session)
        ctl.wait(in_flight, expect="lost_daemon")
        self.assertEqual(ctl.wait(waiting, expect="done")["round"], 2)
        self.assertEqual(ctl.show(other)["state"], "queued")
        self.assertEqual(ctl.capture("true", options=("--session", session))["round"], 3)
        ctl.run("session", "close", session)
        ctl.wait(other, expect="done")
        wait_until_gone(seconds)

    def test_one_that_waits_keeps_its_place(self):
        self.daemon.start()
        ctl = self.daemon.ctl
        holder = open_session(ctl)
        waiting = ctl.start("session", "open")
        queued = wait_until(lambda: ctl.json("session", "list", "--state", "queued")["sessions"], "a second session")[0]
        behind = ctl.detach("true")
        self.daemon.kill()
        waiting.communicate(timeout=kprof_testing.LIMIT_S)
        self.daemon.start()
        ctl.run("session", "close", holder)
        wait_until(lambda: state_of(ctl, queued["id"]) == "open", "the one that waited to be next")
        self.assertEqual(ctl.show(behind)["state"], "queued")
        ctl.run("session", "close", queued["id"])
        ctl.wait(behind, expect="done")

    def test_one_that_was_closing_is_closed(self):
        self.daemon.start()
        ctl = self.daemon.ctl
        session = open_session(ctl)
        # Does not mind TERM, and is killed after the grace of 5 s: time enough.
        stubborn = ctl.detach("sh", "-c", "trap '' TERM; while :; do sleep 1; done", options=("--session", session))
        waiting = ctl.detach("true", options=("--session", session))
        ctl.wait_for_state(stubborn, "running")
        closing = ctl.start("session", "close", session)
        wait_until(lambda: state_of(ctl, session) == "closing", "the session to be closing")
        ctl.wait(waiting, expect="cancelled")
        self.daemon.kill()
        closing.communicate(timeout=kprof_testing.LIMIT_S)
        self.daemon.start()
        wait_until(lambda: state_of(ctl, session) == "closed", "the next start to close it")
        ctl.wait(stubborn, expect="lost_daemon")
        wait_until_gone(run=stubborn)
        ctl.capture("true")

    def test_a_stop_in_good_order_leaves_it_open(self):
        self.daemon.start()
        ctl = self.daemon.ctl
        session = open_session(ctl)
        self.daemon.stop()
        self.daemon.start()
        self.assertEqual(state_of(ctl, session), "open")
        self.assertEqual(ctl.capture("true", options=("--session", session))["round"], 1)


if __name__ == "__main__":
    unittest.main()
