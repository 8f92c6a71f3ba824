"""
Receivers on http.server, many in one process. For each line of its standard input, the options of a receiver as JSON,
it starts one and prints its port. Each is right, except for the one bug that its options name.
"""

import hashlib
import hmac
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KNOWN_TYPES = ["identify", "track", "page", "screen", "group", "alias", "delete"]


class Refused(Exception):
    def __init__(self, status):
        self.status = status


class State:
    """What a receiver is, and what it knows."""

    def __init__(self, bug=None, style="no-content", secret="", secondMs=1000):
        self.bug = bug
        self.style = style
        self.secret = secret.encode()
        self.second_ms = secondMs
        self.lock = threading.Lock()
        self.effects = []
        self.profiles = {}
        self.done = set()

    def seconds(self, count):
        time.sleep(count * self.second_ms / 1000)

    def verify(self, body, signature):
        if self.bug == "missing-signature-accepted" and signature is None:
            return
        if self.bug == "verifies-trimmed":
            body = body.strip()
        expected = hmac.new(self.secret, body, hashlib.sha1).hexdigest()
        if not hmac.compare_digest(expected.encode(), (signature or "").encode()):
            raise Refused(401)

    def parse(self, body):
        if self.bug == "ascii-only":
            body.decode("ascii")
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            raise Refused(400)
        if not isinstance(message, dict):
            raise Refused(400)
        return message

    def apply(self, message):
        kind = message["type"]
        members = message.get("properties", message.get("traits", {}))
        if self.bug == "empty-properties-crash" and kind in ("track", "page", "screen"):
            next(iter(members))
        user = message.get("userId", message.get("User ID", message.get("anonymousId")))
        effect = {"type": kind, "userId": user, "token": members.get("token"), "at": message.get("timestamp", "")}
        if kind == "identify":
            if user not in self.profiles or self.profiles[user]["at"] <= effect["at"]:
                self.profiles[user] = effect
            return
        if kind == "delete":
            self.profiles.pop(user, None)
        if self.bug == "group-ignored" and kind == "group":
            return
        self.effects.append(effect)

    def take_effect(self, message):
        kind = message["type"]
        key = f"delete {message.get('userId')}" if kind == "delete" else message.get("messageId")
        if key is None:
            raise Refused(400)
        if self.bug == "duplicate-race":
            if key not in self.done:
                self.seconds(0.1)
                self.apply(message)
                self.done.add(key)
            return
        with self.lock:
            if self.bug == "global-lock":
                self.seconds(0.3)
            if key in self.done:
                return
            if self.bug == "claimed-then-failed" and kind == "screen":
                self.done.add(key)
                raise ConnectionError("The database was not reached.")
            self.apply(message)
            self.done.add(key)


def handler_of(state):
    class Receiver(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0" if state.style == "strict" else "HTTP/1.1"

        def do_GET(self):
            if self.path == "/effects":
                self.answer(200, json.dumps(list(state.profiles.values()) + state.effects).encode())
            else:
                self.answer(501 if state.bug == "get-not-implemented" else 405)

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                self.answer(self.receive(body))
            except Refused as refused:
                self.answer(refused.status)
            except Exception:
                self.answer(500)

        def receive(self, body):
            if self.path != "/hooks":
                return 404
            if state.style == "strict" and self.headers.get_content_type() != "application/json":
                return 415
            state.verify(body, self.headers.get("X-Signature"))
            message = state.parse(body)
            if message.get("type") in KNOWN_TYPES:
                state.take_effect(message)
            return 200 if state.style == "strict" else 204

        def answer(self, status, text=b""):
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Length", str(len(text)))
            elif state.bug == "no-content-with-body":
                text = b"OK"
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    return Receiver


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


for line in sys.stdin:
    server = Server(("127.0.0.1", 0), handler_of(State(**json.loads(line))))
    threading.Thread(target=server.serve_forever, args=(60,), daemon=True).start()
    print(server.server_port, flush=True)
os._exit(0)
