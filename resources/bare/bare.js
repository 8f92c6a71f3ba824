const status = document.querySelector("#status");
const token = new URLSearchParams(location.hash.slice(1)).get("token");

async function ask(path) {
  const response = await fetch(path, { headers: { Authorization: `Bearer ${token}` } });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

try {
  if (token === null)
    throw new Error(
      "The address has no token. Open the one that Hookyard printed when it started.",
    );
  const [about, stats] = await Promise.all([ask("/api/about"), ask("/api/stats")]);
  for (const cell of document.querySelectorAll("[data-member]"))
    cell.textContent = about[cell.dataset.member] ?? "in memory only";
  document.querySelector("table").hidden = false;
  status.textContent = `Running. ${stats.messages.total} messages, ${stats.deliveries.total} deliveries.`;
} catch (error) {
  status.textContent = error.message;
}
