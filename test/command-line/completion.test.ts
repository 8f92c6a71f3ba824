/** The completion of the three shells, in the shells themselves. */

import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { commands } from "../../src/headless/commands.ts";
import { hookyard } from "./command-line.ts";

/** The shell loads the script `$1` and prints, for each further argument, one line of candidates. */
const shells: Record<string, { args: string[]; program: string }> = {
  bash: {
    args: ["--norc", "--noprofile"],
    program: `script="$1"; shift; source "$script"
before="$IFS"
for line in "$@"; do
  # As readline does it: = is a word of its own.
  read -ra COMP_WORDS <<< "\${line//=/ = }"
  [[ "$line" == *" " ]] && COMP_WORDS+=("")
  COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )) COMPREPLY=()
  _hookyard
  [ "$IFS" = "$before" ] || echo "IFS has changed"
  echo "\${COMPREPLY[@]}"
done`,
  },
  zsh: {
    args: ["-f"],
    // In a terminal of its own; what it would offer is what it gives to compadd.
    program: `zmodload zsh/zpty
for words in "\${@[2,-1]}"; do
  found=()
  zpty z zsh -f -i
  zpty -w z "PROMPT= PS2= RPROMPT=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; source $1"
  zpty -w z 'compadd() { if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return $?; fi; typeset -a hits; builtin compadd -A hits "$@"; (( $#hits )) && print -r -- "HIT $hits" }'
  zpty -w z 'ended() { print -r -- ALL"-"DONE }; comppostfuncs=(ended); bindkey "^I" complete-word; print RE"A"DY'
  while zpty -r z line; do [[ $line == *READY* ]] && break; done
  zpty -w -n z "$words"$'\\t'
  while zpty -r z line; do
    [[ $line == *ALL-DONE* ]] && break
    [[ $line == *HIT\\ * ]] && found+=(\${\${line#*HIT }//[$'\\r\\n']/})
  done
  zpty -d z
  print -r -- "$found"
done`,
  },
  fish: {
    args: ["--no-config"],
    program: `source $argv[1]
for line in $argv[2..]
  echo (complete -C "$line" | string split -f 1 \\t)
end`,
  },
};

/** Whether a shell is here; if not, the reason why its completion is not tried. */
function isHere(shell: string): boolean {
  const { error } = spawnSync(shell, ["--version"]);
  if (error !== undefined) console.log(`Completion is not tried in ${shell}: ${error.message}.`);
  return error === undefined;
}

const wanted: [line: string, candidates: string[]][] = [
  ["hookyard se", ["send", "serve"]],
  ["hookyard wait --state deliv", ["delivered"]],
  ["hookyard clock ", ["advance", "faster", "idle", "next", "pause", "real"]],
  ["hookyard clock --data some/where a", ["advance"]],
  ["hookyard wait --us", ["--user"]],
  ["hookyard completion z", ["zsh"]],
  ["hookyard run sh", ["shop.yaml"]],
  ["hookyard run shop.yaml --junit re", ["report.xml"]],
];

describe.each(Object.entries(shells))("in %s", (shell, { args, program }) => {
  test("every command and flag is in it", async () => {
    const { code, out } = await hookyard(["completion", shell]).ended;
    expect(code).toBe(0);
    for (const { name, flags } of commands) {
      expect(out).toContain(name);
      for (const flag of Object.keys(flags))
        expect(out).toContain(shell === "fish" ? `-l ${flag}` : `--${flag}`);
    }
  });

  test.runIf(isHere(shell))("it offers commands, flags, values and files", async () => {
    const directory = mkdtempSync(join(tmpdir(), "hookyard-completion-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const script = join(directory, "completion");
    writeFileSync(script, (await hookyard(["completion", shell]).ended).out);
    const here = join(directory, "here");
    mkdirSync(here);
    for (const name of ["shop.yaml", "report.xml"]) writeFileSync(join(here, name), "");
    const asks = join(directory, "asks");
    writeFileSync(asks, program);
    const all = [...args, asks, script, ...wanted.map(([line]) => line)];
    const { stdout } = await promisify(execFile)(shell, all, {
      cwd: here,
      env: { ...process.env, HOME: directory, TERM: "dumb" },
    });
    const lines = stdout.trimEnd().split("\n");
    const offered = lines.map((line) => line.split(" ").filter(Boolean).toSorted());
    expect(wanted.map(([line], index) => [line, offered[index]])).toEqual(wanted);
  });
});

test.runIf(isHere("bash"))("bash completes --flag=value", async () => {
  const directory = mkdtempSync(join(tmpdir(), "hookyard-completion-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const script = join(directory, "completion");
  writeFileSync(script, (await hookyard(["completion", "bash"]).ended).out);
  const lines = ["hookyard wait --state=deliv", "hookyard wait --state="];
  const { stdout } = await promisify(execFile)("bash", [
    "-c",
    shells["bash"]?.program ?? "",
    "bash",
    script,
    ...lines,
  ]);
  expect(stdout).toMatch(/^delivered\nsending queued /);
});

test("zsh is told which flags take a directory, and which a file", async () => {
  const { out } = await hookyard(["completion", "zsh"]).ended;
  expect(out).toMatch(/'--data=\[[^\]]*\]:DIR:_files -\/'/);
  expect(out).toMatch(/'--config=\[[^\]]*\]:FILE:_files'/);
  expect(out).toMatch(/'--user=\[[^\]]*\]:ID:'/);
});
