/** A view whose part of the product is not built yet: says so, in one sentence. */

const sentences: Record<string, { title: string; text: string }> = {
  clients: {
    title: "Clients",
    text: "Simulated clients will fill their queues and flush them here. Until then, compose a message with n.",
  },
  profiles: { title: "Profiles", text: "Profiles are built from what comes in. They are not kept yet." },
  audiences: { title: "Audiences", text: "Audiences select profiles by a rule and send who came and who left. They are not kept yet." },
  deletions: { title: "Deletions", text: "Deletion requests will send delete messages for a user. They are not taken yet." },
  scenarios: { title: "Scenarios", text: "Scenarios run the whole pipeline from a file and check what came of it. They are not run yet." },
};

export function LaterView({ view }: { view: string }) {
  const { title, text } = sentences[view] ?? { title: view, text: "" };
  return (
    <section className="empty">
      <h1>{title}</h1>
      <p className="muted">{text}</p>
    </section>
  );
}
