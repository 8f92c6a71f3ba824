"""A receiver on http.server. It is right, except for the one bug that --bug names."""

import argparse
import hashlib
import hmac
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

options = argparse.ArgumentParser()
options.add_argument("--bug")
options.add_argument("--style", default="no-content")
options.add_argument("--port", type=int, default=0)
options.add_argument("--secret", default="")
options.add_argument("--second-ms", type=float, default=1000)
given = options.parse_args()
bug = given.bug
secret = given.secret.encode()

KNOWN_TYPES = ["identify", "track", "page", "screen", "group", "alias", "delete"]
lock = threading.Lock()
effects = []
profiles = {}
done = set()


class Refused(Exception):
    def __init__(self, status):
        self.status = status


def seconds(count):
    time.sleep(count * given.second_ms / 1000)


def verify(body, signature):
    if bug == "missing-signature-accepted" and signature is None:
        return
    if bug == "verifies-trimmed":
        body = body.strip()
    expected = hmac.new(secret, body, hashlib.sha1).hexdigest()
    if not hmac.compare_digest(expected.encode(), (signature or "").encode()):
        raise Refused(401)


def parse(body):
    if bug == "ascii-only":
        body.decode("ascii")
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400)
    if not isinstance(message, dict):
        raise Refused(400)
    return message


def apply(message):
    kind = message["type"]
    members = message.get("properties", message.get("traits", {}))
    if bug == "empty-properties-crash" and kind in ("track", "page", "screen"):
        next(iter(members))
    user = message.get("userId", message.get("User ID", message.get("anonymousId")))
    effect = {"type": kind, "userId": user, "token": members.get("token"), "at": message.get("timestamp", "")}
    if kind == "identify":
        if user not in profiles or profiles[user]["at"] <= effect["at"]:
            profiles[user] = effect
        return
    if kind == "delete":
        profiles.pop(user, None)
    if bug == "group-ignored" and kind == "group":
        return
    effects.append(effect)


def take_effect(message):
    kind = message["type"]
    key = f"delete {message.get('userId')}" if kind == "delete" else message.get("messageId")
    if key is None:
        raise Refused(400)
    if bug == "duplicate-race":
        if key not in done:
            seconds(0.1)
            apply(message)
            done.add(key)
        return
    with lock:
        if bug == "global-lock":
            seconds(0.3)
        if key in done:
            return
        if bug == "claimed-then-failed" and kind == "screen":
            done.add(key)
            raise ConnectionError("The database was not reached.")
        apply(message)
        done.add(key)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0" if given.style == "strict" else "HTTP/1.1"

    def do_GET(self):
        if self.path == "/effects":
            self.answer(200, json.dumps(list(profiles.values()) + effects).encode())
        else:
            self.answer(501 if bug == "get-not-implemented" else 405)

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
        if given.style == "strict" and self.headers.get_content_type() != "application/json":
            return 415
        verify(body, self.headers.get("X-Signature"))
        message = parse(body)
        if message.get("type") in KNOWN_TYPES:
            take_effect(message)
        return 200 if given.style == "strict" else 204

    def answer(self, status, text=b""):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        elif bug == "no-content-with-body":
            text = b"OK"
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512


server = Server(("127.0.0.1", given.port), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
os._exit(0)
