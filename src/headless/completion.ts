/**
 * `hookyard completion SHELL`: a script that completes commands, flags and their values, made from
 * the table of all commands.
 */

import { commands, completion } from "./commands.ts";
import { endEarly, readFlags, type Command, type Flag } from "./flags.ts";

const scripts: Record<string, () => string> = { bash, zsh, fish };

export async function completionCommand({ args }: { args: string[] }): Promise<number> {
  const flags = readFlags(completion, args);
  if (flags === "help" || "wrong" in flags) return endEarly(flags, completion);
  const [shell = "", ...more] = flags.positionals;
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined || more.length > 0) {
    process.stderr.write("hookyard completion needs bash, zsh or fish.\n");
    return 2;
  }
  process.stdout.write(script());
  return 0;
}

const withHelp = ({ flags }: Command): [string, Flag][] => [
  ...Object.entries(flags),
  ["help", { text: "The help of this command." }],
];

/** Single quotes of a shell around a text without any. */
const quoted = (text: string): string => `'${text.replaceAll("'", "’")}'`;

function bash(): string {
  const cases = commands.map((command) => {
    const flags = withHelp(command);
    const values = flags.flatMap(([name, { value, choices }]) =>
      value === undefined ? [] : [`      --${name}) ${replies(choices ?? [])} return ;;`],
    );
    const words = flags.map(([name]) => `--${name}`).join(" ");
    return [
      `    ${command.name})`,
      '      case "$before" in',
      ...values,
      "      esac",
      `      case "$word" in`,
      `        -*) ${replies(words.split(" "))} ;;`,
      `        *) ${replies(command.choices ?? [])} ;;`,
      "      esac ;;",
    ].join("\n");
  });
  return `# hookyard completion bash
_hookyard() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" IFS=$' \\t\\n'
  # bash makes three words of --flag=value.
  if [ "$word" = "=" ]; then word=""
  elif [ "$before" = "=" ]; then before="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    ${replies([...commands.map(({ name }) => name), "--help", "--version"])}
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
  esac
}
complete -F _hookyard hookyard
`;
}

function replies(choices: readonly string[] | "files" | "directories"): string {
  // bash 3, as macOS has it, knows neither mapfile nor compopt.
  if (typeof choices === "string")
    return `compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=($(compgen ${choices === "files" ? "-f" : "-d"} -- "$word"));`;
  return `COMPREPLY=($(compgen -W ${quoted(choices.join(" "))} -- "$word"));`;
}

function zsh(): string {
  const described = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
  const cases = commands.map((command) => {
    const specs = withHelp(command).map(([name, { value, text, choices, several }]) => {
      const [first = ""] = text.split(". ");
      const label = first.replaceAll(/[[\]:]/g, " ").replace(/\.$/, "");
      const argument =
        value === undefined
          ? ""
          : `:${value.replaceAll('"', "").replaceAll(":", "")}:${zshAction(choices)}`;
      return `        ${quoted(`${several ? "*" : ""}--${name}${value === undefined ? "" : "="}[${label}]${argument}`)}`;
    });
    const operands =
      command.choices === undefined
        ? []
        : [
            `        ${quoted(`*:${command.operands}:${zshAction(command.choices)}`.replaceAll("…", ""))}`,
          ];
    return [
      `      ${command.name})`,
      "      _arguments \\",
      [...specs, ...operands].join(" \\\n"),
      "      ;;",
    ].join("\n");
  });
  return `#compdef hookyard
_hookyard() {
  local -a commands
  commands=(
${described.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join("\n")}
  esac
}
if [ "$funcstack[1]" = "_hookyard" ]; then _hookyard "$@"; else compdef _hookyard hookyard; fi
`;
}

function zshAction(choices: readonly string[] | "files" | "directories" | undefined): string {
  if (choices === "files") return "_files";
  if (choices === "directories") return "_files -/";
  return choices === undefined ? "" : `(${choices.join(" ")})`;
}

function fish(): string {
  const first = commands.map(
    ({ name, summary }) =>
      `complete -c hookyard -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
  );
  const rest = commands.flatMap((command) => {
    const on = `complete -c hookyard -n '__fish_seen_subcommand_from ${command.name}'`;
    const operands = Array.isArray(command.choices)
      ? [`${on} -a ${quoted(command.choices.join(" "))}`]
      : command.choices === "files"
        ? [`${on} -F`]
        : [];
    return [
      ...operands,
      ...withHelp(command).map(([name, { value, text, choices }]) => {
        const values = Array.isArray(choices) ? ` -a ${quoted(choices.join(" "))}` : "";
        return `${on} -l ${name}${value === undefined ? "" : " -r"}${choices === "files" || choices === "directories" ? " -F" : ""}${values} -d ${quoted(text.split(". ")[0] ?? "")}`;
      }),
    ];
  });
  return ["# hookyard completion fish", "complete -c hookyard -f", ...first, ...rest, ""].join(
    "\n",
  );
}
