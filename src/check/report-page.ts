/**
 * The report of a check as one HTML file: no script, nothing fetched, light and dark. Everything in
 * it came from outside and is escaped.
 */

import { escaped } from "../scenarios/report/junit.ts";
import { adviceLanguages, languageNames, fixes } from "../domain/advice.ts";
import type { Verdict, CheckReport, CheckResult, CheckRequest } from "./outcome.ts";

const glyphs: Record<Verdict, string> = { pass: "✓", fail: "✗", warn: "▲", skipped: "–" };

const style = `
:root { color-scheme: light dark; --ink: light-dark(#16181b, #e8e9ea); --soft: light-dark(#5c6167, #9aa0a6); --line: light-dark(#dfe0dc, #34383c);
  --ground: light-dark(#fcfcfa, #16181a); --field: light-dark(#f3f4ef, #1f2225); --mark: light-dark(#fff0b3, #5a4a10);
  --pass: light-dark(#157a3c, #57c47f); --fail: light-dark(#b3261e, #ff8a80); --warn: light-dark(#8a5a00, #e0b050); }
body { margin: 0 auto; max-width: 1100px; padding: 24px; background: var(--ground); color: var(--ink); font: 13px/1.5 Inter, system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 20px; margin: 0 0 4px; overflow-wrap: anywhere; } h2 { font-size: 15px; margin: 28px 0 6px; }
code, pre { font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; } a { color: inherit; }
p { max-width: 80ch; } .soft { color: var(--soft); } .score { font-size: 30px; font-weight: 650; }
.pass { color: var(--pass); } .fail { color: var(--fail); } .warn { color: var(--warn); } .skipped { color: var(--soft); }
table { border-collapse: collapse; width: 100%; } td { border-top: 1px solid var(--line); padding: 4px 8px 4px 0; vertical-align: top; }
td:first-child { width: 230px; } td:last-child { width: 90px; font-weight: 600; white-space: nowrap; }
pre { background: var(--field); border: 1px solid var(--line); margin: 0; padding: 8px 10px; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 26em; overflow: auto; }
article { border-top: 2px solid var(--ink); margin-top: 28px; padding-top: 10px; } article h3 { font-size: 18px; margin: 2px 0; font-weight: 600; max-width: 60ch; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(360px, 1fr)); gap: 12px; margin: 10px 0; } .pair h4, summary { font-size: 12px; font-weight: 600; margin: 0 0 4px; }
mark { background: var(--mark); color: inherit; } details { margin: 8px 0; } summary { cursor: pointer; }
`;

export function checkPage(report: CheckReport): string {
  const { url, startedAt, durationMs, seed, score, checks } = report;
  const count = (verdict: Verdict): number =>
    checks.filter((one) => one.verdict === verdict).length;
  const counts = (["pass", "fail", "warn", "skipped"] as const)
    .map(
      (verdict) =>
        `<span class="${verdict}">${glyphs[verdict]} ${count(verdict)} ${verdict}</span>`,
    )
    .join(" &nbsp; ");
  const findings = checks.filter(({ verdict }) => verdict === "fail" || verdict === "warn");
  const ordered = [
    ...findings.filter(({ verdict }) => verdict === "fail"),
    ...findings.filter(({ verdict }) => verdict === "warn"),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(`Check of ${url}`)}</title><style>${style}</style></head><body>
<h1>${escaped(url)}</h1>
<div class="soft">Checked ${escaped(startedAt)} in ${(durationMs / 1000).toFixed(1)} s, seed ${seed}</div>
<p><span class="score">${score}</span> of 100 &nbsp; ${counts}</p>
${groupsOf(checks)
  .map(([group, list]) => `<h2>${escaped(group)}</h2><table>${list.map(row).join("")}</table>`)
  .join("\n")}
${ordered.map(finding).join("\n")}
</body></html>
`;
}

function groupsOf(checks: readonly CheckResult[]): [string, CheckResult[]][] {
  return [...Map.groupBy(checks, ({ group }) => group)];
}

function row({ id, title, verdict, brief, detail }: CheckResult): string {
  const name = verdict === "fail" || verdict === "warn" ? `<a href="#${id}">${id}</a>` : id;
  const text = verdict === "skipped" ? detail : brief;
  return `<tr><td><code>${name}</code></td><td>${escaped(title)}<br><span class="soft">${escaped(text)}</span></td><td class="${verdict}">${glyphs[verdict]} ${verdict}</td></tr>`;
}

function finding(result: CheckResult): string {
  const { id, verdict, detail, requests, effects, advice, scenario } = result;
  const tokens = effects.map(({ token }) => token);
  const code =
    advice === null
      ? ""
      : `<h4>${escaped(fixes[advice].title)}</h4>${adviceLanguages
          .map(
            (language, nth) =>
              `<details${nth === 0 ? " open" : ""}><summary>${languageNames[language]}</summary><pre>${escaped(fixes[advice].code(language))}</pre></details>`,
          )
          .join("")}`;
  const counted = effects
    .map(
      ({ token, wanted, found }) =>
        `<div><h4 class="${found.length === wanted ? "" : "fail"}">Effects of <code>${escaped(token)}</code>: ${found.length}, expected ${wanted}</h4><pre>${marked(found.join("\n") || "none", tokens)}</pre></div>`,
    )
    .join("");
  return `<article id="${id}"><div><span class="${verdict}">${glyphs[verdict]} ${verdict}</span> <code>${id}</code></div><h3>${escaped(detail)}</h3>
<div class="pair">${requests.map((request, nth) => requestOf(request, nth, tokens)).join("")}</div>
${counted === "" ? "" : `<div class="pair">${counted}</div>`}
${code}
${scenario === null ? "" : `<details><summary>The scenario that shows it again: hookyard run ${id}.yaml</summary><pre>${escaped(scenario)}</pre></details>`}
</article>`;
}

function requestOf(
  { at, head, body, sentAs, status, durationMs, answerHead, answerBody, error }: CheckRequest,
  nth: number,
  tokens: readonly string[],
): string {
  const how = sentAs === null ? "" : `, ${sentAs}`;
  const answer = answerHead === "" ? "" : `\n\n${answerHead}${answerBody}`;
  const result =
    error ??
    (status === null ? "hung up without reading the answer" : `${status} in ${durationMs} ms`);
  return `<div><h4>Request ${nth + 1}${escaped(how)} <span class="soft">${escaped(at.slice(11, 23))}</span></h4><pre>${marked(`${head}${body}`, tokens)}</pre><pre>${escaped(`${result}${answer}`)}</pre></div>`;
}

function marked(text: string, tokens: readonly string[]): string {
  return tokens.reduce(
    (html, token) => html.replaceAll(token, `<mark>${token}</mark>`),
    escaped(text),
  );
}
