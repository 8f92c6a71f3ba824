/** The helpers for other languages, as files in somebody's project, in the runner of the language. */

import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { programInShell } from "../support/program.ts";

const helpers = fileURLToPath(new URL("../../resources/helpers/", import.meta.url));

/** Whether a language is here; if not, why its helper is not tried. */
function isHere(name: string, command: string, args: string[]): boolean {
  const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) console.log(`${name} is not tried: ${error?.message ?? stderr.trim()}`);
  return status === 0;
}

function projectWith(helper: string, path: string, files: Record<string, string>): string {
  const directory = mkdtempSync(join(tmpdir(), "hookyard-helpers-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(directory, name, ".."), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  mkdirSync(join(directory, path, ".."), { recursive: true });
  copyFileSync(join(helpers, helper), join(directory, path));
  return directory;
}

/** Like npx, it passes no signal on. `log` says which programs began and which ended by themselves. */
function run(command: string, args: string[], cwd: string): Promise<{ code: number; out: string }> {
  writeFileSync(
    join(cwd, "program"),
    `#!/bin/sh\ntrap "" INT\necho began >> log\n${programInShell} "$@"\necho ended $? >> log\n`,
    { mode: 0o755 },
  );
  const env = {
    ...process.env,
    HOOKYARD_COMMAND: "./program",
    GOFLAGS: "-mod=mod",
    GOTOOLCHAIN: "local",
  };
  return new Promise((resolve) => {
    execFile(command, args, { cwd, env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : 1, out: out + err }),
    );
  });
}

const logIn = (directory: string): string[] =>
  readFileSync(join(directory, "log"), "utf8").trimEnd().split("\n").toSorted();

test.runIf(isHere("The pytest plugin", "python3", ["-m", "pytest", "--version"]))(
  "with the pytest plugin an outage is over at once, and what does not come is a failure with what is there",
  async () => {
    const directory = projectWith("hookyard_pytest.py", "hookyard_pytest.py", {
      "conftest.py": 'pytest_plugins = ["hookyard_pytest"]\n',
      "test_orders.py": `import pytest
from hookyard_pytest import Refused

SETUP = {
    "sources": [{"name": "Shop", "writeKey": "wk"}],
    "endpoints": [{"name": "R", "steps": [{"do": "answer", "status": 503, "times": 2}, {"do": "answer", "status": 200}]}],
    "destinations": [{"name": "D", "sources": ["Shop"], "webhooks": [{"endpoint": "R"}]}],
}


def test_outage(hookyard):
    hookyard.configure(**SETUP)
    hookyard.send("wk", {"type": "track", "event": "Paid", "userId": "u_1"})
    hookyard.wait("state:waiting")
    hookyard.advance()
    [message] = hookyard.wait("state:delivered event:Paid")
    attempts = hookyard.message(message["id"])["deliveries"][0]["attempts"]
    assert [one["response"]["status"] for one in attempts] == [503, 503, 200]


def test_each_has_its_own(hookyard):
    assert hookyard.messages() == []
    with pytest.raises(Refused, match="failing"):
        hookyard.messages("state:failing")


def test_missing(hookyard):
    hookyard.wait("state:delivered", timeout=0)
`,
    });
    const { code, out } = await run(
      "python3",
      ["-m", "pytest", "-p", "no:cacheprovider", "-q"],
      directory,
    );
    expect(out).toContain("0 of 1 messages match 'state:delivered' after 0 s. There are: none.");
    expect(out).toMatch(/1 failed, 2 passed/);
    expect(logIn(directory)).toEqual(["began", "began", "began", "ended 0", "ended 0", "ended 0"]);
    expect(code).toBe(1);
  },
);

test.runIf(isHere("The Go helper", "go", ["version"]))(
  "with the Go helper an outage is over at once",
  async () => {
    const directory = projectWith("hookyard.go", "hookyard/hookyard.go", {
      "go.mod": "module shop\n\ngo 1.21\n",
      "shop_test.go": `package shop

import (
	"testing"
	"time"

	"shop/hookyard"
)

func TestOutage(t *testing.T) {
	h := hookyard.Start(t)
	h.Configure(map[string]any{
		"sources":      []any{map[string]any{"name": "Shop", "writeKey": "wk"}},
		"endpoints":    []any{map[string]any{"name": "R", "steps": []any{map[string]any{"do": "answer", "status": 503, "times": 2}, map[string]any{"do": "answer", "status": 200}}}},
		"destinations": []any{map[string]any{"name": "D", "sources": []string{"Shop"}, "webhooks": []any{map[string]any{"endpoint": "R"}}}},
	})
	h.Send("wk", map[string]any{"type": "track", "event": "Paid", "userId": "u_1"})
	h.Wait("state:waiting", 1, 10*time.Second)
	h.Advance(time.Second)
	h.AdvanceToIdle()
	found := h.Wait("state:delivered event:Paid", 1, 10*time.Second)
	if found[0].Attempts != 3 || found[0].UserID != "u_1" {
		t.Fatalf("%+v", found)
	}
}
`,
    });
    const { code, out } = await run("go", ["test", "-vet=off", "-count=1", "./..."], directory);
    expect(out).toMatch(/^ok\s+shop\s/m);
    expect(logIn(directory)).toEqual(["began", "ended 0"]);
    expect(code).toBe(0);
  },
);
