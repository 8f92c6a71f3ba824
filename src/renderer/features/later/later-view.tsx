/** A view whose part of the product is not built yet: says so, in one sentence. */

const sentences: Record<string, { title: string; text: string }> = {
  clients: {
    title: "Clients",
    text: "Simulated clients will fill their queues and flush them here. Until then, compose a message with n.",
  },
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
