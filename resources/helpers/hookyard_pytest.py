"""A pytest plugin for Hookyard: the fixture ``hookyard`` is a pipeline of its own for each test.

Copy this file into your project and name it in ``conftest.py``::

    pytest_plugins = ["hookyard_pytest"]

It needs nothing but Python 3.9 and the ``hookyard`` program: ``npx --no-install hookyard``, or what
the variable HOOKYARD_COMMAND says. The pipeline runs in memory, on free ports, with a paused clock.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest


class Refused(Exception):
    """The control API refused a call; the message is its sentence."""

    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.status = status
        self.code = code


class Hookyard:
    def __init__(self, ready: dict):
        self.ingest_url: str = ready["ingestUrl"]
        self.endpoints_url: str = ready["endpointsUrl"]
        self.ui_url: str = ready["uiUrl"]
        self._token: str = ready["token"]

    def call(self, method: str, path: str, body: dict | None = None, **query) -> dict:
        """Any call of the control API: ``call("GET", "messages", state="failed")``."""
        url = f"{self.ui_url}/api/{path}"
        if query:
            url += "?" + urllib.parse.urlencode(query, doseq=True)
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        try:
            with urllib.request.urlopen(request) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            problem = json.load(error)
            raise Refused(error.code, problem["code"], problem["message"]) from None

    def configure(self, **document) -> None:
        """The members of a configuration file: sources, endpoints, destinations, audiences."""
        self.call("POST", "configuration", {"version": 1, **document})

    def send(self, write_key: str, *messages: dict) -> None:
        """To ingest, as one batch. Your own client library sends to ``ingest_url``."""
        body = json.dumps({"writeKey": write_key, "batch": list(messages)}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.ingest_url}/v1/batch", body, headers)
        urllib.request.urlopen(request).close()

    def advance(self, to: str = "idle", by_ms: int | None = None) -> dict:
        """Moves the clock until nothing is due, to the next due time, or by milliseconds."""
        return self.call("POST", "clock/advance", {"to": to} if by_ms is None else {"byMs": by_ms})

    def messages(self, filter: str = "") -> list[dict]:
        """Those that match the inspector's filter: ``state:failed user:u_1``."""
        return self.call("GET", "messages", filter=filter, limit=200)["items"]

    def wait(self, filter: str, count: int = 1, timeout: float = 10) -> list[dict]:
        """Until so many messages match."""
        ends = time.monotonic() + timeout
        while True:
            found = self.messages(filter)
            if len(found) >= count:
                return found
            if time.monotonic() > ends:
                there = ", ".join(f"{one['id']} {one['state']}" for one in self.messages())
                raise AssertionError(
                    f"{len(found)} of {count} messages match {filter!r} after {timeout} s. "
                    f"There are: {there or 'none'}."
                )
            time.sleep(0.02)

    def message(self, id: str) -> dict:
        """With its decisions, deliveries and attempts."""
        return self.call("GET", f"messages/{id}")


@pytest.fixture
def hookyard():
    command = shlex.split(os.environ.get("HOOKYARD_COMMAND", "npx --no-install hookyard"))
    ports = ["--ingest-port", "--ui-port", "--endpoints-port", "--endpoints-tls-port"]
    flags = [word for port in ports for word in (port, "0")]
    process = subprocess.Popen(
        [*command, "serve", "--data", ":memory:", "--json", "--until-input-ends", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        line = process.stdout.readline()
        if not line:
            pytest.fail("Hookyard did not start; standard error says why.")
        running = Hookyard(json.loads(line))
        running.call("POST", "clock", {"mode": "paused"})
        yield running
    finally:
        # Not by a signal: npx does not pass it on.
        process.stdin.close()
        process.wait()
        process.stdout.close()
